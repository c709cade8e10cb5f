"""The ports of the indexer: where artefacts and vectors live, what searches them, and what a deploy asks beside.

Row numbers are positions in the artefact's list of names, which is sorted; so equal scores in row order are equal
scores in name order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from indexer.artefact import Artefact, IndexManifest
from indexer.ledger import Activation, Ledger, Pruning
from indexer.release import Release


class VectorIndex(Protocol):
    """Exact nearest tools by inner product of L2-normalised vectors."""

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """For each of n queries, shape (n, dimension), the best k rows: scores and rows, both (n, min(k, tools))."""
        ...


class VectorStore(Protocol):
    """Keeps the vectors of index versions outside the replicas that search them."""

    def prepare(self, application: str) -> None:
        """Raises `indexer.errors.StoreError` where nothing could be uploaded now, as far as that can be known.

        Asked before work that takes minutes. It changes nothing.
        """
        ...

    def index_of(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> VectorIndex:
        """The index of a verified version, uploaded where it is not complete there; it does not hold `vectors`.

        Raises what `upload` raises.
        """
        ...

    def upload(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> None:
        """Returns when every row of `vectors`, verified, shape (tools, dimension), is there; it may be interrupted.

        Raises `indexer.errors.StoreError` and `indexer.errors.ArtefactError`.
        """
        ...

    def prune(
        self, application: str, *, kept: Callable[[], Collection[tuple[str, str]]]
    ) -> tuple[tuple[str, str], ...]:
        """Removes the vectors of every version (surface, version) that is not kept, and answers with them.

        `kept` says what a store keeps at the moment that it is called. What is published before it is uploaded is
        never removed while it is uploaded.
        """
        ...


class LexicalIndex(Protocol):
    """The lexical rule of `surface.lexical`, executed over arrays."""

    def scores(self, queries: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """What the words of each query score, shape (queries, tools), equal to `surface.lexical.score` to the last bit.

        0 where a tool holds none of the words.
        """
        ...


class Rehearsal(Protocol):
    """Asks a version that is not active yet, the way it will be asked when it serves."""

    def __call__(self, artefact: Artefact, queries: Sequence[str], limit: int) -> Sequence[Sequence[str]]:
        """For each query the best names, at most `limit`, best first; raises `indexer.errors.IndexerError`."""
        ...


class VectorCache(Protocol):
    """Remembers vectors between deploys, so that one that was interrupted goes on where it stopped.

    It may forget and it may fail, which costs time and nothing else: nothing here raises. It never answers a vector
    that is not, byte for byte, one it was given under the same model and text.
    """

    def find(self, model: str, texts: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        """The vectors it has for these text digests, by digest, each of shape (dimension,)."""
        ...

    def keep(self, model: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Remembers vectors by the digests of their texts; those it has already are left alone."""
        ...


class ArtefactStore(Protocol):
    """Keeps immutable index versions and, for each application, one `Ledger` that says which of them are served.

    Readers and writers may be many threads and processes. Every change of a ledger is one compare-and-swap, so each
    promise below holds whatever others do meanwhile. What cannot be read or written raises
    `indexer.errors.StoreError`; what is damaged raises `indexer.errors.ArtefactError`.
    """

    def applications(self) -> tuple[str, ...]:
        """Every application that has an active release, sorted; one whose ledger cannot be read is named too."""
        ...

    def without_ledger(self) -> tuple[str, ...]:
        """Every application that the store has something of but no ledger, sorted: it was lost, or never written.

        Never written is what a first deploy leaves that was killed, and for a moment what one looks like that runs.
        """
        ...

    def ledger(self, application: str) -> Ledger:
        """Everything about an application at one moment: history, releases, versions. Empty where there is nothing."""
        ...

    def active(self, application: str) -> Release | None:
        """The release that is active now: `ledger(application).active`."""
        ...

    def prepare(self, application: str, *, size: int) -> None:
        """Raises `StoreError` where versions of `size` bytes could not be published now, as far as that can be known.

        Asked before work that takes minutes. It changes nothing that anybody reads.
        """
        ...

    def publish(self, artefact: Artefact, *, at: datetime) -> None:
        """Keeps an index version; readers see all of it or nothing.

        Publishing the same version again writes nothing but the moment, which keeps a `prune` away from it, and puts
        it right where it is damaged.
        """
        ...

    def load(self, application: str, surface: str, version: str) -> Artefact:
        """An index version, every byte of it verified against its manifest.

        `StoreError` where it is not in the store, or is pruned while it is being read.
        """
        ...

    def activate(
        self,
        release: Release,
        *,
        expected: str | None,
        at: datetime,
        history: Sequence[Activation] | None = None,
    ) -> None:
        """Makes a release the active one, if the active one is still `expected` (a release id, or None for none).

        With a `history`, which is a ledger's `activations`, only if nothing was activated since: so whoever repeats a
        call whose answer was lost does not undo what others have done meanwhile, not even where they went back.
        All surfaces of the release switch together. Raises `indexer.errors.ActivationConflictError` where another
        one is active or was, `indexer.errors.NotPublishedError` where a version of it is not in the store: publish it
        again.
        """
        ...

    def prune(self, application: str, *, keep: int, unused_since: datetime) -> Pruning:
        """Deletes what `Ledger.pruned` takes away, and answers with it.

        Never a version of the active release, of one of the `keep` most recently active ones, or of a release that
        becomes active meanwhile. `ledger(application).pruned(…)` says beforehand what would go.
        """
        ...

    def wait_for_change(self, timeout_s: float) -> None:
        """Returns when an activation may have happened, at the latest after `timeout_s` seconds.

        A hint and no more: it may return early, and it may miss a change. Whoever follows a store looks again anyway.
        """
        ...
