"""Stores around others that wait for them while they are away.

    tries    at once, then after 0.5, 1, 2, 4 and from then on every 5 seconds
    budget   `WAIT_S` for each call, counted from the end of its first try, however long that took

Rules kept here:

1. Only `StoreUnavailableError` is waited for: whatever else is wrong does not mend itself.
2. Every call may be made again, as the port says: an activation whose answer was lost finds itself active, and one with
   a `history` undoes nothing that others did after it.
3. Whoever waits is told so, once for each time the store is away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential

from indexer.artefact import Artefact, IndexManifest
from indexer.errors import StoreUnavailableError
from indexer.ledger import Activation, Ledger, Pruning
from indexer.ports import ArtefactStore, VectorIndex, VectorStore
from indexer.release import Release

WAIT_S: Final = 120.0
"""Outlasts a store that is away for 30 seconds and whose every try takes a minute to fail."""
BETWEEN: Final = wait_exponential(multiplier=0.5, max=5.0)

T = TypeVar("T")


class PatientStore:
    """Implements `indexer.ports.ArtefactStore`; threads may share it where they may share the other one."""

    def __init__(
        self, store: ArtefactStore, *, wait_s: float = WAIT_S, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """`wait_s`: how long a call waits for the store, in seconds; 0 is one try. `tell` hears that it waits."""
        self._store = store
        self._waiting = _Waiting(wait_s, tell)

    def applications(self) -> tuple[str, ...]:
        """See the port."""
        return self._waiting(self._store.applications)

    def without_ledger(self) -> tuple[str, ...]:
        """See the port."""
        return self._waiting(self._store.without_ledger)

    def ledger(self, application: str) -> Ledger:
        """See the port."""
        return self._waiting(self._store.ledger, application)

    def active(self, application: str) -> Release | None:
        """See the port."""
        return self._waiting(self._store.active, application)

    def prepare(self, application: str, *, size: int) -> None:
        """See the port."""
        self._waiting(self._store.prepare, application, size=size)

    def publish(self, artefact: Artefact, *, at: datetime) -> None:
        """See the port."""
        self._waiting(self._store.publish, artefact, at=at)

    def load(self, application: str, surface: str, version: str) -> Artefact:
        """See the port."""
        return self._waiting(self._store.load, application, surface, version)

    def activate(
        self,
        release: Release,
        *,
        expected: str | None,
        at: datetime,
        history: Sequence[Activation] | None = None,
    ) -> None:
        """See the port; the conflict with itself after an answer that was lost is `releases.make_active`'s matter."""
        self._waiting(self._store.activate, release, expected=expected, at=at, history=history)

    def prune(self, application: str, *, keep: int, unused_since: datetime) -> Pruning:
        """See the port."""
        return self._waiting(self._store.prune, application, keep=keep, unused_since=unused_since)

    def wait_for_change(self, timeout_s: float) -> None:
        """See the port."""
        self._store.wait_for_change(timeout_s)


class PatientVectors:
    """Implements `indexer.ports.VectorStore` likewise; an upload that is made again goes on where it stopped."""

    def __init__(
        self, vectors: VectorStore, *, wait_s: float = WAIT_S, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """As for `PatientStore`."""
        self._vectors = vectors
        self._waiting = _Waiting(wait_s, tell)

    def prepare(self, application: str) -> None:
        """See the port."""
        self._waiting(self._vectors.prepare, application)

    def index_of(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> VectorIndex:
        """See the port; a search of the index does not wait."""
        return self._waiting(self._vectors.index_of, manifest, vectors)

    def upload(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> None:
        """See the port."""
        self._waiting(self._vectors.upload, manifest, vectors)

    def prune(
        self, application: str, *, kept: Callable[[], Collection[tuple[str, str]]]
    ) -> tuple[tuple[str, str], ...]:
        """See the port."""
        return self._waiting(self._vectors.prune, application, kept=kept)


class _Waiting:
    """Makes a call, again and again where a store is away."""

    def __init__(self, wait_s: float, tell: Callable[[str], None]) -> None:
        self._wait_s = wait_s
        self._tell = tell

    def __call__(self, call: Callable[..., T], *arguments: Any, **named: Any) -> T:
        # Tenacity's objects know each other in a circle. That they are not given the call keeps the store, and its open
        # connections, out of it.
        for attempt in _tries(self._wait_s, self._tell):
            with attempt:
                return call(*arguments, **named)
        raise AssertionError("the last try raises")


class GivingUp:
    """Says of one call after each try that failed whether it was the last: another one would begin too late."""

    def __init__(self, wait_s: float) -> None:
        """`wait_s`: for how long tries may begin once the first one has failed, in seconds."""
        self._wait_s = wait_s
        self._failed: float | None = None

    def __call__(self, state: RetryCallState) -> bool:
        """For tenacity, whose own rules count from the beginning of the first try, and an upload may take minutes."""
        ended = state.outcome_timestamp or 0.0
        self._failed = ended if self._failed is None else self._failed
        return ended - self._failed + state.upcoming_sleep >= self._wait_s


def _tries(wait_s: float, tell: Callable[[str], None]) -> Retrying:
    def told(state: RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome is not None:
            tell(f"{state.outcome.exception()}; waiting for it, up to {wait_s:g} s")

    return Retrying(
        retry=retry_if_exception_type(StoreUnavailableError),
        wait=BETWEEN,
        stop=GivingUp(wait_s),
        before_sleep=told,
        reraise=True,
    )
