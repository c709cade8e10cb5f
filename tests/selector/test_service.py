"""The Selector beyond the contract of rankers: failing vectors, load, and what it leaves on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray

from indexer.index import SurfaceIndex
from indexer.memory_store import MemoryStore
from indexer.ports import VectorIndex
from models.embedder import Embedder, Vectors
from models.hashing import HashingEmbedder
from models.manifest import ModelManifest
from selector.adapters.memory_cache import MemoryRankingCache
from selector.answering import Around, Stage, nothing_around
from selector.fair_threads import FairThreads, asked_by
from selector.ranking import Leg
from selector.served import ServedVersion
from selector.service import TURN, Selector
from surface.errors import RankerUnavailable
from surface.protocol import RankReply
from surface.ranking import RankRequest
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, BrokenEmbedder, ask, library_over, put
from tests.selector.server_process import until

SECRET = bytes(range(32))


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def _selector(
    executor: Executor,
    embedder: Embedder,
    *,
    leg: Leg = "hybrid",
    waiting: int = 8,
    around: Around = nothing_around,
) -> Selector:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    return Selector(indexes=library, embedder=embedder, executor=executor, leg=leg, max_waiting=waiting, around=around)


class _PausedEmbedder:
    """Holds every query until it is let go."""

    def __init__(self) -> None:
        self._real = HashingEmbedder()
        self.calls = 0
        self.started = Event()
        self.go_on = Event()

    @property
    def manifest(self) -> ModelManifest:
        return self._real.manifest

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        self.started.set()
        assert self.go_on.wait(10)
        return self._real.embed_queries(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._real.embed_documents(texts)


@pytest.mark.parametrize("leg", ["hybrid", "dense"])
async def test_where_the_vectors_fail_the_words_answer_and_the_reply_says_so(
    executor: ThreadPoolExecutor, leg: Leg
) -> None:
    reply = await _selector(executor, BrokenEmbedder(), leg=leg).rank(ask("delete a file"))
    words = await _selector(executor, BrokenEmbedder(), leg="lexical").rank(ask("delete a file"))
    assert reply.degraded == "dense_failed"
    assert words.degraded is None
    assert reply.ranked == words.ranked
    assert reply.ranked[0].name == "file_delete"


async def test_vectors_of_another_dimension_are_a_failure_of_the_vectors(executor: ThreadPoolExecutor) -> None:
    reply = await _selector(executor, HashingEmbedder(dimension=32)).rank(ask("delete a file"))
    assert reply.degraded == "dense_failed"


@pytest.mark.parametrize("leg", ["hybrid", "dense", "lexical"])
async def test_a_query_that_is_a_tools_name_puts_it_first_in_every_leg(executor: ThreadPoolExecutor, leg: Leg) -> None:
    for name in TOOLS:
        reply = await _selector(executor, HashingEmbedder(), leg=leg).rank(ask(f" `{name}` ", limit=2))
        assert reply.ranked[0].name == name
        assert len(reply.ranked) <= 2


@pytest.mark.rule("SRC-7")
@pytest.mark.parametrize("query", ["", "   ", "?!", "\N{GRINNING FACE}"])
async def test_a_query_without_a_letter_or_digit_abstains(executor: ThreadPoolExecutor, query: str) -> None:
    reply = await _selector(executor, HashingEmbedder()).rank(ask(query))
    assert reply.abstained
    assert reply.ranked == ()


async def test_words_alone_abstain_where_none_is_known(executor: ThreadPoolExecutor) -> None:
    reply = await _selector(executor, HashingEmbedder(), leg="lexical").rank(ask("zzz qqq"))
    assert reply.abstained


async def test_computing_never_blocks_the_event_loop_and_too_many_waiting_are_refused(
    executor: ThreadPoolExecutor,
) -> None:
    paused = _PausedEmbedder()
    selector = _selector(executor, paused, waiting=2)
    asked = [asyncio.create_task(selector.rank(ask(f"delete a file{end}"))) for end in (".", "!")]
    assert await asyncio.to_thread(paused.started.wait, 10)
    # The loop runs on while both are held; the third is told at once.
    with pytest.raises(RankerUnavailable) as raised:
        await selector.rank(ask("delete a file"))
    assert raised.value.code == "overloaded"
    paused.go_on.set()
    replies = await asyncio.gather(*asked)
    assert {reply.ranked[0].name for reply in replies} == {"file_delete"}
    assert (await selector.rank(ask("delete a file"))).ranked


async def test_a_request_is_answered_on_the_index_it_began_on(executor: ThreadPoolExecutor) -> None:
    store, paused = MemoryStore(), _PausedEmbedder()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    began = library.find(APPLICATION, SURFACE, None)
    selector = Selector(indexes=library, embedder=paused, executor=executor)
    asked = asyncio.create_task(selector.rank(ask("delete a file")))
    assert await asyncio.to_thread(paused.started.wait, 10)
    put(store, {SURFACE: {"other_tool": "Delete a file"}})
    library.refresh()
    paused.go_on.set()
    reply = await asked
    assert reply.index_version == began.version
    assert {ranked.name for ranked in reply.ranked} <= TOOLS.keys()


async def test_the_same_query_at_the_same_time_is_computed_once(executor: ThreadPoolExecutor) -> None:
    paused = _PausedEmbedder()
    selector = _selector(executor, paused, waiting=1)
    asked = [asyncio.create_task(selector.rank(ask(query))) for query in ("delete a file", " delete  a file ") * 20]
    assert await asyncio.to_thread(paused.started.wait, 10)
    asked[0].cancel()  # the one that began it: the others still get their answer
    paused.go_on.set()
    replies = await asyncio.gather(*asked[1:])
    assert {reply.ranked[0].name for reply in replies} == {"file_delete"}
    assert (paused.calls, selector.load.joined, selector.load.waiting) == (1, 39, 0)


async def test_who_asks_for_fewer_names_or_of_another_surface_gets_an_answer_of_its_own(
    executor: ThreadPoolExecutor,
) -> None:
    selector = _selector(executor, HashingEmbedder())
    replies = await asyncio.gather(*(selector.rank(ask("a file", limit=limit)) for limit in (1, 2, 5)))
    assert [len(reply.ranked) for reply in replies][:2] == [1, 2]


async def test_a_request_that_is_cancelled_in_the_queue_is_never_computed() -> None:
    paused = _PausedEmbedder()
    with ThreadPoolExecutor(1) as executor:
        selector = _selector(executor, paused)
        first = asyncio.create_task(selector.rank(ask("delete a file")))
        assert await asyncio.to_thread(paused.started.wait, 10)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await selector.rank(ask("send an invoice"))
        for _ in range(3):  # turns of the loop until the cancellation has gone through
            await asyncio.sleep(0)
        assert selector.load.waiting == 1
        paused.go_on.set()
        assert (await first).ranked
        assert (await selector.rank(ask("copy a file"))).ranked
    assert paused.calls == 2
    assert selector.load.abandoned == 1


async def test_a_request_that_is_cancelled_while_it_is_embedded_stops_before_the_next_stage() -> None:
    paused = _PausedEmbedder()
    searched: list[int] = []
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()

    class _Watched:
        """The real library; its indexes say when they are searched."""

        find = staticmethod(library.find)

        async def opened(self, version: ServedVersion) -> SurfaceIndex:
            index = await library.opened(version)
            return replace(index, vectors=_Searched(index.vectors, searched))

    with ThreadPoolExecutor(1) as executor:
        selector = Selector(indexes=_Watched(), embedder=paused, executor=executor)
        asked = asyncio.create_task(selector.rank(ask("delete a file")))
        assert await asyncio.to_thread(paused.started.wait, 10)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert selector.load.waiting == 1  # its thread is busy still
        paused.go_on.set()
        await asyncio.get_running_loop().run_in_executor(executor, int)
        assert searched == []
        assert (await selector.rank(ask("copy a file"))).ranked
        assert searched
    assert selector.load.waiting == 0


async def test_a_remembered_ranking_is_answered_without_computing_and_never_for_another_version(
    executor: ThreadPoolExecutor,
) -> None:
    store, paused = MemoryStore(), _PausedEmbedder()
    paused.go_on.set()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    cache = MemoryRankingCache(max_bytes=100_000)
    selector = Selector(indexes=library, embedder=paused, executor=executor, cache=cache, cache_key=SECRET)
    first = await selector.rank(ask("delete a file"))
    assert await selector.rank(ask("delete a file")) == first
    assert (paused.calls, selector.load.hits) == (1, 1)
    put(store, {SURFACE: {**TOOLS, "other_tool": "Delete a file"}})
    library.refresh()
    second = await selector.rank(ask("delete a file"))
    assert second.index_version != first.index_version
    assert "other_tool" in {ranked.name for ranked in second.ranked}
    # An agent of the previous deploy is answered from the entry of its version.
    assert await selector.rank(ask("delete a file", catalog_digest=first.catalog_digest)) == first
    assert paused.calls == 2


async def test_a_degraded_ranking_is_not_remembered(executor: ThreadPoolExecutor) -> None:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    cache = MemoryRankingCache(max_bytes=100_000)
    broken = Selector(indexes=library, embedder=BrokenEmbedder(), executor=executor, cache=cache, cache_key=SECRET)
    assert (await broken.rank(ask("delete a file"))).degraded == "dense_failed"
    whole = Selector(indexes=library, embedder=HashingEmbedder(), executor=executor, cache=cache, cache_key=SECRET)
    assert (await whole.rank(ask("delete a file"))).degraded is None


@pytest.mark.parametrize("secret", [None, b"", bytes(15), bytes(65)])
def test_a_cache_without_a_good_secret_is_refused(executor: ThreadPoolExecutor, secret: bytes | None) -> None:
    with pytest.raises(ValueError, match=r"cache_key|secret"):
        Selector(
            indexes=library_over(MemoryStore()),
            embedder=HashingEmbedder(),
            executor=executor,
            cache=MemoryRankingCache(max_bytes=1),
            cache_key=secret,
        )


async def test_several_queries_at_once_get_what_each_would_get_alone_from_one_embedding(
    executor: ThreadPoolExecutor,
) -> None:
    paused = _PausedEmbedder()
    paused.go_on.set()
    selector = _selector(executor, paused)
    asked = [ask("delete a file and send an invoice to a customer"), ask("?!"), ask("copy a file", limit=1), ask("?!")]
    alone = [await _selector(executor, HashingEmbedder()).rank(each) for each in asked]
    assert list(await selector.rank_many(asked)) == alone
    assert paused.calls == 1
    assert await selector.rank_many([]) == ()


async def test_a_batch_knows_what_the_cache_knows_and_is_remembered(executor: ThreadPoolExecutor) -> None:
    store, paused = MemoryStore(), _PausedEmbedder()
    paused.go_on.set()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    cache = MemoryRankingCache(max_bytes=100_000)
    selector = Selector(indexes=library, embedder=paused, executor=executor, cache=cache, cache_key=SECRET)
    single = await selector.rank(ask("delete a file"))
    batch = await selector.rank_many([ask("delete a file"), ask("copy a file")])
    assert batch[0] == single
    assert await selector.rank(ask("copy a file")) == batch[1]
    assert (paused.calls, selector.load.hits) == (2, 2)


async def test_a_long_batch_lets_others_have_their_turns_and_answers_as_its_queries_would_alone() -> None:
    paused, order = _PausedEmbedder(), list[str]()
    with FairThreads(1, name="test") as threads:
        selector = _selector(threads, paused, waiting=64)
        asked = [ask(f"delete file {at} or send an invoice") for at in range(3 * TURN + 1)]

        async def ranked(name: str, *requests: RankRequest) -> tuple[RankReply, ...]:
            with asked_by(name):
                replies = await selector.rank_many(requests)
            order.append(name)
            return replies

        batch = asyncio.create_task(ranked("batch", *asked))
        assert await asyncio.to_thread(paused.started.wait, 10)
        others = [asyncio.create_task(ranked(f"other {at}", ask("copy a file"))) for at in range(5)]
        await until(lambda: selector.load.waiting == len(asked) + len(others))
        paused.go_on.set()
        replies = await batch
        await asyncio.gather(*others)
        assert order[-1] == "batch"
        assert list(replies) == [await selector.rank(each) for each in asked]
        assert selector.load.waiting == 0


async def test_a_batch_whose_one_part_fails_stops_the_others_and_gives_its_places_back() -> None:
    def fails(stage: Stage) -> AbstractContextManager[object]:
        return nullcontext(1 // 0 if stage == "fuse" else None)

    with FairThreads(2, name="test") as threads:
        selector = _selector(threads, HashingEmbedder(), waiting=64, around=fails)
        with pytest.raises(ZeroDivisionError):
            await selector.rank_many([ask(f"file {at}") for at in range(4 * TURN)])
        await until(lambda: not selector.load.waiting)


async def test_a_batch_that_is_given_up_leaves_the_queue_and_gives_its_places_back() -> None:
    paused = _PausedEmbedder()
    with FairThreads(1, name="test") as threads:
        selector = _selector(threads, paused, waiting=64)
        at_once = asyncio.create_task(selector.rank_many([ask(f"file {at}") for at in range(4 * TURN)]))
        await asyncio.sleep(0)
        at_once.cancel()
        later = asyncio.create_task(selector.rank_many([ask(f"folder {at}") for at in range(4 * TURN)]))
        assert await asyncio.to_thread(paused.started.wait, 10)
        later.cancel()
        await asyncio.gather(at_once, later, return_exceptions=True)
        assert selector.load.waiting <= TURN  # what a thread is busy with
        paused.go_on.set()
        await until(lambda: not selector.load.waiting)
        assert paused.calls <= 2


async def test_a_batch_that_no_thread_takes_any_more_holds_no_places() -> None:
    threads = FairThreads(1, name="test")
    selector = _selector(threads, HashingEmbedder(), waiting=64)
    threads.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        await selector.rank_many([ask(f"file {at}") for at in range(3 * TURN)])
    assert selector.load.waiting == 0


async def test_a_batch_fails_whole_where_one_surface_is_unknown_and_is_never_too_long_alone(
    executor: ThreadPoolExecutor,
) -> None:
    paused = _PausedEmbedder()
    selector = _selector(executor, paused, waiting=2)
    with pytest.raises(RankerUnavailable, match="unknown_surface"):
        await selector.rank_many([ask("a file"), ask("a file", surface="none")])
    three = asyncio.create_task(selector.rank_many([ask(f"file {at}") for at in range(3)]))
    assert await asyncio.to_thread(paused.started.wait, 10)
    assert selector.load.waiting == 3
    with pytest.raises(RankerUnavailable, match="overloaded"):
        await selector.rank_many([ask("another")])
    assert selector.load.overloaded == 1
    paused.go_on.set()
    assert len(await three) == 3


class _Searched:
    """A vector index that says when it is searched."""

    def __init__(self, real: VectorIndex, searched: list[int]) -> None:
        self._real = real
        self._searched = searched

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        self._searched.append(len(queries))
        return self._real.search(queries, k)
