"""What every vector index does around its engine: refuses wrong questions, and puts equal scores in row order.

An engine that is asked for k rows may cut equal scores apart as it likes. So it is asked for more until the cut falls
between two different scores, and the same query always gets the same answer, whichever engine gave it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hits: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Scores, best first, and their rows; of one query both have shape (k,), of n queries (n, k)."""


def checked_queries(queries: NDArray[np.float32], *, dimension: int, k: int) -> NDArray[np.float32]:
    """The queries as contiguous float32, shape (n, dimension).

    Raises ValueError where they are not finite vectors of that dimension, or k is negative.
    """
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    if queries.ndim != 2 or queries.shape[1] != dimension:
        raise ValueError(f"queries: need shape (n, {dimension}), not {queries.shape}")
    if k < 0:
        raise ValueError("k: must not be negative")
    if not bool(np.isfinite(queries).all()):
        raise ValueError("queries: must be finite; an engine would answer with rows that do not exist")
    return queries


def in_row_order(found: Hits, *, k: int, tools: int, more: Callable[[int], Hits]) -> Hits:
    """The best k ≥ 1 of what was found: more than k rows, or every one. `more(n)` finds the best n."""
    scores, rows = found
    while len(rows) < tools and scores[-1] == scores[k - 1]:
        scores, rows = more(min(2 * len(rows), tools))
    order = np.lexsort((rows, -scores))[:k]
    return scores[order], rows[order]
