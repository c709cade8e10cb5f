"""A store over a technology without locks clears away what a writer left, whoever overtakes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore, ObjectStore

from indexer.adapters.object_store import ObjectShelf
from indexer.errors import ActivationConflictError, StoreUnavailableError
from indexer.health import healths_of
from indexer.ledger import LATE_WRITER
from indexer.placed_store import PlacedStore
from indexer.shelf import Address, FoundLedger
from tests.indexer.healths import health_of
from tests.indexer.samples import NOW, artefact, release

PLACES = (f"{number:x}" for number in range(1_000_000))
ONE = artefact()


class Slow(ObjectShelf):
    """A shelf on which something happens in the middle of a write, and at its end."""

    def __init__(self, bucket: ObjectStore, *, meanwhile: Callable[[], object], after: Callable[[], object]) -> None:
        super().__init__(bucket, name="s3://slow")
        self._meanwhile, self._after = meanwhile, after

    def write(self, address: Address, files: Mapping[str, bytes]) -> None:
        names = sorted(files)
        super().write(address, {name: files[name] for name in names[:3]})
        self._meanwhile()
        super().write(address, {name: files[name] for name in names[3:]})
        self._after()


class Failing(ObjectShelf):
    """A shelf whose writes arrive and whose answers do not, and that counts its announcements."""

    announced = 0

    def write(self, address: Address, files: Mapping[str, bytes]) -> None:
        super().write(address, files)
        raise StoreUnavailableError("no answer")

    def announce(self, application: str) -> None:
        self.announced += 1


class Counting(ObjectShelf):
    """A shelf that counts what it is asked."""

    def __init__(self, bucket: ObjectStore) -> None:
        super().__init__(bucket, name="s3://counting")
        self.ledgers, self.looked_for, self.listed = Counter[str](), Counter[str](), 0

    def applications(self) -> tuple[str, ...]:
        self.listed += 1
        return super().applications()

    def read_ledger(self, application: str) -> FoundLedger:
        self.ledgers[application] += 1
        return super().read_ledger(application)

    def has_ledger(self, application: str) -> bool:
        self.looked_for[application] += 1
        return super().has_ledger(application)


def store_in(bucket: ObjectStore) -> PlacedStore:
    return PlacedStore(ObjectShelf(bucket, name="s3://bucket"), new_place=lambda: next(PLACES))


def objects(bucket: ObjectStore) -> list[str]:
    return sorted(one["path"] for found in obstore.list(bucket) for one in found)


def prune(bucket: ObjectStore, after: timedelta = timedelta(0)) -> None:
    store_in(bucket).prune("app", keep=1, unused_since=NOW + timedelta(minutes=1) + after)


def die() -> None:
    raise KeyboardInterrupt


def test_a_slow_writer_that_a_prune_overtakes_deletes_its_copy_and_writes_another() -> None:
    bucket, prunes = MemoryStore(), [lambda: prune(bucket)]
    shelf = Slow(bucket, meanwhile=lambda: prunes.pop()() if prunes else None, after=lambda: None)
    store = PlacedStore(shelf, new_place=lambda: next(PLACES))
    store.publish(ONE, at=NOW)
    store.activate(release(ONE), expected=None, at=NOW)
    assert store.load("app", "reader", ONE.version).files == ONE.files
    assert len(objects(bucket)) == 1 + len(ONE.files) + 1  # ledger and manifest
    prune(bucket, LATE_WRITER)
    assert store.ledger("app").leaving == ()
    assert store.load("app", "reader", ONE.version).files == ONE.files


def test_a_copy_that_a_prune_takes_from_a_writer_who_then_misses_it_is_written_again_and_no_failover_is_told() -> None:
    bucket, prunes = MemoryStore(), [lambda: prune(bucket)]

    def pruned_and_missed() -> None:
        if prunes:
            prunes.pop()()
            raise StoreUnavailableError("what was written is not there")

    shelf = Slow(bucket, meanwhile=lambda: None, after=pruned_and_missed)
    store = PlacedStore(shelf, new_place=lambda: next(PLACES))
    store.publish(ONE, at=NOW)
    assert store.load("app", "reader", ONE.version).files == ONE.files
    assert len(objects(bucket)) == 1 + len(ONE.files) + 1  # ledger and manifest


def test_a_slow_writer_that_a_prune_overtakes_and_that_dies_leaves_what_later_prunes_delete() -> None:
    bucket = MemoryStore()
    shelf = Slow(bucket, meanwhile=lambda: prune(bucket), after=die)
    with pytest.raises(KeyboardInterrupt):
        PlacedStore(shelf, new_place=lambda: next(PLACES)).publish(ONE, at=NOW)
    assert len(objects(bucket)) > 1
    prune(bucket, timedelta(minutes=1))
    assert objects(bucket) == ["applications/app/ledger.json"]
    assert len(store_in(bucket).ledger("app").leaving) == 1  # it might still write
    prune(bucket, LATE_WRITER)
    assert store_in(bucket).ledger("app").leaving == ()


def test_writes_that_fail_leave_no_copies_however_often_they_are_tried() -> None:
    bucket = MemoryStore()
    store = PlacedStore(Failing(bucket, name="s3://failing"), new_place=lambda: next(PLACES))
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match="no answer"):
            store.publish(ONE, at=NOW)
    assert objects(bucket) == ["applications/app/ledger.json"]
    assert store.ledger("app").writing == ()
    assert len(store.ledger("app").leaving) == 3  # what was on its way may still arrive
    prune(bucket, LATE_WRITER)
    assert store.ledger("app").leaving == ()


def test_an_activation_whose_answer_was_lost_is_announced_when_it_is_tried_again() -> None:
    bucket = MemoryStore()
    store_in(bucket).publish(ONE, at=NOW)
    store_in(bucket).activate(release(ONE), expected=None, at=NOW)
    shelf = Failing(bucket, name="s3://failing")
    with pytest.raises(ActivationConflictError):
        PlacedStore(shelf, new_place=lambda: next(PLACES)).activate(release(ONE), expected=None, at=NOW)
    assert shelf.announced == 1


@pytest.mark.parametrize("meanwhile", ["nothing", "another publishes"])
def test_a_prune_whose_answer_was_lost_tells_what_it_took(meanwhile: str) -> None:
    bucket, old = MemoryStore(), artefact("old")
    store = store_in(bucket)
    for one, before in ((old, None), (ONE, release(old).id)):
        store.publish(one, at=NOW)
        store.activate(release(one), expected=before, at=NOW)
    plan = store.ledger("app").pruned(keep=1, unused_since=NOW + LATE_WRITER)
    assert len(plan.releases) == len(plan.versions) == 1

    class Losing(ObjectShelf):
        lost = False

        def replace_ledger(self, application: str, data: bytes, *, tag: Any) -> bool:
            done = super().replace_ledger(application, data, tag=tag)
            if self.lost:
                return done
            self.lost = True
            if meanwhile == "another publishes":
                store_in(bucket).publish(artefact("new"), at=NOW + LATE_WRITER)
            return False  # as where the client asked again

    losing = PlacedStore(Losing(bucket, name="s3://losing"), new_place=lambda: next(PLACES))
    done = losing.prune("app", keep=1, unused_since=NOW + LATE_WRITER)
    assert (done.releases, done.versions) == (plan.releases, plan.versions)
    assert done.ledger.version("reader", old.version) is None


def test_a_copy_that_is_being_written_is_left_alone() -> None:
    bucket = MemoryStore()
    early = lambda: store_in(bucket).prune("app", keep=1, unused_since=NOW - timedelta(hours=1))  # noqa: E731
    store = PlacedStore(Slow(bucket, meanwhile=early, after=early), new_place=lambda: next(PLACES))
    store.publish(ONE, at=NOW)
    assert store.load("app", "reader", ONE.version).files == ONE.files
    assert len(objects(bucket)) == 1 + len(ONE.files) + 1


def test_lost_ledgers_are_looked_for_once_and_without_reading_any_and_never_for_what_is_served() -> None:
    bucket, lost = MemoryStore(), [f"lost-{number}" for number in range(5)]
    served = store_in(bucket)
    served.publish(ONE, at=NOW)
    served.activate(release(ONE), expected=None, at=NOW)
    for name in lost:
        obstore.put(bucket, f"applications/{name}/versions/reader/left", b"behind")
    shelf = Counting(bucket)
    store = PlacedStore(shelf, new_place=lambda: next(PLACES))
    assert store.without_ledger() == tuple(lost)
    assert (shelf.ledgers.total(), shelf.listed, set(shelf.looked_for.values())) == (0, 1, {1})
    assert [one.sound for one in healths_of(store)] == [True] + [False] * 5
    assert (shelf.listed, set(shelf.looked_for.values())) == (3, {2})
    assert [one.problem is not None for one in healths_of(store, lost)] == [True] * 5
    assert (shelf.listed, set(shelf.looked_for.values())) == (4, {3})
    assert health_of(store, "app").sound
    for _ in range(10):  # what a replica asks each time that it looks
        assert store.applications() == ("app",)
        assert store.active("app") == release(ONE)
    assert set(shelf.looked_for.values()) == {3}
