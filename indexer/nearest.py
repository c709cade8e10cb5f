"""What every vector index does around its engine: refuses wrong questions, and puts equal scores in row order.

An engine that is asked for k rows may cut equal scores apart as it likes. So it is asked for more until the cut falls
between two different scores, and the same query always gets the same answer, whichever engine gave it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hits: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Scores, best first, and their rows; of one query both have shape (k,), of n queries (n, k)."""


def nearest(
    queries: NDArray[np.float32],
    k: int,
    *,
    tools: int,
    dimension: int,
    found: Callable[[NDArray[np.float32], int], Sequence[Hits]],
) -> Hits:
    """The best k rows for each query, best first, equal scores in row order: scores and rows, (n, min(k, tools)).

    `found` asks the engine for the best n of each query, one `Hits` each. Raises ValueError where the queries are not
    finite vectors of that dimension, or k is negative.
    """
    queries = _checked(queries, dimension=dimension, k=k)
    k = min(k, tools)
    scores = np.empty((len(queries), k), dtype=np.float32)
    rows = np.empty((len(queries), k), dtype=np.int64)
    if k == 0 or not len(queries):
        return scores, rows
    # One more than asked for shows whether equal scores were cut apart at the end.
    for at, hits in enumerate(found(queries, min(k + 1, tools))):
        more = partial(_of_one, found, queries[at : at + 1])
        scores[at], rows[at] = _in_row_order(hits, k=k, tools=tools, more=more)
    return scores, rows


def _of_one(found: Callable[[NDArray[np.float32], int], Sequence[Hits]], query: NDArray[np.float32], n: int) -> Hits:
    (hits,) = found(query, n)
    return hits


def _checked(queries: NDArray[np.float32], *, dimension: int, k: int) -> NDArray[np.float32]:
    """The queries as contiguous float32, shape (n, dimension)."""
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    if queries.ndim != 2 or queries.shape[1] != dimension:
        raise ValueError(f"queries: need shape (n, {dimension}), not {queries.shape}")
    if k < 0:
        raise ValueError("k: must not be negative")
    if not bool(np.isfinite(queries).all()):
        raise ValueError("queries: must be finite; an engine would answer with rows that do not exist")
    return queries


def _in_row_order(found: Hits, *, k: int, tools: int, more: Callable[[int], Hits]) -> Hits:
    """The best k ≥ 1 of what was found: more than k rows, or every one. `more(n)` finds the best n."""
    scores, rows = found
    while len(rows) < tools and scores[-1] == scores[k - 1]:
        scores, rows = more(min(2 * len(rows), tools))
    if bool((scores[1:] < scores[:-1]).all()):
        return scores[:k], rows[:k]  # as engines answer nearly always: in order, and no two alike
    order = np.lexsort((rows, -scores))[:k]
    return scores[order], rows[order]
