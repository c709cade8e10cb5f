"""Tools that neither a model nor a person can tell apart: nearly the same vector and nearly the same words. Pure.

Either alone says too little. Vectors of opposites ("create" and "delete") are close, and texts from one template share
most words though they speak of different things. A pair is a finding where the cosine of the vectors is at least
`LEAST_COSINE` and the words of name and description, taken as sets, overlap by at least `LEAST_OVERLAP` (Jaccard).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from indexer.catalog_file import CatalogTool
from selector.lint import Code, Finding, groups
from surface.lexical import words

LEAST_COSINE: Final = 0.9
LEAST_OVERLAP: Final = 0.8

NEAREST: Final = 16
"""With how many of its nearest tools each one is compared: a catalog of ten thousand near copies stays linear."""

_AT_ONCE: Final = 512
"""Rows compared with all others in one go: 40 MB at 20,000 tools."""


def lint_likeness(tools: Sequence[CatalogTool], vectors: NDArray[np.float32]) -> Iterator[Finding]:
    """One finding for each group of tools; `vectors` has a row of length 1 for each tool, in the same order."""
    said = [frozenset(words(tool.name)) | frozenset(words(tool.description)) for tool in tools]
    pairs = [(tools[a].name, tools[b].name) for a, b in _near(vectors) if _overlap(said[a], said[b]) >= LEAST_OVERLAP]
    for group in groups([tool.name for tool in tools], pairs):
        yield Finding(code=Code.INDISTINGUISHABLE, tools=group)


def _near(vectors: NDArray[np.float32]) -> list[tuple[int, int]]:
    """The pairs of rows that are close enough, lower first, each once."""
    nearest = min(NEAREST, len(vectors) - 1)
    if nearest < 1:
        return []
    found: set[tuple[int, int]] = set()
    for start in range(0, len(vectors), _AT_ONCE):
        cosines = vectors[start : start + _AT_ONCE] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -1.0  # not with itself
        best = np.argpartition(-cosines, nearest - 1, axis=1)[:, :nearest]
        for a, at in np.argwhere(np.take_along_axis(cosines, best, axis=1) >= LEAST_COSINE):
            low, high = sorted((start + int(a), int(best[a, at])))
            found.add((low, high))
    return sorted(found)


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    together = len(first | second)
    return len(first & second) / together if together else 1.0
