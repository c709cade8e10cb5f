"""A version that left memory and cannot be opened again: its askers, its neighbours and its operator are told so."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from starlette.types import ASGIApp

from indexer.artefact import Artefact
from indexer.errors import StoreError, StoreUnavailableError
from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.adapters.http_api import build_app
from selector.adapters.metrics import Metrics
from selector.adapters.routes.metrics import metrics_routes
from selector.library import Library
from selector.service import Selector
from tests.selector.builders import APPLICATION, library_over, put

MARKER = "s3cret-marker"
TOOLS = {"a_thing": "Do a thing"}
REPORT = "/health/ready"


class Failing(MemoryStore):
    """A store that raises what it is told to, for one surface."""

    failure: Exception | None = None

    def load(self, application: str, surface: str, version: str) -> Artefact:
        if self.failure is not None and surface == "cold":
            raise self.failure
        return super().load(application, surface, version)


@pytest.fixture
def store() -> Failing:
    store = Failing()
    put(store, {"cold": TOOLS, "warm": TOOLS})
    return store


@pytest.fixture
def library(store: Failing) -> Library:
    """Room for one of the two."""
    library = library_over(store, budget=1)
    library.refresh()
    return library


@pytest.fixture
def app(library: Library) -> Iterator[ASGIApp]:
    metrics = Metrics()
    with ThreadPoolExecutor(1) as threads:
        selector = Selector(indexes=library, embedder=HashingEmbedder(), executor=threads, strictness=0)
        metrics.watch(selector, library)
        yield build_app(
            ranker=metrics.counting_answers(selector),
            served=lambda: library.served,
            routers=[metrics_routes(metrics.registry)],
        )


async def _asked(http: httpx2.AsyncClient, surface: str) -> tuple[int, str | None]:
    path = f"/v1/applications/{APPLICATION}/surfaces/{surface}/rank"
    answer = await http.post(path, json={"query": f"{MARKER} do a thing", "limit": 1})
    assert MARKER not in answer.text
    return answer.status_code, answer.json().get("code")


@pytest.mark.parametrize(
    ("failure", "first", "code"),
    [
        (MemoryError(MARKER), (500, "ranker_failed"), "failed"),
        (LookupError(MARKER), (500, "ranker_failed"), "failed"),
        (StoreError("the disk is gone; mount it"), (503, "index_unusable"), "unreadable"),
        (StoreUnavailableError("the store is away"), (503, "index_unusable"), "unreadable"),
    ],
)
async def test_its_asker_gets_a_problem_its_neighbour_an_answer_its_operator_a_code_and_whoever_asks_later_a_new_try(
    app: ASGIApp,
    store: Failing,
    library: Library,
    failure: Exception,
    first: tuple[int, str],
    code: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector") as http:
        assert await _asked(http, "warm") == (200, None)
        store.failure = failure
        assert await _asked(http, "cold") == first
        assert await _asked(http, "cold") == (503, "index_unusable")
        assert await _asked(http, "warm") == (200, None)
        reported = (await http.get(REPORT)).json()["applications"][APPLICATION]
        assert {surface: one["code"] for surface, one in reported["refused"].items()} == {"cold": code}
        assert set(reported["surfaces"]) == {"cold", "warm"}
        scraped = (await http.get("/metrics")).text
        assert f'refused_indexes{{application="{APPLICATION}",code="{code}",surface="cold"}} 1.0' in scraped
        told = [(change.outcome, change.surface) for _ in range(2) for change in library.refresh()]
        assert told == [("refused", "cold")]
        store.failure = None
        assert await _asked(http, "cold") == (200, None)
        assert (await http.get(REPORT)).json()["applications"][APPLICATION]["refused"] == {}
        assert 'surface="cold"' not in (await http.get("/metrics")).text.partition("refused_indexes{")[2]
    assert library.refresh() == ()
    assert MARKER not in caplog.text


async def test_one_that_is_served_no_more_is_told_no_more(app: ASGIApp, store: Failing, library: Library) -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector") as http:
        await _asked(http, "warm")
        store.failure = MemoryError()
        await _asked(http, "cold")
        assert library.served[APPLICATION].refused
        store.failure = None
        put(store, {"warm": TOOLS})
        library.refresh()
        assert (await http.get(REPORT)).json()["applications"][APPLICATION]["refused"] == {}
