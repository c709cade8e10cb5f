"""What is in memory: within the budget, loaded once, and never at the cost of a neighbour."""

from __future__ import annotations

import asyncio
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from indexer.artefact import Artefact
from indexer.errors import StoreError
from indexer.index import SurfaceIndex
from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.library import Library
from selector.service import Selector
from surface.errors import RankerUnavailable
from tests.selector.builders import APPLICATION, ask, library_over, put

ONE, TWO, THREE = ({f"{name}_{at}": "Do a thing" for at in range(10)} for name in "abc")
"""Ten bytes each, as the builders weigh."""


class _GuardedStore(MemoryStore):
    """A real store whose reading can be held, counted and refused."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.held: dict[str, Event] = {}
        self.reading = Event()
        self.down = False
        self.surprise: Exception | None = None

    def load(self, application: str, surface: str, version: str) -> Artefact:
        self.loads.append(surface)
        if self.down:
            raise StoreError("the disk is gone; mount it")
        if self.surprise is not None:
            raise self.surprise
        if surface in self.held:
            self.reading.set()
            assert self.held[surface].wait(10)
        return super().load(application, surface, version)


def _over(store: MemoryStore, *, budget: int | None) -> Library:
    library = library_over(store, budget=budget)
    library.refresh()
    return library


async def _asked(library: Library, surface: str) -> SurfaceIndex:
    return await library.opened(library.find(APPLICATION, surface, None))


async def test_no_more_is_open_than_the_budget_and_the_least_recently_asked_goes_first() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO, "c": THREE})
    library = _over(store, budget=20)
    assert (library.residency.versions, library.residency.bytes) == (2, 20)
    store.loads.clear()
    for surface in ("a", "b", "c", "c", "b", "a", "b"):
        assert (await _asked(library, surface)).names[0].startswith(surface)
        assert library.residency.bytes <= 20
    # c pushed a out, which was asked before b; then a pushed c out.
    assert store.loads == ["c", "a"]
    assert library.residency.evictions == 2


async def test_an_evicted_index_answers_who_holds_it_and_is_free_afterwards() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO})
    library = _over(store, budget=10)
    held = await _asked(library, "a")
    await _asked(library, "b")
    assert held.lexical.scores([("thing",)]).all()
    gone = weakref.ref(held.lexical)
    del held
    gc.collect()
    assert gone() is None


async def test_a_surface_is_loaded_once_however_many_ask_and_its_neighbours_answer_meanwhile() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO, "c": THREE})
    library = _over(store, budget=20)
    store.loads.clear()
    store.held["c"] = Event()
    asked = [asyncio.create_task(_asked(library, "c")) for _ in range(5)]
    assert await asyncio.to_thread(store.reading.wait, 10)
    asked[0].cancel()  # the one whose asking began it
    await asyncio.wait_for(_asked(library, "b"), 5)
    store.held["c"].set()
    indexes = await asyncio.gather(*asked[1:])
    assert len({id(index) for index in indexes}) == 1
    assert store.loads == ["c"]


async def test_a_deploy_of_idle_surfaces_pushes_nothing_out_that_is_in_use() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO, "c": THREE})
    library = _over(store, budget=20)
    await _asked(library, "a")
    busy = await _asked(library, "b")
    put(store, {"a": ONE, "b": TWO, "c": {**THREE, "c_more": "Do more"}, "d": THREE})
    library.refresh()
    assert set(library.served[APPLICATION].active) == {"a", "b", "c", "d"}
    store.loads.clear()
    assert await _asked(library, "b") is busy
    await _asked(library, "a")
    assert store.loads == []


async def test_a_version_in_use_is_replaced_in_memory_and_the_old_one_is_the_first_to_go() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO})
    library = _over(store, budget=30)
    await _asked(library, "b")
    await _asked(library, "a")
    put(store, {"a": {**ONE, "a_more": "Do more"}, "b": TWO})
    library.refresh()  # 10 + 10 + 11: the idle one makes room
    store.loads.clear()
    assert len((await _asked(library, "a")).names) == 11
    assert store.loads == []
    await _asked(library, "b")  # the replaced a makes room, not the active one
    assert len((await _asked(library, "a")).names) == 11
    assert store.loads == ["b"]


async def test_a_version_that_alone_outweighs_the_budget_is_refused_and_says_so() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE})
    library = _over(store, budget=10)
    put(store, {"a": {**ONE, "a_more": "Do more"}})
    (change, _) = library.refresh()
    assert "--memory" in change.detail
    assert library.served[APPLICATION].refused["a"].code == "too_large"
    assert len((await _asked(library, "a")).names) == 10


async def test_what_cannot_be_loaded_now_is_unusable_asked_of_the_store_once_and_tried_again_later() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO})
    library = _over(store, budget=10)
    await _asked(library, "a")
    store.down = True
    store.loads.clear()
    for _ in range(5):
        with pytest.raises(RankerUnavailable, match="index_unusable"):
            await _asked(library, "b")
    assert store.loads == ["b"]
    assert (await _asked(library, "a")).names  # its neighbour is served still
    store.down = False
    library.refresh()
    assert (await _asked(library, "b")).names


async def test_what_fails_in_a_way_nobody_foresaw_is_remembered_as_failed_too() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO})
    library = _over(store, budget=10)
    await _asked(library, "a")
    store.surprise = MemoryError()
    store.loads.clear()
    with pytest.raises(MemoryError):
        await _asked(library, "b")
    for _ in range(3):
        with pytest.raises(RankerUnavailable, match="index_unusable"):
            await _asked(library, "b")
    assert store.loads == ["b"]


async def test_who_waits_for_a_version_that_is_being_loaded_takes_no_place_of_its_neighbours() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO})
    with ThreadPoolExecutor(1) as loader, ThreadPoolExecutor(1) as threads:
        library = library_over(store, budget=10, loader=loader)
        library.refresh()
        await _asked(library, "a")
        selector = Selector(indexes=library, embedder=HashingEmbedder(), executor=threads, strictness=0, max_waiting=3)
        store.held["b"] = Event()
        cold = [asyncio.create_task(selector.rank(ask(f"thing {at}", surface="b"))) for at in range(4)]
        assert await asyncio.to_thread(store.reading.wait, 10)
        try:
            assert (await selector.rank(ask("do a thing", surface="a"))).ranked
        finally:
            store.held["b"].set()
        outcomes = await asyncio.gather(*cold, return_exceptions=True)
    # One more than may wait for it.
    assert [getattr(outcome, "code", None) for outcome in outcomes] == [None, None, None, "overloaded"]


async def test_a_loader_that_was_shut_down_leaves_nobody_waiting() -> None:
    store = _GuardedStore()
    put(store, {"a": ONE, "b": TWO})
    loader = ThreadPoolExecutor(1)
    library = library_over(store, budget=10, loader=loader)
    library.refresh()
    loader.shutdown()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="shutdown"):
            await _asked(library, "b")
