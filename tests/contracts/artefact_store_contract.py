"""What every `ArtefactStore` keeps: the promises in `indexer/ports.py`, run on each implementation.

A subclass named `Test…` brings three fixtures: `store`, an empty one; `twin`, another handle to the same store, as
another process would have it; and `damage`, which puts other bytes in the place of a file of a published version,
behind the store's back. A store outside this process brings a fourth, in `KeptLedger`: `rewrite`, which puts other
bytes in the place of the ledger of the application "app", or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from threading import Barrier
from typing import ClassVar

import pytest

from indexer.artefact import FILES, MANIFEST, Artefact
from indexer.errors import ActivationConflictError, ArtefactError, IndexerError, NotPublishedError, StoreError
from indexer.health import healths_of
from indexer.ports import ArtefactStore
from indexer.release import Release, ReleasedSurface
from indexer.sealed_ledger import sealed
from tests.indexer.healths import health_of
from tests.indexer.samples import NOW, artefact, release

Damage = Callable[[Artefact, str, bytes], None]
"""Told the version, the file's name, and what becomes of its bytes."""
Rewrite = Callable[[Callable[[bytes], bytes | None]], None]
"""Told what becomes of the ledger's bytes; None: they are gone."""


def becoming(data: bytes | None) -> Callable[[bytes], bytes | None]:
    """Whatever stood there becomes this."""
    return lambda _: data


def damages(data: bytes, *, places: int) -> Iterator[bytes]:
    """A bit changed in every byte, or in so many of them, the first and the last among them; cuts; a byte more."""
    size, edge = len(data), places // 4
    spread = range(edge, size - edge, max(1, (size - 2 * edge) // (places - 2 * edge)))
    for at in range(size) if size <= places else (*range(edge), *spread, *range(size - edge, size)):
        yield data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
    yield from (data[:-1], data[: size // 2], b"", data + b"\0")


def loaded(store: ArtefactStore, one: Artefact) -> Artefact:
    return store.load(one.manifest.application, one.manifest.surface, one.version)


def later(minutes: int) -> datetime:
    return NOW + timedelta(minutes=minutes)


def deployed(store: ArtefactStore, one: Artefact, *, at: datetime) -> str:
    """Publishes and activates a version; the id of its release."""
    active = store.active(one.manifest.application)
    store.publish(one, at=at)
    store.activate(release(one), expected=active.id if active else None, at=at)
    return release(one).id


def kept(store: ArtefactStore) -> set[str]:
    return {one.version for one in store.ledger("app").versions}


class ArtefactStoreContract:
    """Subclass this, and bring the fixtures."""

    damaged_places: ClassVar[int] = 600
    """In how many bytes of each file of a version damage is tried, and of a ledger; fewer where a try takes long."""

    def test_an_empty_store_serves_nothing(self, store: ArtefactStore) -> None:
        assert store.active("app") is None
        assert store.applications() == ()

    def test_preparing_changes_nothing_that_anybody_reads(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        store.prepare("app", size=1_000)
        assert twin.applications() == ()
        assert twin.ledger("app") == store.ledger("app")
        assert twin.active("app") is None
        twin.prepare("app", size=1_000)
        store.publish(artefact(), at=NOW)

    def test_a_published_version_comes_back_byte_for_byte(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        found = loaded(twin, one)
        assert found.manifest == one.manifest
        assert found.files == one.files
        assert found.version == one.version

    def test_publishing_alone_activates_nothing(self, store: ArtefactStore) -> None:
        store.publish(artefact(), at=NOW)
        assert store.active("app") is None
        assert store.applications() == ()

    def test_publishing_the_same_version_again_does_nothing(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        one = artefact()
        for each in (store, twin, store):
            each.publish(one, at=NOW)
        assert loaded(store, one).files == one.files

    @pytest.mark.parametrize("name", sorted(FILES))
    def test_a_version_with_a_damaged_file_is_refused(self, store: ArtefactStore, damage: Damage, name: str) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        for data in damages(one.files[name], places=self.damaged_places):
            damage(one, name, data)
            with pytest.raises(ArtefactError, match=name):
                loaded(store, one)
        damage(one, name, one.files[name])
        assert loaded(store, one).files == one.files

    def test_publishing_again_puts_a_damaged_version_right(self, store: ArtefactStore, damage: Damage) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        damage(one, "vectors.npy", one.files["vectors.npy"][:-1] + b"?")
        store.publish(one, at=NOW)
        assert loaded(store, one).files == one.files

    def test_a_version_damaged_before_it_is_published_is_refused(self, store: ArtefactStore) -> None:
        one = artefact()
        with pytest.raises(ArtefactError, match=r"names\.json"):
            store.publish(Artefact(manifest=one.manifest, files={**one.files, "names.json": b"[]"}), at=NOW)
        with pytest.raises(StoreError):
            loaded(store, one)

    def test_what_was_never_published_is_not_there(self, store: ArtefactStore) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        for place in (("app", "reader", "0" * 32), ("app", "writer", one.version), ("other", "reader", one.version)):
            with pytest.raises(StoreError):
                store.load(*place)

    @pytest.mark.parametrize(
        "place",
        [
            ("app", "reader", "../../../etc"),
            ("app", "reader", ""),
            ("app", "reader", "."),
            ("app", "reader", "0" * 31 + "/"),
            ("app", "reader", "0" * 32 + "\n"),
            ("app", "a/b", "0" * 32),
            ("..", "..", "0" * 32),
            ("", "reader", "0" * 32),
            ("a\0b", "reader", "0" * 32),
        ],
    )
    def test_a_place_that_cannot_be_is_a_store_error(self, store: ArtefactStore, place: tuple[str, str, str]) -> None:
        with pytest.raises(StoreError):
            store.load(*place)

    @pytest.mark.parametrize("key", [".", "..", ".hidden", "-", "a.b", "x" * 64])
    def test_any_valid_key_may_name_an_application_and_a_surface(
        self, store: ArtefactStore, twin: ArtefactStore, key: str
    ) -> None:
        one = artefact(application=key, surface=key)
        store.publish(one, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
        assert loaded(twin, one).files == one.files
        assert twin.active(key) == release(one)
        assert twin.applications() == (key,)

    def test_an_activated_release_is_what_everybody_sees(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        one, other = artefact(), artefact(surface="writer")
        for each in (one, other):
            store.publish(each, at=NOW)
        store.activate(release(one, other), expected=None, at=NOW)
        active = twin.active("app")
        assert active == release(one, other)
        assert active is not None
        assert active.id == release(one, other).id
        assert twin.applications() == ("app",)

    def test_a_release_of_versions_that_are_not_there_is_refused(self, store: ArtefactStore) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        absent = ReleasedSurface(version="0" * 32, catalog_digest="0" * 32)
        half = release(one).model_copy(update={"surfaces": {**release(one).surfaces, "writer": absent}})
        with pytest.raises(NotPublishedError, match="so its release is not activated") as caught:
            store.activate(half, expected=None, at=NOW)
        assert caught.value.missing == (("writer", "0" * 32),)
        assert store.active("app") is None

    def test_an_activation_against_another_release_changes_nothing(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        one, other = artefact("a"), artefact("b")
        for each in (one, other):
            store.publish(each, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
        for expected in (None, release(other).id, "nonsense"):
            with pytest.raises(ActivationConflictError) as caught:
                twin.activate(release(other), expected=expected, at=NOW)
            assert caught.value.found == release(one).id
        assert store.active("app") == release(one)
        twin.activate(release(other), expected=release(one).id, at=NOW)
        assert store.active("app") == release(other)

    def test_of_simultaneous_activations_one_wins_and_the_others_are_told(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        candidates = [artefact(f"tool_{number}") for number in range(8)]
        for each in candidates:
            store.publish(each, at=NOW)
        together = Barrier(len(candidates))

        def activate(at: int) -> Release | None:
            mine = release(candidates[at])
            together.wait(60)
            try:
                (store, twin)[at % 2].activate(mine, expected=None, at=NOW)
            except ActivationConflictError:
                return None
            return mine

        with ThreadPoolExecutor(len(candidates)) as pool:
            winners = [won for won in pool.map(activate, range(len(candidates))) if won is not None]
        assert len(winners) == 1
        assert store.active("app") == winners[0]

    def test_readers_see_the_old_release_or_the_new_one_and_never_half(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        candidates = [artefact(f"tool_{number}") for number in range(6)]
        known = {release(each).id for each in candidates}
        store.publish(candidates[0], at=NOW)
        store.activate(release(candidates[0]), expected=None, at=NOW)
        done = Barrier(2)
        seen: set[str] = set()

        def read() -> None:
            while not done.broken:
                active = twin.active("app")
                assert active is not None
                seen.add(active.id)
                twin.load("app", "reader", active.surfaces["reader"].version)

        with ThreadPoolExecutor(2) as pool:
            reading = pool.submit(read)
            try:
                for before, after in pairwise(candidates):
                    store.publish(after, at=NOW)
                    store.activate(release(after), expected=release(before).id, at=NOW)
            finally:
                done.abort()
            reading.result(60)
        assert seen <= known

    def test_simultaneous_publishing_of_one_version_keeps_it_whole(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        one = artefact()
        with ThreadPoolExecutor(4) as pool:
            for published in [pool.submit(each.publish, one, at=NOW) for each in (store, twin) * 4]:
                published.result(60)
        assert loaded(store, one).files == one.files

    def test_every_refusal_is_an_indexer_error(self, store: ArtefactStore) -> None:
        with pytest.raises(IndexerError):
            loaded(store, artefact())

    def test_the_history_tells_which_release_was_active_when(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        assert store.ledger("app").activations == ()
        first = deployed(store, artefact("a"), at=later(0).astimezone(timezone(timedelta(hours=5))))
        second = deployed(twin, artefact("b"), at=later(1))
        store.activate(release(artefact("a")), expected=second, at=later(2))
        ledger = twin.ledger("app")
        assert [(one.release, one.at) for one in ledger.activations] == [
            (first, later(0)),
            (second, later(1)),
            (first, later(2)),
        ]
        assert {one.deploy for one in ledger.activations} == {"d1"}
        assert [one.id for one in ledger.releases] == [first, second]
        assert ledger.active == store.active("app") == ledger.release(first) == release(artefact("a"))

    def test_a_clock_that_jumps_back_changes_no_order(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        first = deployed(store, artefact("a"), at=later(0))
        second = deployed(store, artefact("b"), at=later(-10_000))
        assert [one.release for one in twin.ledger("app").activations] == [first, second]
        active = twin.active("app")
        assert active is not None
        assert active.id == second

    def test_activating_what_is_active_adds_no_line(self, store: ArtefactStore) -> None:
        first = deployed(store, artefact("a"), at=later(0))
        store.activate(release(artefact("a")), expected=first, at=later(1))
        assert [one.at for one in store.ledger("app").activations] == [later(0)]

    def test_a_moment_without_a_time_zone_is_a_programming_error(self, store: ArtefactStore) -> None:
        with pytest.raises(ValueError, match="time zone"):
            store.publish(artefact(), at=datetime(2026, 12, 2))  # noqa: DTZ001 - that is the point
        assert store.ledger("app").versions == ()

    def test_the_ledger_lists_what_is_published_and_how_large_it_is(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        one, other = artefact("a"), artefact("b", surface="writer")
        for each in (one, other):
            store.publish(each, at=later(0))
        twin.publish(one, at=later(5))
        assert [(each.surface, each.version, each.published, each.size) for each in store.ledger("app").versions] == [
            ("reader", one.version, later(5), sum(map(len, one.files.values()))),
            ("writer", other.version, later(0), sum(map(len, other.files.values()))),
        ]

    def test_pruning_keeps_the_releases_asked_for_and_every_version_they_name(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        versions = [artefact(f"tool_{number}") for number in range(4)]
        ids = [deployed(store, one, at=later(at)) for at, one in enumerate(versions)]
        store.activate(release(versions[0]), expected=ids[3], at=later(4))
        plan = store.ledger("app").pruned(keep=2, unused_since=later(60))
        done = twin.prune("app", keep=2, unused_since=later(60))
        assert done == plan
        assert set(done.releases) == {ids[1], ids[2]}
        assert {one.version for one in done.versions} == {versions[1].version, versions[2].version}
        assert done.size == sum(len(data) for one in versions[1:3] for data in one.files.values())
        for each in (store, twin):
            assert kept(each) == {versions[0].version, versions[3].version}
            for at, one in enumerate(versions):
                if at in (0, 3):
                    assert loaded(each, one).files == one.files
                else:
                    with pytest.raises(StoreError):
                        loaded(each, one)
        assert [one.release for one in store.ledger("app").activations] == [*ids, ids[0]]
        assert store.ledger("app").release(ids[1]) is None

    def test_pruning_again_does_nothing(self, store: ArtefactStore) -> None:
        for at in range(3):
            deployed(store, artefact(f"tool_{at}"), at=later(at))
        store.prune("app", keep=1, unused_since=later(60))
        again = store.prune("app", keep=1, unused_since=later(60))
        assert (again.releases, again.versions, again.size) == ((), (), 0)
        assert again.ledger == store.ledger("app")

    def test_pruning_needs_to_keep_the_active_release(self, store: ArtefactStore) -> None:
        with pytest.raises(ValueError, match="keep"):
            store.prune("app", keep=0, unused_since=later(0))

    def test_there_is_nothing_to_prune_in_an_empty_store(self, store: ArtefactStore) -> None:
        assert store.prune("app", keep=1, unused_since=later(0)).versions == ()
        assert store.applications() == ()

    def test_pruning_one_application_leaves_the_others(self, store: ArtefactStore) -> None:
        mine, other = artefact("a"), artefact("a", application="other")
        for each in (mine, other):
            store.publish(each, at=later(0))
        store.prune("app", keep=1, unused_since=later(60))
        assert kept(store) == set()
        assert loaded(store, other).files == other.files

    def test_a_version_that_a_deploy_is_about_to_activate_is_not_pruned(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        old, new = artefact("old"), artefact("new")
        deployed(store, old, at=later(0))
        deployed(store, artefact("between"), at=later(1))
        for each in (new, old):  # the old one again: published a second time, and so in use
            store.publish(each, at=later(30))
        gone = twin.prune("app", keep=1, unused_since=later(20))
        assert gone.versions == ()
        for each in (new, old):
            active = store.active("app")
            store.activate(release(each), expected=active.id if active else None, at=later(31))
            assert loaded(twin, each).files == each.files

    def test_a_release_whose_version_was_pruned_is_refused_and_publishing_again_mends_it(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        active, late = deployed(store, artefact("a"), at=later(0)), artefact("late")
        store.publish(late, at=later(0))
        twin.prune("app", keep=1, unused_since=later(60))
        with pytest.raises(NotPublishedError) as caught:
            store.activate(release(late), expected=active, at=later(61))
        assert caught.value.missing == (("reader", late.version),)
        deployed(store, late, at=later(62))
        assert loaded(twin, late).files == late.files

    def test_pruning_while_others_deploy_leaves_what_is_active_whole(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        candidates = [artefact(f"tool_{number}") for number in range(6)]
        deployed(store, candidates[0], at=later(0))
        with ThreadPoolExecutor(1) as pool:
            for after in candidates[1:]:
                pruning = pool.submit(twin.prune, "app", keep=1, unused_since=later(60))  # as eager as can be
                try:
                    deployed(store, after, at=later(0))
                except NotPublishedError:  # pruned before it was activated
                    deployed(store, after, at=later(0))
                pruning.result(60)
                assert loaded(store, after).files == after.files
        store.prune("app", keep=1, unused_since=later(60))
        assert kept(store) == {candidates[-1].version}

    def test_a_reader_of_a_version_that_is_pruned_gets_all_of_it_or_is_told_that_it_is_gone(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        one = artefact()
        done = Barrier(2)

        def read() -> int:
            whole = 0
            while not done.broken:
                try:
                    whole += loaded(twin, one).files == one.files
                except StoreError:
                    continue
            return whole

        with ThreadPoolExecutor(2) as pool:
            reading = pool.submit(read)
            try:
                for _ in range(5):
                    store.publish(one, at=later(0))
                    assert loaded(store, one).files == one.files
                    store.prune("app", keep=1, unused_since=later(60))
            finally:
                done.abort()
            assert reading.result(60) >= 0

    def test_waiting_for_nothing_ends_in_time(self, store: ArtefactStore) -> None:
        store.wait_for_change(0.01)


class KeptLedger:
    """For stores that keep ledgers and manifests as bytes: subclass this too."""

    damaged_places: ClassVar[int]

    def test_a_version_with_a_damaged_manifest_is_refused(self, store: ArtefactStore, damage: Damage) -> None:
        one = artefact()
        whole = one.manifest.to_bytes()
        store.publish(one, at=NOW)
        for data in (*damages(whole, places=self.damaged_places), whole.replace(b",", b", ", 1)):
            damage(one, MANIFEST, data)
            with pytest.raises(ArtefactError):
                loaded(store, one)
        damage(one, MANIFEST, whole)
        assert loaded(store, one).files == one.files

    def test_damage_anywhere_in_a_ledger_is_found(self, store: ArtefactStore, rewrite: Rewrite) -> None:
        store.publish(artefact(), at=NOW)
        store.activate(release(artefact(), deploy="2026-12-02.17"), expected=None, at=NOW)
        assert health_of(store, "app").sound
        whole = sealed(store.ledger("app"))
        rewrite(lambda data: data if data == whole else None)
        assert health_of(store, "app").sound
        renamed = whole.replace(b"2026-12-02.17", b"2026-12-02.18")
        for data in (*damages(whole, places=self.damaged_places), renamed, b"{}", b'{"application":"app"}'):
            rewrite(becoming(data))
            assert not health_of(store, "app").sound, data
            with pytest.raises(ArtefactError):
                store.active("app")
        assert [one.application for one in healths_of(store)] == ["app"]
        rewrite(becoming(whole))
        assert health_of(store, "app").sound

    @pytest.mark.parametrize("left", [None, b""])
    def test_a_ledger_that_is_lost_or_empty_is_found(
        self, store: ArtefactStore, twin: ArtefactStore, rewrite: Rewrite, left: bytes | None
    ) -> None:
        deployed(store, artefact(), at=NOW)
        assert store.without_ledger() == ()
        rewrite(becoming(left))
        assert [one.application for one in healths_of(twin)] == ["app"]
        health = health_of(twin, "app", all_releases=True)
        assert not health.sound
        assert (twin.without_ledger() == ("app",)) == (left is None)
        if left is None:
            assert "deploy again" in (health.problem or "")
            deployed(twin, artefact(), at=NOW)
            assert store.without_ledger() == ()
            assert health_of(store, "app").sound


class ActivationHints:
    """For stores that tell of an activation: subclass this too."""

    def test_waiting_ends_soon_after_an_activation(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(twin.wait_for_change, 30.0)
            number = 0
            while not waiting.done():  # whoever begins to wait too late sees the next one
                number += 1
                mine = release(one, deploy=f"d{number}")
                active = store.active("app")
                store.activate(mine, expected=active.id if active else None, at=NOW)
                wait([waiting], timeout=0.05)
            waiting.result(60)
        assert number < 100
