"""A store's health is told from what is read of it, each version once."""

from __future__ import annotations

from collections import Counter

from indexer.artefact import Artefact
from indexer.health import healths_of
from indexer.memory_store import MemoryStore
from indexer.release import ReleasedSurface
from tests.indexer.samples import NOW, artefact, release


class Counting(MemoryStore):
    """Counts what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = Counter[str]()

    def load(self, application: str, surface: str, version: str) -> Artefact:
        self.loads[version] += 1
        return super().load(application, surface, version)


def test_a_version_that_several_kept_releases_share_is_read_once() -> None:
    store, shared = Counting(), artefact("kept", surface="writer")
    own = [artefact(f"tool_{number}") for number in range(3)]
    for one in (shared, *own):
        store.publish(one, at=NOW)
    for one in own:
        active = store.active("app")
        store.activate(release(one, shared), expected=active.id if active else None, at=NOW)
    (health,) = healths_of(store, all_releases=True)
    assert health.sound
    assert [[each.surface for each in one.surfaces] for one in health.releases] == [["reader", "writer"]] * 3
    assert [one.surfaces[0].version for one in health.releases] == [one.version for one in reversed(own)]
    assert store.loads == dict.fromkeys([shared.version, *(one.version for one in own)], 1)


def test_one_version_under_another_catalog_is_judged_by_itself() -> None:
    store, one = MemoryStore(), artefact()
    store.publish(one, at=NOW)
    other = ReleasedSurface(version=one.version, catalog_digest="0" * 32)
    wrong = release(one).model_copy(update={"surfaces": {"reader": other}})
    store.activate(release(one), expected=None, at=NOW)
    store.activate(wrong, expected=release(one).id, at=NOW)
    (health,) = healths_of(store, all_releases=True)
    assert [one.sound for one in health.releases] == [False, True]
