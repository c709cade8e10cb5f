"""A deploy changes everything at once or nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from indexer.artefact import Artefact
from indexer.deploy import deploy
from indexer.errors import ActivationConflictError, ArtefactError, StoreError, StoreUnavailableError
from indexer.memory_store import MemoryStore
from indexer.release import Release
from surface.errors import ToolSurfaceError
from tests.indexer import samples
from tests.indexer.embedders import Interrupted, Listening
from tests.indexer.samples import EMBEDDER, NOW, artefact, catalog, release, tool


def now() -> datetime:
    return NOW


class LosingStore(MemoryStore):
    """Keeps what it is given, and gives back something else."""

    def load(self, application: str, surface: str, version: str) -> Artefact:
        found = super().load(application, surface, version)
        return Artefact(manifest=found.manifest, files={**found.files, "vectors.npy": b""})


class RacingStore(MemoryStore):
    """Another deploy becomes active just before ours, where there is one."""

    def __init__(self, winner: Artefact | None) -> None:
        super().__init__()
        self.winner = winner

    def activate(self, release: Release, **how: Any) -> None:
        if self.winner is not None:
            self.publish(self.winner, at=NOW)
            super().activate(samples.release(self.winner), **how)
        super().activate(release, **how)


def test_a_deploy_activates_one_version_for_each_surface() -> None:
    store = MemoryStore()
    result = deploy(catalog(reader=[tool("a"), tool("b")], writer=[tool("c")]), embedder=EMBEDDER, store=store, now=now)
    active = store.active("app")
    assert active is not None
    assert (active.id, active.deploy, sorted(active.surfaces)) == (result.release, "d1", ["reader", "writer"])
    assert result.previous is None
    assert [(one.surface, one.tools, one.change) for one in result.surfaces] == [
        ("reader", 2, "added"),
        ("writer", 1, "added"),
    ]
    for surface, released in active.surfaces.items():
        manifest = store.load("app", surface, released.version).manifest
        assert manifest.catalog_digest == released.catalog_digest


def test_the_same_catalog_again_changes_nothing() -> None:
    store = MemoryStore()
    first = deploy(catalog(reader=[tool("a"), tool("b")]), embedder=EMBEDDER, store=store, now=now)
    embedder = Listening()
    again = deploy(catalog(reader=[tool("b"), tool("a")]), embedder=embedder, store=store, now=now)
    assert again.unchanged
    assert not first.unchanged
    assert again.release == again.previous == first.release
    assert not embedder.batches


def test_an_edit_is_a_new_version_of_that_surface_only() -> None:
    store = MemoryStore()
    deploy(catalog(reader=[tool("a"), tool("b")], writer=[tool("c")]), embedder=EMBEDDER, store=store, now=now)
    embedder = Listening()
    edited = catalog(reader=[tool("a", "Edited."), tool("b")], writer=[tool("c")], deploy="d2")
    result = deploy(edited, embedder=embedder, store=store, now=now)
    assert [(one.surface, one.change) for one in result.surfaces] == [("reader", "changed"), ("writer", "unchanged")]
    assert embedder.asked == ["b\nDoes a thing.", "a\nEdited."]  # the first is a test of what is carried over
    assert (result.carried, result.embedded, result.distrusted) == (1, 1, 0)


def test_a_text_that_several_surfaces_hold_is_embedded_once() -> None:
    embedder = Listening()
    two = catalog(reader=[tool("a")], writer=[tool("a"), tool("b")])
    deploy(two, embedder=embedder, store=MemoryStore(), now=now)
    assert sorted(embedder.asked) == ["a\nDoes a thing.", "b\nDoes a thing."]


def test_a_tool_that_moves_to_another_surface_keeps_its_vector() -> None:
    store, embedder = MemoryStore(), Listening()
    deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now)
    result = deploy(catalog(writer=[tool("a")]), embedder=embedder, store=store, now=now)
    assert (result.carried, result.embedded) == (1, 0)
    assert result.removed == ("reader",)


def test_a_surface_absent_from_the_catalog_is_gone() -> None:
    store = MemoryStore()
    deploy(catalog(reader=[tool("a")], writer=[tool("b")]), embedder=EMBEDDER, store=store, now=now)
    result = deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now)
    active = store.active("app")
    assert active is not None
    assert list(active.surfaces) == ["reader"]
    assert result.removed == ("writer",)
    assert not result.unchanged


def test_applications_do_not_touch_each_other() -> None:
    store = MemoryStore()
    one = deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now)
    deploy(catalog(reader=[tool("b")], application="other"), embedder=EMBEDDER, store=store, now=now)
    active = store.active("app")
    assert active is not None
    assert active.id == one.release
    assert store.applications() == ("app", "other")


def test_an_interruption_leaves_what_is_served() -> None:
    store = MemoryStore()
    before = deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now)
    many = [tool(f"tool_{number}") for number in range(200)]
    with pytest.raises(KeyboardInterrupt):
        deploy(catalog(reader=many), embedder=Interrupted(), store=store, now=now)
    active = store.active("app")
    assert active is not None
    assert active.id == before.release


def test_a_version_that_does_not_come_back_as_it_went_in_is_not_activated() -> None:
    store = LosingStore()
    with pytest.raises(ArtefactError, match=r"vectors\.npy"):
        deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now)
    assert store.active("app") is None


def test_a_faster_deploy_of_something_else_is_a_conflict() -> None:
    winner = artefact("z")
    store = RacingStore(winner)
    with pytest.raises(ActivationConflictError, match="another deploy or switch was faster"):
        deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now)
    assert store.active("app") == release(winner)


def test_a_faster_deploy_of_the_same_is_none() -> None:
    twin = MemoryStore()
    deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=twin, now=now)
    same = twin.active("app")
    assert same is not None
    store = RacingStore(twin.load("app", "reader", same.surfaces["reader"].version))
    assert deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now).release == same.id


def test_a_release_that_was_active_already_and_is_not_any_more_is_a_conflict() -> None:
    store, wanted = RacingStore(None), catalog(reader=[tool("a")])
    deploy(wanted, embedder=EMBEDDER, store=store, now=now)
    store.winner = artefact("z")
    with pytest.raises(ActivationConflictError, match="another deploy or switch was faster"):
        deploy(wanted, embedder=EMBEDDER, store=store, now=now)


class ForgetfulStore(MemoryStore):
    """Loses a version once it is told to."""

    lost: str | None = None

    def publish(self, artefact_: Artefact, *, at: datetime) -> None:
        super().publish(artefact_, at=at)
        self.lost = None

    def load(self, application: str, surface: str, version: str) -> Artefact:
        if version == self.lost:
            raise StoreError("gone")
        return super().load(application, surface, version)


def test_a_version_that_was_lost_is_put_right() -> None:
    store = ForgetfulStore()
    first = deploy(catalog(reader=[tool("a")], writer=[tool("b")]), embedder=EMBEDDER, store=store, now=now)
    store.lost = first.surfaces[0].version
    result = deploy(catalog(reader=[tool("a")], writer=[tool("b")]), embedder=EMBEDDER, store=store, now=now)
    assert [one.change for one in result.surfaces] == ["repaired", "unchanged"]
    assert result.release == first.release
    assert not result.unchanged
    assert store.lost is None


def test_a_rebuild_takes_nothing_over_and_changes_nothing_where_all_was_right() -> None:
    store, tools = MemoryStore(), catalog(reader=[tool("a"), tool("b")])
    first = deploy(tools, embedder=EMBEDDER, store=store, now=now)
    embedder = Listening()
    again = deploy(tools, embedder=embedder, store=store, now=now, rebuild=True)
    assert sorted(embedder.asked) == ["a\nDoes a thing.", "b\nDoes a thing."]
    assert (again.embedded, again.carried) == (2, 0)
    assert again.unchanged
    assert again.release == first.release


def test_progress_is_one_for_all_surfaces_and_every_stage_ends() -> None:
    told: list[tuple[str, int, int]] = []
    deploy(
        catalog(reader=[tool("a")], writer=[tool("b")]),
        embedder=EMBEDDER,
        store=MemoryStore(),
        now=now,
        progress=lambda stage, done, total: told.append((stage, done, total)),
    )
    assert [stage for stage, done, total in told if done == total] == [
        "reading",
        "embedding",
        "building",
        "publishing",
        "activating",
    ]
    assert ("embedding", 2, 2) in told


class AwayStore(MemoryStore):
    """A store that goes away, once it is told to, while a deploy reads it."""

    going = away = False

    def load(self, application: str, surface: str, version: str) -> Artefact:
        if not self.going:
            return super().load(application, surface, version)
        self.away = True
        raise StoreError("the store is away")

    def active(self, application: str) -> Release | None:
        if self.away:
            raise StoreError("the store is away")
        return super().active(application)


class FullStore(MemoryStore):
    """A store without room."""

    def prepare(self, application: str, *, size: int) -> None:
        raise StoreError(f"{size} bytes are needed")


def test_a_store_that_goes_away_is_not_taken_for_one_that_lost_its_versions() -> None:
    store, embedder = AwayStore(), Listening()
    deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now)
    store.going = True
    with pytest.raises(StoreError, match="away"):
        deploy(catalog(reader=[tool("b")]), embedder=embedder, store=store, now=now)
    assert not embedder.batches


class ShardAwayStore(MemoryStore):
    """A store whose ledger answers, and the server of one copy does not, once it is told to."""

    away: str | None = None

    def load(self, application: str, surface: str, version: str) -> Artefact:
        if surface == self.away:
            raise StoreUnavailableError("the server of this copy is away")
        return super().load(application, surface, version)


def test_a_copy_that_is_away_is_not_taken_for_one_that_is_gone() -> None:
    store, embedder, both = ShardAwayStore(), Listening(), catalog(reader=[tool("a")], writer=[tool("b")])
    deploy(both, embedder=EMBEDDER, store=store, now=now)
    store.away = "reader"
    with pytest.raises(StoreUnavailableError):
        deploy(both, embedder=embedder, store=store, now=now)
    assert not embedder.batches


def test_a_store_that_cannot_be_written_is_found_before_anything_is_embedded() -> None:
    embedder = Listening()
    with pytest.raises(StoreError, match="64 bytes are needed"):
        deploy(catalog(reader=[tool("a")]), embedder=embedder, store=FullStore(), now=now)
    assert not embedder.batches


def test_a_dry_run_says_what_would_happen_and_writes_nothing() -> None:
    store = MemoryStore()
    before = deploy(catalog(reader=[tool("a")]), embedder=EMBEDDER, store=store, now=now)
    two = catalog(reader=[tool("a"), tool("b")], writer=[tool("c")], deploy="d2")
    dry = deploy(two, embedder=EMBEDDER, store=store, now=now, dry_run=True)
    assert dry.dry_run
    assert [(one.surface, one.change) for one in dry.surfaces] == [("reader", "changed"), ("writer", "added")]
    assert (dry.previous, dry.embedded, dry.carried) == (before.release, 2, 1)
    active = store.active("app")
    assert active is not None
    assert active.id == before.release
    assert len(store.ledger("app").versions) == 1
    assert deploy(two, embedder=EMBEDDER, store=store, now=now).release == dry.release


def test_every_error_is_one_of_toolsurface() -> None:
    assert all(issubclass(one, ToolSurfaceError) for one in (ArtefactError, StoreError, ActivationConflictError))
