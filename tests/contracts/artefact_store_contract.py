"""What every `ArtefactStore` keeps: the promises in `indexer/ports.py`, run on each implementation.

A subclass named `Test…` brings three fixtures: `store`, an empty one; `twin`, another handle to the same store, as
another process would have it; and `damage`, which changes one byte of a file of a published version behind the
store's back.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier

import pytest

from indexer.artefact import FILES, Artefact
from indexer.errors import ActivationConflictError, ArtefactError, IndexerError, StoreError
from indexer.ports import ArtefactStore
from indexer.release import Release, ReleasedSurface
from tests.indexer.samples import artefact, release

Damage = Callable[[Artefact, str], None]


def damaged(data: bytes) -> bytes:
    """The same bytes but the last one."""
    return data[:-1] + bytes([data[-1] ^ 1])


def loaded(store: ArtefactStore, one: Artefact) -> Artefact:
    return store.load(one.manifest.application, one.manifest.surface, one.version)


class ArtefactStoreContract:
    """Subclass this, and bring the fixtures."""

    def test_an_empty_store_serves_nothing(self, store: ArtefactStore) -> None:
        assert store.active("app") is None
        assert store.applications() == ()

    def test_a_published_version_comes_back_byte_for_byte(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        one = artefact()
        store.publish(one)
        found = loaded(twin, one)
        assert found.manifest == one.manifest
        assert found.files == one.files
        assert found.version == one.version

    def test_publishing_alone_activates_nothing(self, store: ArtefactStore) -> None:
        store.publish(artefact())
        assert store.active("app") is None
        assert store.applications() == ()

    def test_publishing_the_same_version_again_does_nothing(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        one = artefact()
        for each in (store, twin, store):
            each.publish(one)
        assert loaded(store, one).files == one.files

    @pytest.mark.parametrize("name", sorted(FILES))
    def test_a_damaged_version_is_refused(self, store: ArtefactStore, damage: Damage, name: str) -> None:
        one = artefact()
        store.publish(one)
        damage(one, name)
        with pytest.raises(ArtefactError, match=name):
            loaded(store, one)

    def test_publishing_again_puts_a_damaged_version_right(self, store: ArtefactStore, damage: Damage) -> None:
        one = artefact()
        store.publish(one)
        damage(one, "vectors.npy")
        store.publish(one)
        assert loaded(store, one).files == one.files

    def test_a_version_damaged_before_it_is_published_is_refused(self, store: ArtefactStore) -> None:
        one = artefact()
        with pytest.raises(ArtefactError, match=r"names\.json"):
            store.publish(Artefact(manifest=one.manifest, files={**one.files, "names.json": b"[]"}))
        with pytest.raises(StoreError):
            loaded(store, one)

    def test_what_was_never_published_is_not_there(self, store: ArtefactStore) -> None:
        one = artefact()
        store.publish(one)
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
        store.publish(one)
        store.activate(release(one), expected=None)
        assert loaded(twin, one).files == one.files
        assert twin.active(key) == release(one)
        assert twin.applications() == (key,)

    def test_an_activated_release_is_what_everybody_sees(self, store: ArtefactStore, twin: ArtefactStore) -> None:
        one, other = artefact(), artefact(surface="writer")
        for each in (one, other):
            store.publish(each)
        store.activate(release(one, other), expected=None)
        active = twin.active("app")
        assert active == release(one, other)
        assert active is not None
        assert active.id == release(one, other).id
        assert twin.applications() == ("app",)

    def test_a_release_of_versions_that_are_not_there_is_refused(self, store: ArtefactStore) -> None:
        one = artefact()
        store.publish(one)
        absent = ReleasedSurface(version="0" * 32, catalog_digest="0" * 32)
        half = release(one).model_copy(update={"surfaces": {**release(one).surfaces, "writer": absent}})
        with pytest.raises(StoreError, match="publish"):
            store.activate(half, expected=None)
        assert store.active("app") is None

    def test_an_activation_against_another_release_changes_nothing(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        one, other = artefact("a"), artefact("b")
        for each in (one, other):
            store.publish(each)
        store.activate(release(one), expected=None)
        for expected in (None, release(other).id, "nonsense"):
            with pytest.raises(ActivationConflictError) as caught:
                twin.activate(release(other), expected=expected)
            assert caught.value.found == release(one).id
        assert store.active("app") == release(one)
        twin.activate(release(other), expected=release(one).id)
        assert store.active("app") == release(other)

    def test_of_simultaneous_activations_one_wins_and_the_others_are_told(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        candidates = [artefact(f"tool_{number}") for number in range(8)]
        for each in candidates:
            store.publish(each)
        together = Barrier(len(candidates))

        def activate(at: int) -> Release | None:
            mine = release(candidates[at])
            together.wait()
            try:
                (store, twin)[at % 2].activate(mine, expected=None)
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
        store.publish(candidates[0])
        store.activate(release(candidates[0]), expected=None)
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
                    store.publish(after)
                    store.activate(release(after), expected=release(before).id)
            finally:
                done.abort()
            reading.result()
        assert seen <= known

    def test_simultaneous_publishing_of_one_version_keeps_it_whole(
        self, store: ArtefactStore, twin: ArtefactStore
    ) -> None:
        one = artefact()
        with ThreadPoolExecutor(4) as pool:
            for published in [pool.submit(each.publish, one) for each in (store, twin) * 4]:
                published.result()
        assert loaded(store, one).files == one.files

    def test_every_refusal_is_an_indexer_error(self, store: ArtefactStore) -> None:
        with pytest.raises(IndexerError):
            loaded(store, artefact())
