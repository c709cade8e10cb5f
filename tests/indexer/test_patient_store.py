"""A store that is away is waited for, long enough and not for ever."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import count, pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tenacity import RetryCallState, Retrying

from indexer.adapters.faiss_index import FaissVectorIndex
from indexer.adapters.patient_store import BETWEEN, WAIT_S, GivingUp, PatientStore, PatientVectors
from indexer.artefact import IndexManifest
from indexer.errors import ActivationConflictError, StoreError, StoreUnavailableError
from indexer.memory_store import MemoryStore
from indexer.ports import VectorIndex
from indexer.release import Release
from indexer.releases import make_active
from tests.indexer.samples import NOW, artefact, release


def tries(each_takes_s: float, *, first_s: float | None = None) -> list[float]:
    """When each try of one call begins, in seconds, where all of them fail after so long."""
    state, starts, giving_up = RetryCallState(Retrying(), None, (), {}), [0.0], GivingUp(WAIT_S)
    for number in count(1):
        state.attempt_number, state.start_time = number, 0.0
        state.outcome_timestamp = starts[-1] + (first_s if first_s is not None and number == 1 else each_takes_s)
        state.upcoming_sleep = BETWEEN(state)
        if giving_up(state):
            return starts
        starts.append(state.outcome_timestamp + state.upcoming_sleep)
    raise AssertionError


@pytest.mark.parametrize("each_takes_s", [0.0, 0.3, 5.0, 20.0, 42.0, 60.0])
def test_the_usual_budget_outlasts_a_store_that_is_away_for_30_seconds(each_takes_s: float) -> None:
    starts = tries(each_takes_s)
    assert 30 <= starts[-1] <= WAIT_S + each_takes_s
    assert max(after - before for before, after in pairwise(starts)) <= each_takes_s + 5.001


def test_an_upload_that_fails_after_minutes_is_tried_again_for_as_long_as_any_other_call() -> None:
    starts = tries(0.3, first_s=300.0)
    assert [start - 300 for start in starts[1:]] == pytest.approx([start - 0.3 for start in tries(0.3)[1:]])


class Leaving(MemoryStore):
    """Does what it is asked, and fails to say so for a number of times."""

    def __init__(self, times: int, error: type[StoreError] = StoreUnavailableError) -> None:
        super().__init__()
        self.left, self._error = times, error
        self.meanwhile: Callable[[], None] = lambda: None

    def activate(self, release: Release, **how: Any) -> None:
        super().activate(release, **how)
        self.left -= 1
        if self.left >= 0:
            self.meanwhile()
            raise self._error("no answer")


def test_an_activation_whose_answer_is_lost_is_found_to_have_happened() -> None:
    store, one, said = Leaving(1), artefact(), list[str]()
    store.publish(one, at=NOW)
    make_active(PatientStore(store, tell=said.append), release(one), expected=None, at=NOW)
    assert store.active("app") == release(one)
    assert len(store.ledger("app").activations) == 1
    assert said == ["no answer; waiting for it, up to 120 s"]


def test_an_activation_whose_answer_is_lost_does_not_undo_that_somebody_went_back_meanwhile() -> None:
    store, old, new = Leaving(0), artefact("old"), artefact("new")
    for one in (old, new):
        store.publish(one, at=NOW)
    store.activate(release(old), expected=None, at=NOW)
    store.left = 1
    store.meanwhile = lambda: MemoryStore.activate(store, release(old), expected=release(new).id, at=NOW)
    with pytest.raises(ActivationConflictError, match="is active again, after others were in between"):
        make_active(PatientStore(store), release(new), expected=release(old).id, at=NOW)
    assert store.active("app") == release(old)
    assert [line.release for line in store.ledger("app").activations] == [release(one).id for one in (old, new, old)]


def test_what_does_not_mend_itself_is_not_waited_for() -> None:
    store, one = Leaving(1, StoreError), artefact()
    store.publish(one, at=NOW)
    with pytest.raises(StoreError, match="no answer"):
        PatientStore(store).activate(release(one), expected=None, at=NOW)
    assert store.left == 0


def test_no_patience_is_one_try() -> None:
    store, one = Leaving(5), artefact()
    store.publish(one, at=NOW)
    with pytest.raises(StoreUnavailableError, match="no answer"):
        PatientStore(store, wait_s=0).activate(release(one), expected=None, at=NOW)
    assert store.left == 4


class LeavingVectors:
    """Fails to answer every first time it is asked something."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def _answer(self, question: str) -> None:
        self.asked.append(question)
        if self.asked.count(question) == 1:
            raise StoreUnavailableError("no answer")

    def prepare(self, application: str) -> None:
        self._answer(f"prepare {application}")

    def upload(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> None:
        self._answer(f"upload {manifest.surface} {len(vectors)}")

    def index_of(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> VectorIndex:
        self._answer(f"index_of {manifest.surface}")
        return FaissVectorIndex(vectors)

    def prune(
        self, application: str, *, kept: Callable[[], Collection[tuple[str, str]]]
    ) -> tuple[tuple[str, str], ...]:
        self._answer(f"prune {application}")
        return tuple(kept())


def test_the_place_of_vectors_is_waited_for_whatever_it_is_asked() -> None:
    away, said, rows = LeavingVectors(), list[str](), np.eye(2, dtype=np.float32)
    vectors, manifest = PatientVectors(away, tell=said.append), artefact().manifest
    vectors.prepare("app")
    vectors.upload(manifest, rows)
    assert vectors.index_of(manifest, rows).search(rows[1:], 1)[1].tolist() == [[1]]
    assert vectors.prune("app", kept=lambda: [("reader", "1")]) == (("reader", "1"),)
    assert away.asked == [
        question
        for one in ("prepare app", "upload reader 2", "index_of reader", "prune app")
        for question in 2 * (one,)
    ]
    assert said == ["no answer; waiting for it, up to 120 s"] * 4
    with pytest.raises(StoreUnavailableError):
        PatientVectors(LeavingVectors(), wait_s=0).prepare("app")
