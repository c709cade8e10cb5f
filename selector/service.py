"""The Selector: ranks in process, on whichever indexes are open.

Rules kept here:

1. Everything that computes runs in the executor; the event loop only waits. No more requests wait than
   `max_waiting`: one more is refused at once, so that its asker can fall back instead of queueing.
2. A request is answered on one index from beginning to end, whatever is swapped meanwhile.
3. Where the vectors fail, the words answer and the reply says so.
4. A query without a letter or a digit asks for nothing: the ranker abstains.

Not done here: HTTP, deadlines and fallbacks (the search's), loading indexes (`library.py`). The query goes into no
message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Final

import numpy as np

from indexer.index import SurfaceIndex
from models.embedder import Embedder
from selector.ports import Indexes
from selector.ranking import (
    DENSE_DEPTH,
    Dense,
    Leg,
    Scored,
    named_exactly,
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
        max_waiting: int = MAX_WAITING,
    ) -> None:
        """`executor` stays the caller's to shut down; it runs threads, as indexes are shared."""
        self._indexes = indexes
        self._embedder = embedder
        self._executor = executor
        self._leg: Leg = leg
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
        index = self._indexes.find(request.application, request.surface, request.catalog_digest)
        if self._waiting >= self._max_waiting:
            raise RankerUnavailable("overloaded")
        self._waiting += 1
        try:
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
            named = named_exactly(query, index.names)
            if named is not None:
                ranked = put_first(named, ranked, limit=limit)
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
        if self._leg == "dense":
            dense = self._dense(index, query)
            if dense is not None:
                return rank_dense(dense, limit=limit), None
            return rank_lexical(index.lexical.scores(query_words(query)), limit=limit), "dense_failed"
        lexical = index.lexical.scores(query_words(query))
        if self._leg == "lexical":
            return rank_lexical(lexical, limit=limit), None
        dense = self._dense(index, query)
        if dense is None:
            return rank_lexical(lexical, limit=limit), "dense_failed"
        return rank_hybrid(lexical, dense, trust=trust(query), limit=limit), None

    def _dense(self, index: SurfaceIndex, query: str) -> Dense | None:
        """The nearest tools; None where the model or the vector index failed."""
        try:
            vectors = self._embedder.embed_queries([query])
            scores, rows = index.vectors.search(vectors, min(DENSE_DEPTH, len(index.names)))
        except Exception:  # noqa: BLE001 - whatever an engine raises, the words can still answer
            return None
        if not np.isfinite(scores).all() or (rows < 0).any():
            return None
        return Dense(scores=scores[0], rows=rows[0])
