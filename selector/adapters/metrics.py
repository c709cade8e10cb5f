"""The service's Prometheus metrics: what is counted, and under which labels.

Rules kept here:

1. No label holds content, and none has more values than this replica has routes, codes and served surfaces: an
   application or a surface comes from an answer or from what is served, never from a request that found nothing, and
   what was counted of a surface ends when it is served no more.
2. Whatever is known elsewhere is read when it is scraped, and counted nowhere twice.
3. Counting raises nothing and waits for nothing.

Not done here: HTTP for the scrape (`routes/metrics.py`, and `--metrics-port`).
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Receive, Scope, Send

from selector.adapters.answer_seen import METHODS, StatusSeen, route_of
from selector.adapters.problems import CODE
from selector.answering import STAGES, Stage
from selector.library import Library
from selector.ports import BatchRanker
from selector.served import Served
from selector.service import Selector
from surface._version import __version__
from surface.errors import RankerUnavailable
from surface.protocol import RankReply
from surface.ranking import RankRequest

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24)
_STAGE_BUCKETS: Final = (0.0001, 0.00025, 0.0005, *_BUCKETS[:-3])


class Metrics:
    """One registry and what counts into it; threads may share it."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        built = Gauge("toolsurface_build_info", "Always 1.", ["version", "python"], registry=self.registry)
        built.labels(__version__, platform.python_version()).set(1)
        self._requests = Counter(
            "toolsurface_http_requests",
            "Requests answered; code is that of the problem document, empty where there was none.",
            ["method", "route", "status", "code"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "toolsurface_http_request_seconds",
            "From the head of a request to the end of its answer.",
            ["route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._answers = _Answers()
        self._refused = Counter(
            "toolsurface_refusals", "Requests that the ranker could not answer.", ["code"], registry=self.registry
        )
        stages = Histogram(
            "toolsurface_stage_seconds",
            "One stage of ranking; embed is one call of the model.",
            ["stage"],
            buckets=_STAGE_BUCKETS,
            registry=self.registry,
        )
        self._stages = {stage: stages.labels(stage) for stage in STAGES}

    def watch(self, selector: Selector, library: Library) -> None:
        """Reads what these say of themselves at each scrape from now on."""
        self.registry.register(_Reading(selector, library, self._answers))

    def counting_requests(self, app: ASGIApp) -> ASGIApp:
        """The application, its requests counted by the template of their route."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            started, sent = time.perf_counter(), StatusSeen(send)
            try:
                await app(scope, receive, sent)
            finally:
                route = route_of(scope) or "none"
                method = scope["method"] if scope["method"] in METHODS else "other"
                self._requests.labels(method, route, str(sent.status), scope.get(CODE, "")).inc()
                self._seconds.labels(route).observe(time.perf_counter() - started)

        return counted

    def counting_answers(self, ranker: BatchRanker) -> BatchRanker:
        """The ranker, its answers counted."""
        return _CountedRanker(ranker, answered=self._answered, refused=lambda code: self._refused.labels(code).inc())

    def around(self, stage: Stage) -> AbstractContextManager[object]:
        """Times what runs inside it."""
        return self._stages[stage].time()

    def _answered(self, application: str, reply: RankReply) -> None:
        outcome = "degraded" if reply.degraded else "abstained" if reply.abstained else "ranked"
        self._answers.count(application, reply.surface, outcome)


class _CountedRanker:
    def __init__(
        self, ranker: BatchRanker, *, answered: Callable[[str, RankReply], None], refused: Callable[[str], None]
    ) -> None:
        self._ranker = ranker
        self._answered = answered
        self._refused = refused

    @property
    def id(self) -> str:
        return self._ranker.id

    async def rank(self, request: RankRequest) -> RankReply:
        try:
            reply = await self._ranker.rank(request)
        except RankerUnavailable as unavailable:
            self._refused(unavailable.code)
            raise
        self._answered(request.application, reply)
        return reply

    async def rank_many(self, requests: Sequence[RankRequest]) -> tuple[RankReply, ...]:
        try:
            replies = await self._ranker.rank_many(requests)
        except RankerUnavailable as unavailable:
            self._refused(unavailable.code)
            raise
        for request, reply in zip(requests, replies, strict=True):
            self._answered(request.application, reply)
        return replies


class _Answers:
    """Queries answered, by application, surface and outcome; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: dict[tuple[str, str, str], int] = {}

    def count(self, application: str, surface: str, outcome: str) -> None:
        of = (application, surface, outcome)
        with self._lock:
            self._counts[of] = self._counts.get(of, 0) + 1

    def of(self, served: Served) -> Mapping[tuple[str, str, str], int]:
        """What was counted of these; the rest is forgotten."""
        with self._lock:
            gone = [of for of in self._counts if of[0] not in served or of[1] not in served[of[0]].active]
            for each in gone:
                del self._counts[each]
            return dict(self._counts)


class _Reading(Collector):
    """What is read at a scrape."""

    def __init__(self, selector: Selector, library: Library, answers: _Answers) -> None:
        self._selector = selector
        self._library = library
        self._answers = answers

    def collect(self) -> Iterable[Metric]:
        library = self._library
        load, residency = self._selector.load, library.residency
        yield _gauge("queries_waiting", "Queries computed now or in the queue.", load.waiting)
        rankings = CounterMetricFamily("toolsurface_rankings", "Rankings, by where they came from.", labels=["source"])
        for source, value in (("computed", load.computed), ("cache", load.hits), ("joined", load.joined)):
            rankings.add_metric([source], value)
        yield rankings
        yield _counter("queries_overloaded", "Queries refused because too many waited.", load.overloaded)
        yield _counter("queries_abandoned", "Queries whose asker was gone before the answer.", load.abandoned)
        yield _gauge("open_indexes", "Index versions in memory.", residency.versions)
        yield _gauge("open_index_bytes", "What they weigh.", residency.bytes)
        yield _counter("index_loads", "Index versions loaded.", residency.loads)
        yield _counter("index_evictions", "Index versions closed to make room.", residency.evictions)
        yield _counter("index_load_failures", "Index versions that could not be loaded.", residency.failures)
        yield _counter("store_refreshes", "Looks at the store that could read all of it.", library.refreshes)
        yield _gauge("store_refreshed_timestamp_seconds", "When the last of them was.", library.refreshed)
        yield _gauge("store_unreadable", "Applications, or the whole store, unreadable now.", len(library.unreadable))
        served = library.served
        answers = CounterMetricFamily(
            "toolsurface_answers",
            "Queries answered: ranked, abstained or degraded.",
            labels=["application", "surface", "outcome"],
        )
        for of, value in self._answers.of(served).items():
            answers.add_metric(of, value)
        yield answers
        yield from _of_served(served)


def _of_served(served: Served) -> Iterable[Metric]:
    info = GaugeMetricFamily(
        "toolsurface_served_info", "Always 1.", labels=["application", "surface", "version", "catalog_digest", "model"]
    )
    tools = GaugeMetricFamily("toolsurface_served_tools", "Tools of a surface.", labels=["application", "surface"])
    refused = GaugeMetricFamily(
        "toolsurface_refused_indexes", "1 for each that is refused.", labels=["application", "surface", "code"]
    )
    for application, now in served.items():
        for surface, version in now.active.items():
            manifest = version.manifest
            info.add_metric([application, surface, version.version, manifest.catalog_digest, manifest.model], 1)
            tools.add_metric([application, surface], manifest.tools)
        for surface, refusal in now.refused.items():
            refused.add_metric([application, surface, refusal.code], 1)
    yield from (info, tools, refused)


def _gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(f"toolsurface_{name}", told, value=value)


def _counter(name: str, told: str, value: float) -> Metric:
    return CounterMetricFamily(f"toolsurface_{name}", told, value=value)
