"""How the scores of the legs become one ranking, and when there is none. Pure arrays; the scores are made elsewhere.

Rules kept here:

1. A query and each of its clauses are scored by both legs (`scoring.py`). Where there are clauses, a tool's score
   is that for the whole query and half its best for a clause; and the best tools of the clauses stand right behind the
   first, the surest clause before the others, so that no need of the query is crowded out by another one.
2. The ranking abstains where nothing fits (`abstaining.py`). A query that the model cannot read, and one leg alone,
   abstain only where they find nothing at all.
3. A tool that scores less than 35 % of the best is left out, unless it is the best for a clause: fewer, better
   tools rather than always as many as were asked for.
4. Tools that the query calls by name come first, in the order it calls them, and are never abstained from.
5. Equal scores stand in the order of names. Rows are positions in a sorted list of names, so row order is name order.

Not done here: cutting to what fits a surface, anything that remembers an earlier query.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from indexer.calibration import Calibration
from selector.abstaining import STRICTNESS, fits, nearness
from selector.scoring import fused
from surface.names import standing_first

Leg: TypeAlias = Literal["hybrid", "lexical", "dense"]
LEGS: Final[tuple[Leg, ...]] = ("hybrid", "lexical", "dense")

DENSE_DEPTH: Final = 256
"""How many nearest tools the dense leg reports. Up to here fusion is exact; beyond, a tool found only by its words
takes the cosine of the last one reported. 1,024 gave the same recall@5 on each of eight sets, and searching took half
as long again (`docs/decisions/0023`). An answer has at most 100 tools."""

LEAST_TRUST: Final = 0.005
"""What vectors count in a query the model cannot read: enough to break ties, too little to beat a word."""

_DENSE_FROM: Final = "\u2e80"
_DENSE_LETTERS: Final = 4
"""As many letters of an alphabet one sign from there on is worth; `indexer.document` cuts texts by the same rule."""

CLAUSE_WEIGHT: Final = 0.5
MOST_HEADS: Final = 3
"""Clauses whose best tools stand in front."""

KEPT_SHARE: Final = 0.35
"""Of the best score; a tool below it is left out."""

READABLE: Final = 0.5
"""The share of letters that the model knows from which it counts, and may say that nothing fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """What the dense leg says of some texts: for each the nearest rows, best first; both arrays (texts, reported)."""

    scores: NDArray[np.float32]
    """Cosines."""
    rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One row of a catalog with its score; larger is better."""

    row: int
    score: float


def trust(query: str) -> float:
    """The share of the query's letters that are Latin: `LEAST_TRUST` below `READABLE`, 1 where it has no letters.

    The model that ships was trained on English and knows no other script well. A letter of Chinese, Japanese or Korean
    says as much as four of an alphabet, and counts as four.
    """
    known = unknown = 0
    for character in query:
        if not character.isalpha():
            continue
        if character.isascii() or "LATIN" in unicodedata.name(character, ""):
            known += 1
        else:
            unknown += 1 if character < _DENSE_FROM else _DENSE_LETTERS
    share = known / (known + unknown) if known or unknown else 1.0
    return share if share >= READABLE else LEAST_TRUST


def rank_lexical(lexical: NDArray[np.float64], *, limit: int) -> list[Scored]:
    """The rows that share a word with the query; `lexical` has shape (tools,), 0 where no word is shared."""
    return best_first(lexical, np.flatnonzero(lexical > 0.0), limit=limit)


def rank_dense(dense: Dense, *, limit: int) -> list[Scored]:
    """The rows nearest to the first text, ties in row order."""
    scores, rows = dense.scores[0], dense.rows[0]
    order = np.lexsort((rows, -scores))[:limit]
    return [Scored(row=int(rows[at]), score=float(scores[at])) for at in order]


def rank_hybrid(
    lexical: NDArray[np.float64],
    dense: Dense,
    *,
    trust: float,
    calibration: Calibration,
    strictness: float = STRICTNESS,
    limit: int,
) -> list[Scored]:
    """Both legs of a query and its clauses as one ranking; empty where nothing fits.

    `lexical` has shape (texts, tools); the first text is the whole query. `strictness` 0 neither abstains nor cuts.
    """
    tools = lexical.shape[1]
    if trust >= READABLE and not fits(nearness(dense.scores), calibration, tools=tools, strictness=strictness):
        return []
    scores = _scores(lexical, dense, trust=trust, calibration=calibration)
    if len(scores) == 1:
        ranked = best_first(scores[0], _contenders(scores[0], lexical, dense, limit=limit), limit=limit)
        heads = list[int]()
    else:
        blended = scores[0] + CLAUSE_WEIGHT * scores[1:].max(axis=0)
        ranked = best_first(blended, _contenders(blended, lexical, dense, limit=limit), limit=limit)
        heads = _heads(scores, lexical, dense)
        ranked = _with_heads(ranked, heads, blended, limit=limit)
    if strictness <= 0.0:
        return ranked
    least = KEPT_SHARE * ranked[0].score
    return [each for each in ranked if each.score >= least or each.row in heads]


def _scores(
    lexical: NDArray[np.float64], dense: Dense, *, trust: float, calibration: Calibration
) -> NDArray[np.float64]:
    """Both legs of each text, shape (texts, tools); a tool that was not reported has the cosine of the last one."""
    of_both = partial(fused, mean=calibration.mean, spread=calibration.spread, trust=trust)
    scores = of_both(dense.scores.astype(np.float64).min(axis=1, keepdims=True), lexical)
    for at, (cosines, rows) in enumerate(zip(dense.scores.astype(np.float64), dense.rows, strict=True)):
        scores[at, rows] = of_both(cosines, lexical[at, rows])
    return scores


def _contenders(
    scores: NDArray[np.float64], lexical: NDArray[np.float64], dense: Dense, *, limit: int
) -> NDArray[np.int64]:
    """Rows that either leg found, ascending, the best `limit` of all such rows among them.

    As many of those that the vectors reported set a floor, and few rows reach it: sorting out all that share a word
    with the query would cost as much as scoring them.
    """
    reported = dense.rows[0]
    floor = -np.inf
    if 0 < limit <= len(reported):
        floor = np.partition(scores[reported], len(reported) - limit)[len(reported) - limit]
    rows = np.flatnonzero(scores >= floor)
    return rows[_found(rows, lexical, dense)]


def _found(rows: NDArray[np.int64], lexical: NDArray[np.float64], dense: Dense) -> NDArray[np.bool_]:
    """Which of the rows either leg found, for the query or for a clause."""
    near = np.zeros(lexical.shape[1], dtype=np.bool_)
    near[dense.rows] = True
    return np.asarray(near[rows] | (lexical[:, rows] > 0.0).any(axis=0), dtype=np.bool_)


def _heads(scores: NDArray[np.float64], lexical: NDArray[np.float64], dense: Dense) -> list[int]:
    """The best row for each clause, surest clause first; a clause is judged in the light of the whole query."""
    surest = np.argsort(-scores[1:].max(axis=1), kind="stable")[:MOST_HEADS] + 1
    heads: list[int] = []
    for at in surest:
        judged = scores[at] + CLAUSE_WEIGHT * scores[0]
        # Those that no leg found share the score of the last reported one, so they can be the best only as equals.
        best = np.flatnonzero(judged >= judged.max())
        heads.append(int(best[_found(best, lexical, dense)][0]))
    return list(dict.fromkeys(heads))


def _with_heads(
    ranked: Sequence[Scored], heads: Sequence[int], scores: NDArray[np.float64], *, limit: int
) -> list[Scored]:
    """The first of the ranking, the heads, then the others. Scores stay what they are, whatever the order."""
    front = list(dict.fromkeys([ranked[0].row, *heads]))
    lifted = [Scored(row=row, score=float(scores[row])) for row in front]
    return [*lifted, *(each for each in ranked if each.row not in front)][:limit]


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


def put_first(rows: Sequence[int], ranked: Sequence[Scored], *, limit: int) -> list[Scored]:
    """The ranking with the tools that the query calls by name at its head."""
    first = standing_first(rows, best=max((scored.score for scored in ranked), default=0.0))
    heads = [Scored(row=row, score=score) for row, score in first.items()]
    return [*heads, *(scored for scored in ranked if scored.row not in first)][:limit]
