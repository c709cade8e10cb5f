"""What the service is held against, in this process: the bare model, the bare search, the ranking without HTTP."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.service.catalogs import APPLICATION, SURFACE
from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder, usable_cores
from selector.clauses import clauses
from selector.commands.opening import library_over, ranking_threads
from selector.ranking import DENSE_DEPTH
from selector.service import Selector
from surface.ranking import RankRequest


class Bare:
    """The parts of one ranking, asked by as many askers as there are requests in flight."""

    def __init__(self, store: Path) -> None:
        self._model = default_embedder(threads=usable_cores())
        library = library_over(DirectoryStore(store), self._model)
        self._index = asyncio.run(library.opened(library.find(APPLICATION, SURFACE, None)))
        self._threads: Executor = ranking_threads(None)
        self._selector = Selector(indexes=library, embedder=self._model, executor=self._threads, strictness=0.0)

    def close(self) -> None:
        """Ends the threads."""
        self._threads.shutdown()

    def model(self, query: str) -> None:
        """Embeds the query and its clauses."""
        self._model.embed_queries((query, *clauses(query)))

    def model_and_search(self, query: str) -> None:
        """Embeds them and searches."""
        vectors = self._model.embed_queries((query, *clauses(query)))
        self._index.vectors.search(np.ascontiguousarray(vectors), min(DENSE_DEPTH, len(self._index.names)))

    def measured(
        self, work: Callable[[str], None], queries: Sequence[str], *, in_flight: int, seconds: float, first: int
    ) -> Any:
        """As the client measures: what each took in milliseconds, the whole seconds, the processor's ms for one.

        Several askers have it done by as many threads as rank; one alone does it itself.
        """
        took: list[float] = []
        do = work if in_flight == 1 else lambda query: self._threads.submit(work, query).result()
        ends, started, busy = time.monotonic() + seconds, time.monotonic(), time.process_time()

        def ask(at: int) -> None:
            while (began := time.monotonic()) < ends:
                do(queries[at % len(queries)])
                took.append(1000 * (time.monotonic() - began))
                at += in_flight

        threads = [threading.Thread(target=ask, args=(first + at,)) for at in range(in_flight)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return _result(took, started, busy)

    def in_process(self, queries: Sequence[str], *, in_flight: int, seconds: float, first: int) -> Any:
        """The same of `Selector.rank`, asked on an event loop."""
        took: list[float] = []
        ends, started, busy = time.monotonic() + seconds, time.monotonic(), time.process_time()

        async def ask(at: int) -> None:
            while (began := time.monotonic()) < ends:
                query = queries[at % len(queries)]
                await self._selector.rank(
                    RankRequest(application=APPLICATION, surface=SURFACE, query=query, limit=5, catalog_digest=None)
                )
                took.append(1000 * (time.monotonic() - began))
                at += in_flight

        async def ask_all() -> None:
            await asyncio.gather(*(ask(first + at) for at in range(in_flight)))

        asyncio.run(ask_all())
        return _result(took, started, busy)


def _result(took: list[float], started: float, busy: float) -> dict[str, Any]:
    return {
        "took": took,
        "seconds": time.monotonic() - started,
        "cpu_ms": 1000 * (time.process_time() - busy) / max(1, len(took)),
    }


def summed(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The runs of one thing as one: percentiles over all requests, medians over runs."""
    took = np.array([one for run in runs for one in run["took"]])
    return {
        "per_s": round(statistics.median(len(run["took"]) / run["seconds"] for run in runs), 1),
        "p50": round(float(np.percentile(took, 50)), 2),
        "p95": round(float(np.percentile(took, 95)), 2),
        "p99": round(float(np.percentile(took, 99)), 2),
        "cpu_ms": round(statistics.median(run["cpu_ms"] for run in runs), 2),
    }
