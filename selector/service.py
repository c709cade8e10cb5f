"""The Selector: ranks in process, on whichever indexes are open.

Rules kept here:

1. Everything that computes runs in the executor; the event loop only waits. No more requests wait than
   `max_waiting`: one more is refused at once, so that its asker can fall back instead of queueing.
2. A request is answered on one index from beginning to end, whatever is swapped meanwhile.
3. Where the vectors fail, the words answer and the reply says so.
4. A query without a letter or a digit asks for nothing: the ranker abstains, as it does where nothing fits.
5. What the vectors are asked is bounded: the query and at most `clauses.MAX_CLAUSES` of its clauses, at once.

Not done here: HTTP, deadlines and fallbacks (the search's), loading indexes (`library.py`). The query goes into no
message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from math import inf
from typing import Final

import numpy as np

from indexer.index import SurfaceIndex
from models.embedder import Embedder
from selector.clauses import clauses
from selector.ports import Indexes
from selector.ranking import (
    DENSE_DEPTH,
    STRICTNESS,
    Dense,
    Leg,
    Scored,
    put_first,
    rank_dense,
    rank_hybrid,
    rank_lexical,
    trust,
)
from surface.errors import RankerUnavailable
from surface.lexical import query_words
from surface.protocol import MAX_LIMIT, MAX_QUERY_CHARACTERS, RankedName, RankReply
from surface.ranking import RankRequest

MAX_WAITING: Final = 64
"""A quarter of a second of work on two cores."""


class Selector:
    """Implements `surface.ranking.Ranker`."""

    def __init__(
        self,
        *,
        indexes: Indexes,
        embedder: Embedder,
        executor: Executor,
        leg: Leg = "hybrid",
        strictness: float = STRICTNESS,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        """`executor` stays the caller's to shut down; it runs threads, as indexes are shared.

        `strictness`: how clearly a tool must stand out for the ranker not to abstain, in spreads of the cosine of
        unrelated requests; 0 never abstains. Raises ValueError where it is negative or not finite.
        """
        if not 0.0 <= strictness < inf:
            raise ValueError(f"strictness: {strictness} is not a number from 0 on")
        self._indexes = indexes
        self._embedder = embedder
        self._executor = executor
        self._leg: Leg = leg
        self._strictness = strictness
        self._max_waiting = max_waiting
        self._waiting = 0

    @property
    def id(self) -> str:
        """``selector``: the same ranker, wherever it runs."""
        return "selector"

    async def rank(self, request: RankRequest) -> RankReply:
        """The ranking on the index of the asked catalog, else on the active one.

        Raises RankerUnavailable: `unknown_surface`, `index_unusable`, `overloaded`.
        """
        version = self._indexes.find(request.application, request.surface, request.catalog_digest)
        if self._waiting >= self._max_waiting:
            raise RankerUnavailable("overloaded")
        self._waiting += 1
        try:
            index = await self._indexes.opened(version)
            return await asyncio.get_running_loop().run_in_executor(self._executor, self._answer, index, request)
        finally:
            self._waiting -= 1

    def _answer(self, index: SurfaceIndex, request: RankRequest) -> RankReply:
        query = request.query[:MAX_QUERY_CHARACTERS]
        limit = max(1, min(request.limit, MAX_LIMIT))
        ranked: Sequence[Scored] = ()
        degraded: str | None = None
        if index.names and any(character.isalnum() for character in query):
            ranked, degraded = self._ranked(index, query, limit=limit)
            called = index.named.called(query)
            if called:
                ranked = put_first(called, ranked, limit=limit)
        return RankReply(
            surface=request.surface,
            index_version=index.version,
            catalog_digest=index.manifest.catalog_digest,
            ranked=tuple(RankedName(name=index.names[scored.row], score=scored.score) for scored in ranked),
            abstained=not ranked,
            degraded=degraded,
        )

    def _ranked(self, index: SurfaceIndex, query: str, *, limit: int) -> tuple[Sequence[Scored], str | None]:
        """The ranking, and why it is weaker than usual."""
        if self._leg == "lexical":
            return rank_lexical(index.lexical.scores(query_words(query)), limit=limit), None
        texts = (query, *clauses(query)) if self._leg == "hybrid" else (query,)
        dense = self._dense(index, texts)
        if dense is None:
            return rank_lexical(index.lexical.scores(query_words(query)), limit=limit), "dense_failed"
        if self._leg == "dense":
            return rank_dense(dense, limit=limit), None
        ranked = rank_hybrid(
            np.stack([index.lexical.scores(query_words(text)) for text in texts]),
            dense,
            trust=trust(query),
            calibration=index.manifest.calibration,
            strictness=self._strictness,
            limit=limit,
        )
        return ranked, None

    def _dense(self, index: SurfaceIndex, texts: Sequence[str]) -> Dense | None:
        """The tools nearest to each text; None where the model or the vector index failed."""
        try:
            vectors = self._embedder.embed_queries(texts)
            scores, rows = index.vectors.search(vectors, min(DENSE_DEPTH, len(index.names)))
        except Exception:  # noqa: BLE001 - whatever an engine raises, the words can still answer
            return None
        if not np.isfinite(scores).all() or (rows < 0).any():
            return None
        return Dense(scores=scores, rows=rows)
