"""The Selector beyond the contract of rankers: failing vectors, load, and what it leaves on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from indexer.memory_store import MemoryStore
from models.embedder import Embedder, Vectors
from models.hashing import HashingEmbedder
from models.manifest import ModelManifest
from selector.ranking import Leg
from selector.service import Selector
from surface.errors import RankerUnavailable
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, BrokenEmbedder, ask, library_over, put


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def _selector(executor: ThreadPoolExecutor, embedder: Embedder, *, leg: Leg = "hybrid", waiting: int = 8) -> Selector:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    return Selector(indexes=library, embedder=embedder, executor=executor, leg=leg, max_waiting=waiting)


class _PausedEmbedder:
    """Holds every query until it is let go."""

    def __init__(self) -> None:
        self._real = HashingEmbedder()
        self.started = Event()
        self.go_on = Event()

    @property
    def manifest(self) -> ModelManifest:
        return self._real.manifest

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
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
    asked = [asyncio.create_task(selector.rank(ask("delete a file"))) for _ in range(2)]
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
