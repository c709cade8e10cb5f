"""What the options of a real `serve` process reach: strictness, traces and the log, rates, caches, deadlines."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from opentelemetry.sdk.trace import TracerProvider

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from surface.adapters.selector_client import SelectorClient
from tests.indexer.redis_cluster import running_cluster
from tests.indexer.redis_server import BINARIES, running
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, ask, put
from tests.selector.server_process import DEADLINE, ServerProcess, running_server, until

RANK = f"/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"
UNANSWERABLE = "how tall is the Eiffel tower"
MARKER = "s3cret-marker"
INSTALLS_OPENTELEMETRY = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

written = open({path!r}, "a", buffering=1)
exporter = ConsoleSpanExporter(out=written, formatter=lambda span: span.to_json(indent=None) + "\\n")
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    put(DirectoryStore(folder), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    return folder


def _post(server: ServerProcess, query: str, *, route: str = "rank", key: str | None = None) -> httpx2.Response:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    path = RANK.removesuffix("rank") + route
    return httpx2.post(server.url + path, json={"query": query, "limit": 3}, headers=headers, timeout=DEADLINE)


@pytest.mark.parametrize(("strictness", "abstains"), [("1.6", True), ("0", False)])
def test_the_strictness_that_is_given_is_that_of_the_ranking_and_of_its_explanation(
    store: Path, tmp_path: Path, strictness: str, *, abstains: bool
) -> None:
    with running_server(store, "--strictness", strictness, log=tmp_path / "log") as server:
        answers = [_post(server, UNANSWERABLE, route=route).json() for route in ("rank", "explain")]
        assert [answer["abstained"] for answer in answers] == [abstains] * 2


@pytest.mark.rule("EVD-2")
async def test_a_trace_goes_on_in_a_process_with_a_provider_and_neither_it_nor_the_log_holds_what_was_sent(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = tmp_path / "spans"
    (tmp_path / "sitecustomize.py").write_text(INSTALLS_OPENTELEMETRY.format(path=str(spans)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with running_server(store, "--log-format", "json", log=tmp_path / "log") as server:
        with TracerProvider().get_tracer("test").start_as_current_span("an agent's search") as span:
            async with SelectorClient(server.url, timeout=DEADLINE) as client:
                await client.rank(ask(f"delete a file {MARKER}"))
        body = {"query": "delete a file", "limit": 3}
        httpx2.post(f"{server.url}{RANK.replace(SURFACE, MARKER)}?{MARKER}={MARKER}", json=body)
        httpx2.post(f"{server.url}{RANK}", json={**body, "limit": MARKER})
        assert server.stop() == 0
    agent = span.get_span_context()
    written = [json.loads(line) for line in spans.read_text().splitlines()]
    ours = [each for each in written if int(each["context"]["trace_id"], 16) == agent.trace_id]
    assert [(each["name"], int(each["parent_id"], 16)) for each in ours] == [
        ("POST /v1/applications/{application}/surfaces/{surface}/rank", agent.span_id)
    ]
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    assert [line["status"] for line in lines if line.get("request_id") == f"{agent.trace_id:032x}"] == [200]
    assert MARKER not in spans.read_text() + server.log.read_text()


def test_a_rate_is_counted(store: Path, tmp_path: Path) -> None:
    with running_server(store, "--rate", "2/hour", log=tmp_path / "log") as server:
        assert [_post(server, "delete a file").status_code for _ in range(3)] == [200, 200, 429]


@pytest.fixture(params=["one server", "cluster"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a Redis that replicas share."""
    with ExitStack() as stack:
        if request.param == "cluster":
            yield stack.enter_context(running_cluster(tmp_path)).url
        else:
            yield stack.enter_context(running(BINARIES["redis-8"], tmp_path)).url


def _several(stack: ExitStack, store: Path, log: Path, *options: str) -> list[ServerProcess]:
    return [
        stack.enter_context(running_server(store, *options, log=log.with_suffix(f".{number}"))) for number in range(2)
    ]


def test_replicas_count_a_rate_together(store: Path, tmp_path: Path, shared: str) -> None:
    with ExitStack() as stack:
        one, two = _several(stack, store, tmp_path / "log", "--rate", "3/hour", "--rate-store", shared)
        statuses = [_post(each, "delete a file").status_code for each in (one, two, one, two, one)]
        assert statuses == [200, 200, 200, 429, 429]
        assert "counts alone" not in one.log.read_text() + two.log.read_text()


def _metric(server: ServerProcess, name: str) -> int:
    scrape = httpx2.get(f"{server.url}/metrics").text
    (value,) = re.findall(rf"^toolsurface_{re.escape(name)} (\S+)$", scrape, re.MULTILINE)
    return int(float(value))


def _source(server: ServerProcess, source: str) -> int:
    return _metric(server, f'rankings_total{{source="{source}"}}')


async def test_what_a_deadline_ends_leaves_the_queue_and_the_thread_and_is_never_computed(
    store: Path, tmp_path: Path
) -> None:
    many = [f"{at} " + "delete a file and send an invoice, " * 100 for at in range(32)]
    with running_server(store, log=tmp_path / "log") as server:
        async with httpx2.AsyncClient(base_url=server.url, timeout=DEADLINE) as http:
            headers = {"x-request-deadline-ms": "20"}
            answers = await asyncio.gather(
                *(http.post(f"{RANK}-batch", json={"queries": many, "limit": 5}, headers=headers) for _ in range(2))
            )
        assert {answer.json()["code"] for answer in answers} == {"deadline_exceeded"}
        # One turn of one of them may be in the thread; nothing behind it is begun.
        await until(lambda: _metric(server, "queries_waiting") == 0)
        assert (_source(server, "computed"), _metric(server, "queries_abandoned_total")) == (0, 2 * len(many))
        begun = {stage: _metric(server, f'stage_seconds_count{{stage="{stage}"}}') for stage in ("embed", "words")}
        assert begun["embed"] <= 1
        assert begun["words"] == 0
        assert _post(server, "delete a file").status_code == 200


async def test_a_replica_answers_with_what_another_one_has_computed(store: Path, tmp_path: Path, shared: str) -> None:
    key = tmp_path / "cache-key"
    key.write_bytes(bytes(range(32)))
    with ExitStack() as stack:
        one, two = _several(stack, store, tmp_path / "log", "--cache", shared, "--cache-key-file", str(key))
        numbers = iter(range(10_000))

        def found() -> bool:  # each replica opens its connections beside its first requests
            query = f"delete file {next(numbers)}"
            first = _post(one, query)
            before = _source(two, "cache")
            assert _post(two, query).json() == first.json()
            return _source(two, "cache") > before

        await until(found)
        assert _source(one, "cache") == 0
