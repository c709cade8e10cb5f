"""Which versions are served when the store changes, is damaged, or is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Set
from pathlib import Path

import pytest

from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.usual_index import open_artefact
from indexer.artefact import Artefact
from indexer.errors import StoreError, StoreUnavailableError
from indexer.index import SurfaceIndex
from indexer.memory_store import MemoryStore
from indexer.release import Release
from models.hashing import HashingEmbedder
from selector.library import Library
from selector.served import Change
from surface.errors import RankerUnavailable
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, library_over, put

ONE = {"a_tool": "Do a thing"}
TWO = {"b_tool": "Do another thing"}
THREE = {"c_tool": "Do a third thing"}


def _said(changes: Iterable[Change]) -> set[tuple[str, str]]:
    return {(change.outcome, change.surface) for change in changes}


def _names(library: Library, surface: str = SURFACE, *, application: str = APPLICATION) -> tuple[str, ...]:
    return asyncio.run(library.opened(library.find(application, surface, None))).names


def _damage(store: Path, surface: str, version: str) -> None:
    (folder,) = [path for path in store.rglob(version) if path.parent.name == surface]
    vectors = folder / "vectors.npy"
    vectors.chmod(0o600)
    content = bytearray(vectors.read_bytes())
    content[-1] ^= 1
    vectors.write_bytes(content)


def test_before_the_store_was_looked_at_no_surface_is_unknown_and_none_can_be_used() -> None:
    store = Going()
    store.away = {"applications"}
    library = library_over(store)
    for start in ("loading", "store_unavailable"):
        assert library.start == start
        with pytest.raises(RankerUnavailable, match="index_unusable"):
            library.find(APPLICATION, SURFACE, None)
        library.refresh()
    store.away = set()
    library.refresh()
    assert library.start == "over"
    store.away = {"applications"}
    library.refresh()
    assert library.start == "over"
    with pytest.raises(RankerUnavailable, match="unknown_surface"):
        library.find(APPLICATION, SURFACE, None)


@pytest.mark.parametrize("at", ["active", "load"])
def test_a_store_that_goes_away_in_the_middle_of_the_first_look_leaves_the_start_unfinished(at: str) -> None:
    store = Going()
    for application in ("first", "second"):
        put(store, {SURFACE: TOOLS}, application=application)
    store.away = {f"{at} second"}
    library = library_over(store)
    library.refresh()
    assert library.start == "store_unavailable"
    assert library.find("first", SURFACE, None).key.application == "first"
    with pytest.raises(RankerUnavailable, match="index_unusable"):
        library.find("second", SURFACE, None)
    store.away = set()
    library.refresh()
    assert _start(library) == "over"
    assert library.find("second", SURFACE, None).key.application == "second"


def test_what_is_refused_for_a_reason_of_its_own_does_not_hold_up_the_start(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    put(store, {SURFACE: TOOLS})
    version = put(store, {SURFACE: TOOLS}, application="other").surfaces[0].version
    _damage(tmp_path, SURFACE, version)
    library = library_over(store)
    library.refresh()
    assert library.start == "over"
    assert library.served["other"].refused[SURFACE].code == "damaged"


def _start(library: Library) -> str:
    return library.start


class Going(MemoryStore):
    """A store that cannot be reached for some of what it is asked."""

    away: Set[str] = frozenset()
    """`applications`, or `active` or `load` and an application."""

    def applications(self) -> tuple[str, ...]:
        self._reach("applications")
        return super().applications()

    def active(self, application: str) -> Release | None:
        self._reach(f"active {application}")
        return super().active(application)

    def load(self, application: str, surface: str, version: str) -> Artefact:
        self._reach(f"load {application}")
        return super().load(application, surface, version)

    def _reach(self, what: str) -> None:
        if what in self.away:
            raise StoreUnavailableError("the store is away")


def test_before_anything_is_deployed_every_surface_is_unknown() -> None:
    library = library_over(MemoryStore())
    assert library.refresh() == ()
    with pytest.raises(RankerUnavailable, match="unknown_surface"):
        library.find(APPLICATION, SURFACE, None)


def test_a_new_release_takes_over_and_the_replaced_version_answers_its_own_digest() -> None:
    store = MemoryStore()
    library = library_over(store)
    put(store, {SURFACE: ONE})
    assert _said(library.refresh()) == {("serving", SURFACE)}
    old = library.find(APPLICATION, SURFACE, None)
    put(store, {SURFACE: TWO})
    assert library.find(APPLICATION, SURFACE, None) is old
    library.refresh()
    new = library.find(APPLICATION, SURFACE, None)
    assert _names(library) == ("b_tool",)
    assert library.find(APPLICATION, SURFACE, old.manifest.catalog_digest) is old
    assert library.find(APPLICATION, SURFACE, new.manifest.catalog_digest) is new
    assert library.find(APPLICATION, SURFACE, "0" * 32) is new


def test_only_one_replaced_version_is_kept() -> None:
    store = MemoryStore()
    library = library_over(store)
    digests = []
    for tools in (ONE, TWO, THREE):
        put(store, {SURFACE: tools})
        library.refresh()
        digests.append(library.find(APPLICATION, SURFACE, None).manifest.catalog_digest)
    served = [library.find(APPLICATION, SURFACE, digest).manifest.catalog_digest for digest in digests]
    assert served == [digests[2], digests[1], digests[2]]
    assert library.residency.versions == 2


def test_a_rollback_serves_the_version_that_is_open_still() -> None:
    store = MemoryStore()
    library = library_over(store)
    put(store, {SURFACE: ONE})
    library.refresh()
    old = library.find(APPLICATION, SURFACE, None)
    put(store, {SURFACE: TWO})
    library.refresh()
    put(store, {SURFACE: ONE})
    library.refresh()
    assert library.find(APPLICATION, SURFACE, None) == old
    assert library.residency.loads == 2


def test_a_surface_that_the_release_no_longer_has_is_gone_even_for_its_old_digest() -> None:
    store = MemoryStore()
    library = library_over(store)
    put(store, {SURFACE: ONE, "writer": TWO})
    library.refresh()
    digest = library.find(APPLICATION, "writer", None).manifest.catalog_digest
    put(store, {SURFACE: ONE})
    assert _said(library.refresh()) == {("gone", "writer")}
    with pytest.raises(RankerUnavailable, match="unknown_surface"):
        library.find(APPLICATION, "writer", digest)


def test_applications_with_equal_surface_keys_are_apart() -> None:
    store = MemoryStore()
    library = library_over(store)
    put(store, {SURFACE: ONE})
    put(store, {SURFACE: TWO}, application="other")
    library.refresh()
    assert _names(library) == ("a_tool",)
    assert _names(library, application="other") == ("b_tool",)


def test_a_release_with_a_damaged_version_is_refused_whole_told_once_and_served_once_it_is_mended(
    tmp_path: Path,
) -> None:
    store = DirectoryStore(tmp_path)
    library = library_over(store)
    put(store, {SURFACE: ONE, "clerk": ONE})
    library.refresh()
    before = library.served[APPLICATION]
    second = {SURFACE: TWO, "clerk": TWO, "writer": THREE}
    result = put(store, second)
    _damage(tmp_path, SURFACE, next(each.version for each in result.surfaces if each.surface == SURFACE))

    assert _said(library.refresh()) == {("refused", SURFACE), ("refused", "writer"), ("refused", "")}
    now = library.served[APPLICATION]
    assert (now.release, now.active, now.replaced) == (before.release, before.active, before.replaced)
    assert now.refused_release == result.release
    assert {surface: refusal.code for surface, refusal in now.refused.items()} == {
        SURFACE: "damaged",
        "writer": "release_refused",
    }
    assert _names(library) == _names(library, "clerk") == ("a_tool",)
    with pytest.raises(RankerUnavailable, match="index_unusable"):
        library.find(APPLICATION, "writer", None)
    assert not any(library.refresh() for _ in range(10))  # the same fault is told once

    put(store, second)  # the deploy repairs what it finds damaged
    changes = [change for _ in range(40) for change in library.refresh()]
    assert _said(changes) == {("serving", surface) for surface in second}
    assert (_names(library), _names(library, "clerk")) == (("b_tool",), ("b_tool",))
    assert library.served[APPLICATION].refused_release is None
    assert not library.served[APPLICATION].refused


def test_a_version_that_stays_bad_is_read_ever_less_often(tmp_path: Path) -> None:
    store = _CountingStore(tmp_path)
    library = library_over(store)
    put(store, {SURFACE: ONE})
    library.refresh()
    _damage(tmp_path, SURFACE, put(store, {SURFACE: TWO}).surfaces[0].version)
    store.loads = 0
    for _ in range(100):
        library.refresh()
    assert 5 <= store.loads <= 10


def test_a_bad_release_that_is_rolled_back_leaves_nothing_refused(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    library = library_over(store)
    put(store, {SURFACE: ONE})
    library.refresh()
    served = library.find(APPLICATION, SURFACE, None)
    _damage(tmp_path, SURFACE, put(store, {SURFACE: TWO, "writer": THREE}).surfaces[0].version)
    library.refresh()
    put(store, {SURFACE: ONE})
    assert _said(library.refresh()) == {("gone", "writer")}
    assert library.find(APPLICATION, SURFACE, None) is served
    assert not library.served[APPLICATION].refused
    assert library.residency.versions == 1  # what waited for the refused release is let go of


def test_a_damaged_version_without_a_good_one_is_refused_and_its_neighbours_are_served(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    result = put(store, {SURFACE: ONE, "writer": TWO})
    _damage(tmp_path, SURFACE, result.surfaces[0].version)
    library = library_over(store)
    library.refresh()
    assert _names(library, "writer") == ("b_tool",)
    with pytest.raises(RankerUnavailable, match="index_unusable"):
        library.find(APPLICATION, SURFACE, None)

    put(store, {SURFACE: ONE, "writer": TWO})
    changes = [change for _ in range(5) for change in library.refresh()]
    assert _said(changes) == {("serving", SURFACE)}
    assert not library.served[APPLICATION].refused


def test_an_index_of_another_model_is_refused_by_name() -> None:
    store = MemoryStore()
    put(store, {SURFACE: ONE})
    library = library_over(store, HashingEmbedder(dimension=64))
    (change,) = library.refresh()
    assert change.outcome == "refused"
    assert f"surface {SURFACE}" in change.detail
    assert HashingEmbedder().manifest.identity in change.detail
    assert HashingEmbedder(dimension=64).manifest.identity in change.detail
    assert library.served[APPLICATION].refused[SURFACE].code == "model_mismatch"


class _Surprising:
    """Opens as usual, but for the versions of one application and surface."""

    def __init__(self, error: Exception, *, application: str, surface: str) -> None:
        self.error: Exception | None = error
        self._place = (application, surface)

    def __call__(self, artefact: Artefact) -> SurfaceIndex:
        if self.error is not None and (artefact.manifest.application, artefact.manifest.surface) == self._place:
            raise self.error
        return open_artefact(artefact)


@pytest.mark.parametrize("error", [MemoryError("s3cret-marker"), KeyError("s3cret-marker")], ids=["memory", "key"])
@pytest.mark.parametrize("served_before", [False, True])
def test_an_error_nobody_foresaw_refuses_one_release_whole_and_every_other_application_switches(
    error: Exception, *, served_before: bool
) -> None:
    store, opener = MemoryStore(), _Surprising(error, application="b", surface="writer")
    library = Library(store=store, open_artefact=opener, model=HashingEmbedder().manifest.identity)
    if served_before:
        opener.error = None
        for application in ("a", "b", "c"):
            put(store, {SURFACE: ONE, "writer": ONE}, application=application)
        library.refresh()
        opener.error = error
    for application in ("a", "b", "c"):
        put(store, {SURFACE: TWO, "writer": TWO}, application=application)

    changes = library.refresh()
    for application in ("a", "c"):
        assert _names(library, application=application) == _names(library, "writer", application=application)
        assert _names(library, application=application) == ("b_tool",)
        assert not library.served[application].refused
    refusal = library.served["b"].refused["writer"]
    assert refusal.code == "failed"
    assert type(error).__name__ in refusal.detail
    assert not any("s3cret-marker" in change.detail for change in changes)
    assert _said(change for change in changes if change.application == "b") >= {("refused", "writer")}
    if served_before:
        assert library.served["b"].refused_release is not None
        assert _names(library, application="b") == _names(library, "writer", application="b") == ("a_tool",)
    else:
        assert _names(library, application="b") == ("b_tool",)
    assert library.refresh() == ()

    opener.error = None
    mended = [change for _ in range(5) for change in library.refresh()]
    assert {change.application for change in mended} == {"b"}
    assert _names(library, "writer", application="b") == _names(library, application="b") == ("b_tool",)
    assert not library.served["b"].refused


def test_an_application_is_served_before_the_next_one_is_opened() -> None:
    store, seen = MemoryStore(), list[dict[str, tuple[str, ...]]]()

    def opener(artefact: Artefact) -> SurfaceIndex:
        seen.append({name: tuple(served.active) for name, served in library.served.items()})
        return open_artefact(artefact)

    library = Library(store=store, open_artefact=opener, model=HashingEmbedder().manifest.identity)
    for application in ("a", "b"):
        put(store, {SURFACE: ONE, "writer": TWO}, application=application)
    library.refresh()
    whole = {"a": (SURFACE, "writer")}
    assert seen == [{}, {}, whole, whole]


def test_a_pointer_that_fails_in_a_way_nobody_foresaw_is_that_applications_alone() -> None:
    store = _FailingStore()
    library = library_over(store)
    for application in ("a", "b"):
        put(store, {SURFACE: ONE}, application=application)
    store.surprising = "a"
    library.refresh()
    assert list(library.served) == ["b"]
    assert "LookupError" in library.unreadable["a"]
    assert "s3cret-marker" not in library.unreadable["a"]


class _CountingStore(DirectoryStore):
    """Counts what is read of it."""

    loads = 0

    def load(self, application: str, surface: str, version: str) -> Artefact:
        self.loads += 1
        return super().load(application, surface, version)


class _FailingStore(MemoryStore):
    """A real store whose disk can go away."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False
        self.pointer_down = False
        self.surprise: Exception | None = None
        self.surprising: str | None = None

    def applications(self) -> tuple[str, ...]:
        if self.surprise is not None:
            raise self.surprise
        if self.down:
            raise StoreError("the disk is gone; mount it")
        return super().applications()

    def active(self, application: str) -> Release | None:
        if self.pointer_down:
            raise StoreError("the pointer cannot be read")
        if application == self.surprising:
            raise LookupError("s3cret-marker")
        return super().active(application)


def test_a_store_that_cannot_be_read_changes_nothing_and_is_told_once() -> None:
    store = _FailingStore()
    library = library_over(store)
    put(store, {SURFACE: TOOLS})
    library.refresh()
    served = library.find(APPLICATION, SURFACE, None)
    for fault in ("down", "pointer_down"):
        setattr(store, fault, True)
        (change,) = library.refresh()
        assert change.outcome == "unreadable"
        assert library.refresh() == ()
        assert library.find(APPLICATION, SURFACE, None) is served
        assert list(library.unreadable) == [change.application]
        setattr(store, fault, False)
        assert [change.outcome for change in library.refresh()] == ["readable"]
        assert not library.unreadable


@pytest.mark.parametrize("gone", ["", "bank"], ids=["all of it", "one application"])
def test_a_store_that_has_forgotten_what_is_served_changes_nothing_and_is_told_once(tmp_path: Path, gone: str) -> None:
    place = tmp_path / "store"
    store = DirectoryStore(place)
    for application in ("bank", "shop"):
        put(store, {SURFACE: TOOLS}, application=application)
    library = library_over(store)
    library.refresh()
    forgotten = {gone} if gone else {"bank", "shop"}
    served = {application: library.find(application, SURFACE, None) for application in ("bank", "shop")}
    home = place / "applications" / gone if gone else place
    home.rename(tmp_path / "elsewhere")
    changes = library.refresh()
    assert {(change.outcome, change.application) for change in changes} == {("unreadable", one) for one in forgotten}
    assert library.refresh() == ()
    assert library.unreadable.keys() == forgotten
    assert library.refreshes == 1
    assert {one: library.find(one, SURFACE, None) for one in served} == served
    (tmp_path / "elsewhere").rename(home)
    assert {(change.outcome, change.application) for change in library.refresh()} == {
        ("readable", one) for one in forgotten
    }
    assert not library.unreadable


def test_the_time_of_the_last_refresh_stands_still_while_the_store_cannot_be_read() -> None:
    store, times = _FailingStore(), iter((10.0, 20.0))
    model = HashingEmbedder().manifest.identity
    library = Library(store=store, open_artefact=open_artefact, model=model, clock=lambda: next(times))
    assert library.refreshed == 0.0
    library.refresh()
    assert library.refreshed == 10.0
    store.down = True
    library.refresh()
    assert library.refreshed == 10.0
    store.down = False
    library.refresh()
    assert library.refreshed == 20.0


def test_an_unchanged_release_is_not_loaded_again() -> None:
    store = MemoryStore()
    library = library_over(store)
    put(store, {SURFACE: ONE})
    library.refresh()
    before = library.served[APPLICATION]
    assert library.refresh() == ()
    assert library.served[APPLICATION] is before


async def test_following_sees_a_deploy_and_ends_when_it_is_cancelled() -> None:
    store = MemoryStore()
    library = library_over(store)
    seen = asyncio.Event()

    def tell(changes: Iterable[Change]) -> None:
        if _said(changes) == {("serving", SURFACE)}:
            seen.set()

    following = asyncio.create_task(library.follow(every=0.01, tell=tell))
    put(store, {SURFACE: ONE})
    await asyncio.wait_for(seen.wait(), 5)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following


async def test_following_outlives_an_error_nobody_foresaw_and_tells_its_class_once() -> None:
    store = _FailingStore()
    library = library_over(store)
    told: list[Change] = []
    failed, seen = asyncio.Event(), asyncio.Event()

    def tell(changes: Iterable[Change]) -> None:
        told.extend(changes)
        (seen if store.surprise is None and told[-1].outcome == "serving" else failed).set()

    store.surprise = ValueError("s3cret-marker")
    following = asyncio.create_task(library.follow(every=0.01, tell=tell))
    await asyncio.wait_for(failed.wait(), 5)
    put(store, {SURFACE: ONE})
    store.surprise = None
    await asyncio.wait_for(seen.wait(), 5)
    following.cancel()
    assert [change.outcome for change in told] == ["unreadable", "serving"]
    assert "ValueError" in told[0].detail
    assert "s3cret-marker" not in told[0].detail
