"""How the scores of two legs become one ranking. Pure arrays; the scores are made elsewhere.

    fused(d) = trust * cosine(q, d) + LEXICAL_WEIGHT * lexical(q, d)

Rules kept here:

1. The lexical score enters unscaled. It is a sum over the query's words of how rare each is, so it already says how
   sure the words are: a query that shares rare words with one tool leans on them, one made of common words leans on
   the vectors. Dividing it by the best score of the query throws that away, and so does rank fusion, which falls
   below its better leg on a third of the sets measured (`benchmarks/quality.py`).
2. `trust` is the share of the query's letters that the embedding model can read. A query in another script is left
   to the words, and vectors only break its ties.
3. A query that is exactly a tool's name puts that tool first.
4. Equal scores stand in the order of names. Rows are positions in a sorted list of names, so row order is name order.

Not done here: abstaining, cutting to what fits a surface, anything that remembers an earlier query.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Leg: TypeAlias = Literal["hybrid", "lexical", "dense"]
LEGS: Final[tuple[Leg, ...]] = ("hybrid", "lexical", "dense")

LEXICAL_WEIGHT: Final = 0.02
"""What one point of the lexical rule weighs against the cosine; chosen on the dev folds, flat from 0.015 to 0.03."""

DENSE_DEPTH: Final = 1_024
"""How many nearest tools the dense leg reports. Up to here fusion is exact; beyond, a tool found only by its words
takes the cosine of the last one reported, which changed no metric by 0.1 points on the sets of 5,000 tools and more.
1,024 of 20,000 cost 0.2 ms more than 10."""

LEAST_TRUST: Final = 0.05
"""What vectors count in a query the model cannot read: enough to break ties, too little to beat a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """What the dense leg says of one query: the nearest rows, best first."""

    scores: NDArray[np.float32]
    """Cosines, shape (reported,)."""
    rows: NDArray[np.int64]
    """Shape (reported,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One row of a catalog with its score; larger is better."""

    row: int
    score: float


def trust(query: str) -> float:
    """The share of the query's letters that are Latin, from `LEAST_TRUST` to 1; 1 where it has no letters.

    The model that ships was trained on English and knows no other script well.
    """
    letters = [character for character in query if character.isalpha()]
    if not letters:
        return 1.0
    known = sum(character.isascii() or "LATIN" in unicodedata.name(character, "") for character in letters)
    return max(LEAST_TRUST, known / len(letters))


def rank_lexical(lexical: NDArray[np.float64], *, limit: int) -> list[Scored]:
    """The rows that share a word with the query; `lexical` has shape (tools,), 0 where no word is shared."""
    return best_first(lexical, np.flatnonzero(lexical > 0.0), limit=limit)


def rank_dense(dense: Dense, *, limit: int) -> list[Scored]:
    """The nearest rows as the dense leg reports them, ties in row order."""
    order = np.lexsort((dense.rows, -dense.scores))[:limit]
    return [Scored(row=int(dense.rows[at]), score=float(dense.scores[at])) for at in order]


def rank_hybrid(lexical: NDArray[np.float64], dense: Dense, *, trust: float, limit: int) -> list[Scored]:
    """Both legs as one ranking; `lexical` has shape (tools,)."""
    floor = float(dense.scores.min()) if dense.scores.size else 0.0
    cosines = np.full(lexical.shape, floor, dtype=np.float64)
    cosines[dense.rows] = dense.scores
    candidate = lexical > 0.0
    candidate[dense.rows] = True
    return best_first(trust * cosines + LEXICAL_WEIGHT * lexical, np.flatnonzero(candidate), limit=limit)


def best_first(scores: NDArray[np.float64], rows: NDArray[np.int64], *, limit: int) -> list[Scored]:
    """The best `limit` of `rows` (ascending) by `scores`, shape (tools,); equal scores in row order."""
    of_rows = scores[rows]
    if rows.size > limit:
        # Everything at least as good as the last one that fits, ties included; a full sort would cost 10 ms at 100k.
        last = np.partition(of_rows, rows.size - limit)[rows.size - limit]
        keep = of_rows >= last
        rows, of_rows = rows[keep], of_rows[keep]
    order = np.argsort(-of_rows, kind="stable")[:limit]
    return [Scored(row=int(rows[at]), score=float(of_rows[at])) for at in order]


def named_exactly(query: str, names: Sequence[str]) -> int | None:
    """The row of the tool whose name is the whole query, blanks and quotes around it aside; `names` is sorted."""
    name = query.strip().strip("`'\"").strip()
    row = bisect_left(names, name)
    return row if name and row < len(names) and names[row] == name else None


def put_first(row: int, ranked: Sequence[Scored], *, limit: int) -> list[Scored]:
    """The ranking with `row` at its head, scored just above the next."""
    others = [scored for scored in ranked if scored.row != row]
    above = max([scored.score for scored in ranked], default=0.0) + 1.0
    return [Scored(row=row, score=above), *others][:limit]
