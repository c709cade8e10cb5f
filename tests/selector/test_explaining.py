"""Explanations: the ranking they explain is the one that is served, and their parts add up to its scores."""

from __future__ import annotations

from asyncio import CancelledError, create_task, gather, to_thread, wrap_future
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Event, Semaphore

import httpx2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from indexer.index import SurfaceIndex
from indexer.memory_store import MemoryStore
from models.embedder import Embedder, Vectors
from models.hashing import HashingEmbedder
from selector.abstaining import STRICTNESS
from selector.access import Grant
from selector.adapters.http_api import build_app
from selector.adapters.routes.explaining import explaining_routes
from selector.explaining import MAX_WAITING, Explainer
from selector.explanation import ExplainReply, ToolExplanation
from selector.library import Library
from selector.ranking import LEGS, Leg
from selector.served import ServedVersion
from selector.service import Selector
from surface.errors import RankerUnavailable
from surface.protocol import RankedName
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, BrokenEmbedder, ask, library_over, put

PATH = f"/v1/applications/{APPLICATION}/surfaces/{SURFACE}/explain"
_WORDS = " ".join([*TOOLS, *TOOLS.values(), "and", "then", "nothing", "\u53d1\u7968"]).split()


@pytest.fixture(scope="module")
def library() -> Library:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    return library


@pytest.fixture(scope="module")
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


def _pair(
    library: Library,
    executor: ThreadPoolExecutor,
    *,
    embedder: Embedder | None = None,
    leg: Leg = "hybrid",
    strictness: float = STRICTNESS,
) -> tuple[Selector, Explainer]:
    embedder = embedder or HashingEmbedder()
    return (
        Selector(indexes=library, embedder=embedder, executor=executor, leg=leg, strictness=strictness),
        Explainer(indexes=library, embedder=embedder, executor=executor, leg=leg, strictness=strictness),
    )


def _names(explained: ExplainReply) -> tuple[RankedName, ...]:
    return tuple(RankedName(name=tool.name, score=tool.score) for tool in explained.ranked)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=14).map(" ".join),
    leg=st.sampled_from(LEGS),
    strictness=st.sampled_from([0.0, STRICTNESS, 6.0]),
    limit=st.integers(1, 9),
)
async def test_what_is_explained_is_the_ranking_in_order_and_score(
    library: Library, executor: ThreadPoolExecutor, query: str, leg: Leg, strictness: float, limit: int
) -> None:
    selector, explainer = _pair(library, executor, leg=leg, strictness=strictness)
    reply, explained = await selector.rank(ask(query, limit=limit)), await explainer.explain(ask(query, limit=limit))
    assert _names(explained) == reply.ranked
    assert (explained.abstained, explained.degraded) == (reply.abstained, reply.degraded)
    assert (explained.index_version, explained.catalog_digest) == (reply.index_version, reply.catalog_digest)
    assert not {tool.name for tool in explained.ranked} & {tool.name for tool in explained.left_out}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=14).map(" ".join))
async def test_the_legs_of_a_tool_add_up_to_its_score(
    library: Library, executor: ThreadPoolExecutor, query: str
) -> None:
    _, explainer = _pair(library, executor)
    explained = await explainer.explain(ask(query, limit=9))
    for tool in (*explained.ranked, *explained.left_out):
        assert sum(match.points for match in tool.words) == pytest.approx(tool.lexical)
        if not tool.called:
            assert _score(explained, tool) == pytest.approx(tool.score)


def _score(explained: ExplainReply, tool: ToolExplanation) -> float:
    """The formula of the documentation, over the parts of the explanation alone."""
    weights = explained.weights
    assert tool.cosine is not None
    whole = weights.trust * (tool.cosine - weights.mean) / weights.spread + weights.lexical_weight * tool.lexical
    assert whole == pytest.approx(tool.whole)
    clause = tool.nearest_clause
    return whole if clause is None else whole + weights.clause_weight * clause.score


async def test_words_say_whether_they_stand_in_the_name_and_which_of_them_nobody_holds(
    library: Library, executor: ThreadPoolExecutor
) -> None:
    _, explainer = _pair(library, executor, strictness=0.0)
    explained = await explainer.explain(ask("delete from a disk unheard"))
    words = {match.word: match.in_name for match in explained.ranked[0].words}
    assert explained.ranked[0].name == "file_delete"
    assert words == {"delete": True, "disk": False}
    assert explained.unknown_words == ("unheard",)


async def test_a_tool_that_is_called_by_its_name_says_so(library: Library, executor: ThreadPoolExecutor) -> None:
    _, explainer = _pair(library, executor)
    explained = await explainer.explain(ask("file_delet"))
    assert [tool.name for tool in explained.ranked if tool.called] == ["file_delete"]


async def test_an_abstention_says_by_how_much_and_what_came_nearest(
    library: Library, executor: ThreadPoolExecutor
) -> None:
    selector, explainer = _pair(library, executor, strictness=6.0)
    explained = await explainer.explain(ask("delete a file"))
    assert (await selector.rank(ask("delete a file"))).abstained
    assert explained.abstained
    assert explained.threshold is not None
    assert explained.threshold.applies
    assert explained.threshold.nearest < explained.threshold.needed
    assert explained.left_out[0].name == "file_delete"


async def test_a_query_that_asks_for_nothing_is_explained_as_nothing(
    library: Library, executor: ThreadPoolExecutor
) -> None:
    _, explainer = _pair(library, executor)
    explained = await explainer.explain(ask("?!"))
    assert explained.abstained
    assert (explained.ranked, explained.left_out, explained.threshold) == ((), (), None)


async def test_where_the_vectors_fail_the_words_are_explained_alone(
    library: Library, executor: ThreadPoolExecutor
) -> None:
    selector, explainer = _pair(library, executor, embedder=BrokenEmbedder())
    explained = await explainer.explain(ask("delete a file"))
    assert explained.degraded == "dense_failed"
    assert _names(explained) == (await selector.rank(ask("delete a file"))).ranked
    assert explained.threshold is None
    assert all(tool.cosine is None and tool.whole is None for tool in explained.ranked)


async def test_more_explanations_than_may_wait_are_refused(library: Library) -> None:
    # Nothing runs in an executor whose only thread waits for the test.
    go_on = Event()
    with ThreadPoolExecutor(1) as busy:
        busy.submit(go_on.wait, 10)
        _, explainer = _pair(library, busy)
        asked = [explainer.explain(ask("delete a file")) for _ in range(MAX_WAITING)]
        late = explainer.explain(ask("delete a file"))
        waiting = gather(*asked)

        async def refused() -> str:
            with pytest.raises(RankerUnavailable) as caught:
                await late
            go_on.set()
            return caught.value.code

        answers, code = await gather(waiting, refused())
    assert code == "overloaded"
    assert len(answers) == MAX_WAITING


class _Held(HashingEmbedder):
    """Embeds once it may, and says when it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go_on = Semaphore(0), Event()

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.began.release()
        self.go_on.wait(10)
        return super().embed_queries(texts)


async def test_an_explanation_nobody_waits_for_keeps_its_place_while_its_thread_computes(library: Library) -> None:
    embedder = _Held()
    with ThreadPoolExecutor(MAX_WAITING) as threads:
        _, explainer = _pair(library, threads, embedder=embedder)
        tasks = [create_task(explainer.explain(ask("delete a file"))) for _ in range(MAX_WAITING)]
        for _ in tasks:
            assert await to_thread(embedder.began.acquire, timeout=10)
        for task in tasks:
            task.cancel()
        ended = await gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, CancelledError) for each in ended)
        with pytest.raises(RankerUnavailable, match="overloaded"):
            await explainer.explain(ask("delete a file"))
        embedder.go_on.set()
        all_ended = Barrier(MAX_WAITING)
        await gather(*(wrap_future(threads.submit(all_ended.wait, 10)) for _ in tasks))
        assert (await explainer.explain(ask("delete a file"))).ranked


async def test_an_explanation_nobody_waits_for_scores_no_word(library: Library) -> None:
    embedder, scored = _Held(), 0
    index = await library.opened(library.find(APPLICATION, SURFACE, None))

    class Counting:
        def scores(self, queries: Sequence[Sequence[str]]) -> NDArray[np.float64]:
            nonlocal scored
            scored += 1
            return index.lexical.scores(queries)

    class Counted:
        find = staticmethod(library.find)

        async def opened(self, version: ServedVersion) -> SurfaceIndex:
            return replace(index, lexical=Counting())

    with ThreadPoolExecutor(1) as threads:
        explainer = Explainer(indexes=Counted(), embedder=embedder, executor=threads)
        task = create_task(explainer.explain(ask("delete a file")))
        assert await to_thread(embedder.began.acquire, timeout=10)
        task.cancel()
        await gather(task, return_exceptions=True)
        embedder.go_on.set()
    assert scored == 0


@pytest.fixture
async def http(library: Library, executor: ThreadPoolExecutor) -> AsyncIterator[httpx2.AsyncClient]:
    selector, explainer = _pair(library, executor)
    own = Grant(id="own", surfaces={APPLICATION: frozenset({SURFACE})})
    grants = {"own": own, "other": replace(own, surfaces={APPLICATION: frozenset({"another"})})}
    app = build_app(
        ranker=selector,
        served=lambda: library.served,
        access=grants.get,
        routers=[explaining_routes(explainer)],
    )
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector") as client:
        yield client


async def test_an_explanation_needs_the_key_of_its_surface(http: httpx2.AsyncClient) -> None:
    body = {"query": "delete a file", "limit": 5}
    assert (await http.post(PATH, json=body)).status_code == 401
    other = await http.post(PATH, json=body, headers={"authorization": "Bearer other"})
    missing = await http.post(PATH.replace(SURFACE, "nobody"), json=body, headers={"authorization": "Bearer own"})
    assert other.status_code == missing.status_code == 404
    assert other.content == missing.content


async def test_an_explanation_over_http_is_kept_by_no_cache(http: httpx2.AsyncClient) -> None:
    response = await http.post(
        PATH, json={"query": "delete a file", "limit": 5}, headers={"authorization": "Bearer own"}
    )
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert ExplainReply.model_validate_json(response.content).ranked[0].name == "file_delete"
