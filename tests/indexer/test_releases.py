"""Going back and forth, where the answer of the store is lost or somebody else is faster."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from indexer.artefact import Artefact
from indexer.errors import ActivationConflictError, IndexerError
from indexer.memory_store import MemoryStore
from indexer.release import Release, ReleasedSurface
from indexer.releases import previous_release, switch
from tests.indexer import samples
from tests.indexer.samples import NOW, artefact, release
from tests.indexer.uploads import Uploads


def now() -> datetime:
    return NOW


class _StoreOfTwo(MemoryStore):
    """Two releases of one application, the second one active."""

    def __init__(self, first: Artefact, second: Artefact) -> None:
        super().__init__()
        expected: str | None = None
        for one in (first, second):
            self.publish(one, at=NOW)
            MemoryStore.activate(self, release(one), expected=expected, at=NOW)
            expected = release(one).id


class _AnswerLost(_StoreOfTwo):
    """The client tries a compare-and-swap again whose answer was lost."""

    def activate(self, release: Release, **how: Any) -> None:
        super().activate(release, **how)
        super().activate(release, **how)


class _AnotherWasFaster(_StoreOfTwo):
    """A third release becomes active just before ours."""

    def activate(self, release: Release, **how: Any) -> None:
        third = artefact("third")
        self.publish(third, at=NOW)
        super().activate(samples.release(third), **how)
        super().activate(release, **how)


def test_going_back_has_succeeded_where_only_the_answer_was_lost() -> None:
    first, second = artefact("first"), artefact("second")
    store = _AnswerLost(first, second)
    ledger = store.ledger("app")
    switched = switch(store, ledger, previous_release(ledger), now=now)
    assert (switched.release.id, switched.previous) == (release(first).id, release(second).id)
    assert store.active("app") == release(first)


def test_activating_what_is_active_uploads_its_vectors_again_where_replicas_hold_none() -> None:
    one, other = artefact(surface="reader"), artefact(surface="writer")
    store, uploads = MemoryStore(), Uploads()
    for each in (one, other):
        store.publish(each, at=NOW)
    store.activate(release(one, other), expected=None, at=NOW)
    assert switch(store, store.ledger("app"), release(one, other), now=now, vectors=uploads).unchanged
    assert uploads.surfaces == ["reader", "writer"]


def test_going_back_is_refused_where_another_release_was_faster() -> None:
    store = _AnotherWasFaster(artefact("first"), artefact("second"))
    ledger = store.ledger("app")
    with pytest.raises(ActivationConflictError, match="another deploy or switch was faster"):
        switch(store, ledger, previous_release(ledger), now=now)
    assert store.active("app") == release(artefact("third"))


def test_what_is_wrong_with_a_version_of_a_kept_release_is_not_mended_by_deploying_the_active_catalog() -> None:
    """So nothing says so: what is said names the catalog that the version came from."""
    store = MemoryStore()
    one, other = artefact("one"), artefact("other")
    for each in (one, other):
        store.publish(each, at=NOW)
    foreign = {"reader": ReleasedSurface(version=one.version, catalog_digest="0" * 32)}
    wrong = release(one).model_copy(update={"surfaces": foreign})
    absent = release(artefact("absent"))
    told = [str(each.value) for each in (refused(store, wrong), refused(store, absent))]
    assert "was built from another catalog than the release says" in told[0]
    assert "is not in the store" in told[1]
    assert all(each.endswith("; deploy the catalog it came from again") for each in told)


def refused(store: MemoryStore, wanted: Release) -> pytest.ExceptionInfo[IndexerError]:
    with pytest.raises(IndexerError) as caught:
        switch(store, store.ledger("app"), wanted, now=now)
    return caught


def test_who_was_not_the_fastest_is_told_to_look_and_try_again_whatever_it_was_that_was_tried() -> None:
    for expected in (None, "1" * 32):
        told = str(ActivationConflictError(application="app", expected=expected, found="1" * 32))
        assert "see status, and try again" in told
        assert "deploy again" not in told
