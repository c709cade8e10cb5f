"""Why a ranking is what it is: what each leg says of each tool, and how far the query is from being answered.

Rules kept here:

1. Nothing is ranked here. The rankings that are explained are those of `answering.py`, so order and scores are the ones
   that a surface gets; this file takes their scores apart again.
2. What was left out is shown as well: the tools that would have been answered with strictness 0.
3. The words of a tool are known from its index by their points, and from its name whether they stand there. An index
   keeps no descriptions, so a word that is not in the name stands in the description, a parameter or the service.

An explanation repeats words and clauses of the query. It is for whoever asked, and for nothing that is kept.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from indexer.index import SurfaceIndex
from selector.abstaining import bar, nearness
from selector.clauses import MAX_CLAUSES
from selector.ranking import CLAUSE_WEIGHT, DENSE_DEPTH, READABLE, trust
from selector.rankings import Ranking
from selector.scoring import LEXICAL_WEIGHT, fused
from surface.lexical import query_words, words
from surface.protocol import MAX_LIMIT, Code, Digest, Key, Wire

MAX_WORDS: Final = 64
"""Words of a query that are explained; the others count in the scores all the same."""


class WordMatch(Wire):
    """One word of the query that a tool holds."""

    word: str
    points: float
    """What it adds to the lexical score."""
    in_name: bool
    """It stands in the tool's name; else in the description, a parameter or the service."""


class ClauseMatch(Wire):
    """The clause of the query that a tool answers best."""

    clause: str
    score: float
    """Of both legs together, for this clause alone."""


class ToolExplanation(Wire):
    """What each leg says of one tool."""

    name: str
    score: float
    """By which it is ranked."""
    called: bool
    """The query calls it by its name; then it stands in front, whatever the legs say."""
    words: Annotated[tuple[WordMatch, ...], Field(max_length=MAX_WORDS)]
    """Most points first."""
    lexical: float
    """The points of all words of the query."""
    cosine: float | None
    """Between the query and the tool; None where the vectors were not asked or failed."""
    cosine_at_most: bool
    """The tool is not among the nearest that the vectors report; `cosine` is that of the last reported."""
    whole: float | None
    """Of both legs together, for the query as a whole."""
    nearest_clause: ClauseMatch | None
    """None where the query is one request."""


class Threshold(Wire):
    """What a query must reach to be answered at all."""

    nearest: float
    """Half the cosine of the tool nearest to the query, half that of the tool nearest to the query or to a clause."""
    needed: float
    """From where the ranking does not abstain."""
    applies: bool
    """False where the model cannot read the query's script, or strictness is 0: nothing is abstained from."""


class Weights(Wire):
    """How the legs become one score: ``trust * (cosine - mean) / spread + lexical_weight * lexical``."""

    trust: float
    mean: float
    spread: float
    lexical_weight: float
    clause_weight: float
    """Of the best clause, added to the score for the whole query."""


class ExplainReply(Wire):
    """A ranking with its reasons."""

    surface: Key
    index_version: str
    catalog_digest: Digest
    abstained: bool
    degraded: Code | None
    clauses: Annotated[tuple[str, ...], Field(max_length=MAX_CLAUSES)]
    unknown_words: Annotated[tuple[str, ...], Field(max_length=MAX_WORDS)]
    """Words of the query that no tool of this surface holds."""
    weights: Weights
    threshold: Threshold | None
    """None where the vectors were not asked or failed."""
    ranked: Annotated[tuple[ToolExplanation, ...], Field(max_length=MAX_LIMIT)]
    """The ranking, as `rank` answers it."""
    left_out: Annotated[tuple[ToolExplanation, ...], Field(max_length=MAX_LIMIT)]
    """What follows it, or would have been answered where it abstained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the legs were given for one query, and what the vectors were read as."""

    texts: tuple[str, ...]
    """The query, then its clauses."""
    vectors: NDArray[np.float32] | None
    """Shape (texts, dimension); None where the model was not asked or failed."""


def explain(
    index: SurfaceIndex, seen: Seen, *, ranking: Ranking, lenient: Ranking, strictness: float, surface: str
) -> ExplainReply:
    """The reasons for `ranking`; `lenient` is the ranking of the same query with strictness 0."""
    answered = {name for name, _ in ranking.ranked}
    left_out = [(name, score) for name, score in lenient.ranked if name not in answered]
    calibration, trusted = index.manifest.calibration, trust(seen.texts[0])
    reader = _Reader(index=index, seen=seen, shown=answered.union(name for name, _ in left_out), trust=trusted)
    return ExplainReply(
        surface=surface,
        index_version=index.version,
        catalog_digest=index.manifest.catalog_digest,
        abstained=not ranking.ranked,
        degraded=ranking.degraded,
        clauses=seen.texts[1:],
        unknown_words=reader.unknown_words,
        weights=Weights(
            trust=trusted,
            mean=calibration.mean,
            spread=calibration.spread,
            lexical_weight=LEXICAL_WEIGHT,
            clause_weight=CLAUSE_WEIGHT,
        ),
        threshold=reader.threshold(strictness),
        ranked=tuple(reader.tool(name, score) for name, score in ranking.ranked),
        left_out=tuple(reader.tool(name, score) for name, score in left_out),
    )


class _Reader:
    """Both legs of one query on one index, for the tools that are shown; of all others it keeps nothing."""

    def __init__(self, *, index: SurfaceIndex, seen: Seen, shown: Collection[str], trust: float) -> None:
        rows = [row for row, name in enumerate(index.names) if name in shown]
        at = np.array(rows, dtype=np.int64)
        called = frozenset(index.named.called(seen.texts[0]))
        self._at = {index.names[row]: column for column, row in enumerate(rows)}
        self._called = frozenset(index.names[row] for row in rows if row in called)
        self._calibration = index.manifest.calibration
        self._tools = len(index.names)
        self._texts = seen.texts
        self._trust = trust
        self._lexical = index.lexical.scores([query_words(text) for text in seen.texts])[:, at]
        self._points: dict[str, NDArray[np.float64]] = {}
        unknown: list[str] = []
        for term in query_words(seen.texts[0])[:MAX_WORDS]:
            (scores,) = index.lexical.scores([(term,)])
            self._points[term] = scores[at]
            if not scores.any():
                unknown.append(term)
        self.unknown_words = tuple(unknown)
        self._cosines = None if seen.vectors is None else _cosines(index, seen.vectors, at)

    def threshold(self, strictness: float) -> Threshold | None:
        if self._cosines is None:
            return None
        return Threshold(
            nearest=self._cosines.nearest,
            needed=bar(self._calibration, tools=self._tools, strictness=strictness),
            applies=strictness > 0.0 and self._trust >= READABLE,
        )

    def tool(self, name: str, score: float) -> ToolExplanation:
        column = self._at[name]
        scores = self._fused(column)
        clause = None
        if scores is not None and len(scores) > 1:
            best = int(scores[1:].argmax()) + 1
            clause = ClauseMatch(clause=self._texts[best], score=float(scores[best]))
        return ToolExplanation(
            name=name,
            score=score,
            called=name in self._called,
            words=self._words(name, column),
            lexical=float(self._lexical[0, column]),
            cosine=None if self._cosines is None else float(self._cosines.of[0, column]),
            cosine_at_most=self._cosines is not None and not bool(self._cosines.reported[column]),
            whole=None if scores is None else float(scores[0]),
            nearest_clause=clause,
        )

    def _fused(self, column: int) -> NDArray[np.float64] | None:
        if self._cosines is None:
            return None
        return fused(
            self._cosines.of[:, column],
            self._lexical[:, column],
            mean=self._calibration.mean,
            spread=self._calibration.spread,
            trust=self._trust,
        )

    def _words(self, name: str, column: int) -> tuple[WordMatch, ...]:
        of_name = frozenset(words(name))
        held = [(float(scores[column]), word) for word, scores in self._points.items() if scores[column] > 0.0]
        held.sort(key=lambda pair: (-pair[0], pair[1]))
        return tuple(WordMatch(word=word, points=points, in_name=word in of_name) for points, word in held)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cosines:
    of: NDArray[np.float64]
    """Shape (texts, shown tools), as ranking reads them."""
    reported: NDArray[np.bool_]
    """Whether the whole query's was reported, for each shown tool."""
    nearest: float
    """See `abstaining.nearness`."""


def _cosines(index: SurfaceIndex, vectors: NDArray[np.float32], at: NDArray[np.int64]) -> _Cosines:
    """`at`: the rows of the tools that are shown."""
    scores, rows = index.vectors.search(vectors, min(DENSE_DEPTH, len(index.names)))
    of = np.empty((len(vectors), len(at)), dtype=np.float64)
    for text, (its_scores, its_rows) in enumerate(zip(scores, rows, strict=True)):
        reported = dict(zip(its_rows.tolist(), its_scores.tolist(), strict=True))
        of[text] = [reported.get(row, its_scores.min()) for row in at.tolist()]
    return _Cosines(of=of, reported=np.isin(at, rows[0]), nearest=nearness(scores))
