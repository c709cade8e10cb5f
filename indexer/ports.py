"""The ports of the indexer: where artefacts live, and the two indexes a surface is ranked with.

Row numbers are positions in the artefact's list of names, which is sorted; so equal scores in row order are equal
scores in name order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from indexer.artefact import Artefact
from indexer.release import Release


class VectorIndex(Protocol):
    """Exact nearest tools by inner product of L2-normalised vectors."""

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """For each of n queries, shape (n, dimension), the best k rows: scores and rows, both (n, min(k, tools))."""
        ...


class LexicalIndex(Protocol):
    """The lexical rule of `surface.lexical`, executed over arrays."""

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """The score of every row, shape (tools,), equal to `surface.lexical.score` to the last bit; 0 = no word."""
        ...


class ArtefactStore(Protocol):
    """Keeps immutable index versions and, for each application, one pointer to the active release.

    What cannot be read raises `indexer.errors.StoreError`; what is damaged raises `indexer.errors.ArtefactError`.
    """

    def publish(self, artefact: Artefact) -> None:
        """Keeps an index version; readers see all of it or nothing. Publishing the same version again does nothing."""
        ...

    def load(self, application: str, surface: str, version: str) -> Artefact:
        """An index version, every byte of it verified against its manifest."""
        ...

    def activate(self, release: Release, *, expected: str | None) -> None:
        """Makes a release the active one, if the active one is still `expected` (a release id, or None for none).

        Raises `indexer.errors.ActivationConflictError` where it is not. All surfaces of the release switch together.
        """
        ...

    def active(self, application: str) -> Release | None:
        """The release that is active now."""
        ...

    def applications(self) -> tuple[str, ...]:
        """Every application that has an active release, sorted."""
        ...
