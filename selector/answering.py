"""Answers queries on open indexes, in the thread that calls: embedding, both legs, one ranking for each.

Rules kept here:

1. All texts of one call are embedded at once; the embedder batches them as it likes.
2. Where the vectors fail, the words answer and the ranking says so.
3. A query without a letter or a digit asks for nothing: the ranking is empty, as it is where nothing fits.
4. What the vectors are asked is bounded: each query and at most `clauses.MAX_CLAUSES` of its clauses.
5. Work that nobody waits for any more stops before the next stage.
6. Whoever wants to know how long the stages take passes what is entered around each; it learns the stage and no more.

Not done here: threads and queues (`service.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from indexer.index import SurfaceIndex
from models.embedder import Embedder
from selector.clauses import clauses
from selector.ranking import (
    DENSE_DEPTH,
    Dense,
    Leg,
    Scored,
    put_first,
    rank_dense,
    rank_hybrid,
    rank_lexical,
    trust,
)
from selector.rankings import Asked, Ranking
from surface.lexical import query_words

Stage: TypeAlias = Literal["embed", "words", "vectors", "fuse"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
Around: TypeAlias = Callable[[Stage], AbstractContextManager[object]]
"""What is entered around a stage, in any of the threads that rank."""


def nothing_around(_stage: Stage) -> AbstractContextManager[object]:
    """Where nobody watches."""
    return nullcontext()


class AbandonedError(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """How queries are answered; threads may share it."""

    embedder: Embedder
    leg: Leg
    strictness: float
    around: Around = nothing_around

    def __call__(
        self, asked: Sequence[tuple[SurfaceIndex, Asked]], abandoned: Callable[[], bool]
    ) -> tuple[Ranking, ...]:
        """The ranking of each query on its index. Raises AbandonedError once `abandoned` says so."""
        texts = [self._texts(index, one) for index, one in asked]
        vectors = iter(self._embedded([text for each in texts for text in each], abandoned))
        answers: list[Ranking] = []
        for (index, one), own in zip(asked, texts, strict=True):
            if abandoned():
                raise AbandonedError
            answers.append(self._answer(index, one, own, _taken(vectors, len(own))))
        return tuple(answers)

    def _texts(self, index: SurfaceIndex, asked: Asked) -> tuple[str, ...]:
        """What is scored: the query first, then its clauses; nothing where the query asks for nothing."""
        if not index.names or not any(character.isalnum() for character in asked.query):
            return ()
        return (asked.query, *clauses(asked.query)) if self.leg == "hybrid" else (asked.query,)

    def _embedded(
        self, texts: Sequence[str], abandoned: Callable[[], bool]
    ) -> Sequence[NDArray[np.float32]] | NDArray[np.float32]:
        """A vector of each text; none at all where the model failed or is not asked."""
        if abandoned():
            raise AbandonedError
        if self.leg == "lexical" or not texts:
            return ()
        try:
            with self.around("embed"):
                return self.embedder.embed_queries(texts)
        except Exception:  # noqa: BLE001 - whatever an engine raises, the words can still answer
            return ()

    def _answer(
        self, index: SurfaceIndex, asked: Asked, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]
    ) -> Ranking:
        if not texts:
            return Ranking(ranked=())
        ranked, degraded = self._ranked(index, asked, texts, vectors)
        called = index.named.called(asked.query)
        if called:
            ranked = put_first(called, ranked, limit=asked.limit)
        return Ranking(ranked=tuple((index.names[each.row], each.score) for each in ranked), degraded=degraded)

    def _ranked(
        self, index: SurfaceIndex, asked: Asked, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]
    ) -> tuple[Sequence[Scored], str | None]:
        """The ranking, and why it is weaker than usual."""
        if self.leg == "lexical":
            return rank_lexical(self._words(index, texts)[0], limit=asked.limit), None
        dense = self._dense(index, vectors)
        if dense is None:
            return rank_lexical(self._words(index, texts[:1])[0], limit=asked.limit), "dense_failed"
        if self.leg == "dense":
            return rank_dense(dense, limit=asked.limit), None
        words = self._words(index, texts)
        with self.around("fuse"):
            ranked = rank_hybrid(
                words,
                dense,
                trust=trust(asked.query),
                calibration=index.manifest.calibration,
                strictness=self.strictness,
                limit=asked.limit,
            )
        return ranked, None

    def _words(self, index: SurfaceIndex, texts: Sequence[str]) -> NDArray[np.float64]:
        """What the words of each text say of each tool, shape (texts, tools)."""
        with self.around("words"):
            return index.lexical.scores([query_words(text) for text in texts])

    def _dense(self, index: SurfaceIndex, vectors: Sequence[NDArray[np.float32]]) -> Dense | None:
        """The tools nearest to each vector; None where there is none or the vector index failed."""
        if not vectors:
            return None
        try:
            with self.around("vectors"):
                scores, rows = index.vectors.search(np.stack(vectors), min(DENSE_DEPTH, len(index.names)))
        except Exception:  # noqa: BLE001 - as for the model
            return None
        if not np.isfinite(scores).all() or (rows < 0).any():
            return None
        return Dense(scores=scores, rows=rows)


def _taken(vectors: Iterator[NDArray[np.float32]], count: int) -> list[NDArray[np.float32]]:
    return [vector for _, vector in zip(range(count), vectors, strict=False)]
