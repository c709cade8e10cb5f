"""A replaced version leaves memory once no agent of the deploy before asks it, and comes back for one that does."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from indexer.artefact import Artefact
from indexer.errors import StoreUnavailableError
from indexer.index import SurfaceIndex
from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.library import KEEP_REPLACED_S, Library
from selector.service import Selector
from surface.errors import RankerUnavailable
from tests.selector.builders import APPLICATION, SURFACE, ask, library_over, put

OLD = {"old_tool": "Do a thing"}
NEW = {"new_tool": "Do another thing"}


class _Store(MemoryStore):
    """A real store whose loads can be refused, and that can be away as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses: set[str] = set()
        self.away = False

    def applications(self) -> tuple[str, ...]:
        if self.away:
            raise StoreUnavailableError("the store is away")
        return super().applications()

    def load(self, application: str, surface: str, version: str) -> Artefact:
        if self.away or version in self.refuses:
            raise StoreUnavailableError("the store is away")
        return super().load(application, surface, version)


class _Swapped:
    """A library right after a swap, with a clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.store = _Store()
        self.library: Library = library_over(self.store, monotonic=lambda: self.now)
        put(self.store, {SURFACE: OLD})
        self.library.refresh()
        self.old = self.library.find(APPLICATION, SURFACE, None)
        put(self.store, {SURFACE: NEW})
        self.now += 10 * KEEP_REPLACED_S  # nobody has asked the old one for long when it is replaced
        self.library.refresh()

    @property
    def digest(self) -> str:
        return self.old.manifest.catalog_digest

    @property
    def open(self) -> int:
        return self.library.residency.versions

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.library.refresh()

    async def asked(self, digest: str | None) -> SurfaceIndex:
        return await self.library.opened(self.library.find(APPLICATION, SURFACE, digest))


@pytest.fixture
def swapped() -> _Swapped:
    return _Swapped()


async def test_a_replaced_version_is_closed_once_nobody_has_asked_it_for_a_while_and_its_memory_is_free(
    swapped: _Swapped,
) -> None:
    gone = weakref.ref((await swapped.asked(swapped.digest)).lexical)
    swapped.later(KEEP_REPLACED_S - 1)
    assert swapped.open == 2
    swapped.later(1)
    assert swapped.open == 1
    gc.collect()
    assert gone() is None


def test_one_that_was_idle_is_kept_for_as_long_from_when_it_was_replaced(swapped: _Swapped) -> None:
    swapped.later(KEEP_REPLACED_S - 1)
    assert swapped.open == 2


async def test_whoever_asks_it_keeps_it_open(swapped: _Swapped) -> None:
    for _ in range(5):
        swapped.later(KEEP_REPLACED_S - 1)
        await swapped.asked(swapped.digest)
    assert swapped.open == 2
    assert swapped.library.residency.loads == 2


async def test_the_active_version_stays_open_however_long_nobody_asks_it(swapped: _Swapped) -> None:
    swapped.later(100 * KEEP_REPLACED_S)
    loads = swapped.library.residency.loads
    assert (await swapped.asked(None)).names == ("new_tool",)
    assert swapped.library.residency.loads == loads


async def test_who_asks_a_closed_one_gets_it_and_it_is_open_for_as_long_again(swapped: _Swapped) -> None:
    swapped.later(KEEP_REPLACED_S)
    assert (await swapped.asked(swapped.digest)).names == ("old_tool",)
    swapped.later(KEEP_REPLACED_S - 1)
    assert swapped.open == 2
    swapped.later(1)
    assert swapped.open == 1


async def test_nothing_is_closed_while_the_store_could_not_give_it_back(swapped: _Swapped) -> None:
    swapped.store.away = True
    swapped.later(KEEP_REPLACED_S)
    assert (await swapped.asked(swapped.digest)).names == ("old_tool",)
    swapped.store.away = False
    swapped.later(KEEP_REPLACED_S)
    assert swapped.open == 1


async def test_a_closed_version_that_a_rollback_serves_again_is_open_before_it_is_asked(swapped: _Swapped) -> None:
    swapped.later(KEEP_REPLACED_S)
    put(swapped.store, {SURFACE: OLD})
    swapped.library.refresh()
    loads = swapped.library.residency.loads
    assert (await swapped.asked(None)).names == ("old_tool",)
    assert swapped.library.residency.loads == loads


async def test_an_agent_of_a_closed_version_that_cannot_be_loaded_is_answered_on_the_active_one(
    swapped: _Swapped,
) -> None:
    swapped.later(KEEP_REPLACED_S)
    swapped.store.refuses = {swapped.old.version}
    request = ask("do a thing", catalog_digest=swapped.digest)
    with ThreadPoolExecutor(1) as threads:
        selector = Selector(indexes=swapped.library, embedder=HashingEmbedder(), executor=threads, strictness=0)
        alone, *batch = await selector.rank(request), *await selector.rank_many([request, request])
        assert {reply.index_version for reply in (alone, *batch)} == {
            swapped.library.find(APPLICATION, SURFACE, None).version
        }
        swapped.store.refuses = set()
        swapped.library.refresh()
        assert (await selector.rank(request)).index_version == swapped.old.version


async def test_an_active_version_that_cannot_be_loaded_is_refused_also_where_its_own_digest_was_asked() -> None:
    store = _Store()
    put(store, {"first": OLD, "second": NEW})
    library = library_over(store, budget=1)
    library.refresh()
    await library.opened(library.find(APPLICATION, "first", None))
    version = library.find(APPLICATION, "second", None)
    store.away = True
    request = ask("do a thing", surface="second", catalog_digest=version.manifest.catalog_digest)
    with ThreadPoolExecutor(1) as threads:
        selector = Selector(indexes=library, embedder=HashingEmbedder(), executor=threads, strictness=0)
        for asked in (selector.rank(request), selector.rank_many([request, request])):
            with pytest.raises(RankerUnavailable, match="index_unusable"):
                await asked
