"""The Explainer: ranks a query as the Selector does, and says why.

Rules kept here:

1. The ranking is made by `answering.Answering`, never by a second rule; the query is embedded once for all of it.
2. An explanation costs several rankings and is for a person: no more than `MAX_WAITING` of one asker are in hand at
   once, and one more is refused. They share the threads with rankings, and take none of their places in the queue.
3. One that nobody waits for any more stops before its next stage, and keeps its place until its thread is done with it.

Not done here: HTTP, caches, what a reason looks like (`explanation.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Final

import numpy as np

from indexer.index import SurfaceIndex
from models.embedder import Embedder, Vectors
from models.manifest import ModelManifest
from selector.abstaining import STRICTNESS
from selector.answering import AbandonedError, Answering
from selector.explanation import ExplainReply, Seen, explain
from selector.places import Places, in_a_thread
from selector.ports import Indexes
from selector.ranking import Leg
from selector.rankings import Asked
from surface.ranking import RankRequest

MAX_WAITING: Final = 4


class Explainer:
    """Explains rankings on whichever index versions are served; one event loop uses it."""

    def __init__(
        self,
        *,
        indexes: Indexes,
        embedder: Embedder,
        executor: Executor,
        leg: Leg = "hybrid",
        strictness: float = STRICTNESS,
    ) -> None:
        """The arguments are those of the Selector whose rankings are explained; `executor` stays the caller's."""
        self._indexes = indexes
        self._embedder = embedder
        self._executor = executor
        self._leg: Leg = leg
        self._strictness = strictness
        self._places = Places(MAX_WAITING)

    async def explain(self, request: RankRequest) -> ExplainReply:
        """The ranking of this request and its reasons.

        Raises RankerUnavailable: `unknown_surface`, `index_unusable`, `overloaded`.
        """
        version = self._indexes.find(request.application, request.surface, request.catalog_digest)
        give_back = self._places.take()
        try:
            index = await self._indexes.opened(version)
        except BaseException:
            give_back()
            raise
        return await in_a_thread(self._executor, partial(self._explained, index, request), ended=give_back)

    def _explained(self, index: SurfaceIndex, request: RankRequest, abandoned: Callable[[], bool]) -> ExplainReply:
        asked = Asked.of(request)
        once = _Once(self._embedder)
        (ranking,), (lenient,) = (
            Answering(embedder=once, leg=self._leg, strictness=strictness)([(index, asked)], abandoned)
            for strictness in (self._strictness, 0.0)
        )
        if abandoned():
            raise AbandonedError
        # Where a leg failed, the words alone have ranked.
        vectors = once.vectors if ranking.degraded is None else None
        seen = Seen(texts=once.texts or (asked.query,), vectors=vectors)
        return explain(
            index, seen, ranking=ranking, lenient=lenient, strictness=self._strictness, surface=request.surface
        )


class _Once:
    """An embedder that asks another one, once, and shows what it was asked and what it said."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.texts: tuple[str, ...] = ()
        self.vectors: Vectors | None = None

    @property
    def manifest(self) -> ModelManifest:
        return self._embedder.manifest

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        if self.texts != tuple(texts):
            self.texts, self.vectors = tuple(texts), None
            self.vectors = np.asarray(self._embedder.embed_queries(texts))
        if self.vectors is None:
            raise RuntimeError("the model failed on these texts")
        return self.vectors

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_documents(texts)
