"""The Selector: ranks in process, on whichever indexes are served.

Rules kept here:

1. Everything that computes runs in the executor; the event loop only waits. No more requests wait than `max_waiting`:
   one more is refused at once, so that its asker can fall back instead of queueing. Who waits for a version to be
   loaded stands in no queue but that version's, which is as long. One asker's flood takes no places from the others
   (`places.py`), and in the executor that they share not their turn (`fair_threads.py`).
2. A request is answered on one version from beginning to end, whatever is swapped meanwhile: the one of the asked
   catalog, and where that one has left memory and cannot be loaded again, the active one.
3. The same query of one asker on the same version is computed once at a time, and remembered where there is a cache.
4. A request that is cancelled leaves the queue if it stands in it, and stops before its next stage if it does not.

Not done here: HTTP, deadlines and fallbacks (the search's), what is computed (`answering.py`), loading indexes
(`library.py`). The query goes into no message and no key that can be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from typing import Final

from indexer.index import SurfaceIndex
from models.embedder import Embedder
from selector.abstaining import STRICTNESS
from selector.answering import Answering, Around, nothing_around
from selector.fair_threads import asker
from selector.places import Places, in_a_thread, in_turns
from selector.ports import Indexes, RankingCache
from selector.ranking import Leg
from selector.rankings import Asked, Keys, Ranking
from selector.served import ServedVersion, VersionKey
from selector.single_flight import SingleFlight
from surface.errors import RankerUnavailable
from surface.protocol import RankReply
from surface.ranking import RankRequest

MAX_WAITING: Final = 64
"""A quarter of a second of work on two cores."""
TURN: Final = 8
"""Queries of a batch that are answered in one turn. In turns of 32 a query costs a seventh less of a core's time, and
whoever asks one thing meanwhile waits for all of them."""
_ONE_PROCESS: Final = bytes(32)
"""Keys what only this process ever sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How busy a selector is; but for `waiting` the counts are since the start."""

    waiting: int
    """Requests that are computed now or stand in the queue."""
    computed: int
    joined: int
    """Answered with what another request was waiting for already."""
    hits: int
    """Answered from the cache."""
    overloaded: int
    abandoned: int
    """Cancelled before their answer was there."""


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
        cache: RankingCache | None = None,
        cache_key: bytes | None = None,
        around: Around = nothing_around,
    ) -> None:
        """`executor` stays the caller's to shut down; it runs threads, as indexes are shared.

        `strictness`: how clearly a tool must stand out for the ranker not to abstain, in spreads of the cosine of
        unrelated requests; 0 never abstains. Raises ValueError where it is negative or not finite.

        `cache_key`: the secret, 16 to 64 bytes, that makes the keys of the cache; needed with a cache, and the same in
        every process that shares it. Raises ValueError where it is missing or of another length.

        `around`: entered around each stage, to time it; raises nothing.
        """
        if not 0.0 <= strictness < inf:
            raise ValueError(f"strictness: {strictness} is not a number from 0 on")
        if cache is not None and cache_key is None:
            raise ValueError("cache_key: needed with a cache; draw one with secrets.token_bytes(32)")
        self._indexes = indexes
        self._answering = Answering(embedder=embedder, leg=leg, strictness=strictness, around=around)
        self._executor = executor
        self._max_waiting = max_waiting
        self._cache = cache
        self._keys = Keys(secret=_ONE_PROCESS if cache_key is None else cache_key, leg=leg, strictness=strictness)
        self._flights: SingleFlight[Ranking] = SingleFlight()
        self._opening: dict[VersionKey, Places] = {}
        self._places = Places(max_waiting)
        self._computed = self._hits = self._overloaded = self._abandoned = 0

    @property
    def id(self) -> str:
        """``selector``: the same ranker, wherever it runs."""
        return "selector"

    @property
    def load(self) -> Load:
        """A snapshot."""
        return Load(
            waiting=self._places.taken,
            computed=self._computed,
            joined=self._flights.joined,
            hits=self._hits,
            overloaded=self._overloaded,
            abandoned=self._abandoned,
        )

    async def rank(self, request: RankRequest) -> RankReply:
        """The ranking on the version of the asked catalog, else on the active one, also where that cannot be opened.

        Raises RankerUnavailable: `unknown_surface`, `index_unusable`, `overloaded`.
        """
        version = self._indexes.find(request.application, request.surface, request.catalog_digest)
        asked = Asked.of(request)
        try:
            return await self._rank(version, asked)
        except RankerUnavailable as error:
            active = self._indexes.find(request.application, request.surface, None)
            if error.code != "index_unusable" or active.key == version.key:
                raise
            return await self._rank(active, asked)

    async def _rank(self, version: ServedVersion, asked: Asked) -> RankReply:
        """The ranking on this version; raises what `rank` raises."""
        key = self._keys.of(version.version, asked)
        (ranking,) = await self._remembered([key])
        if ranking is None:
            # Of another asker's it would stand in that one's queue.
            flight = key + asker().encode("utf-8", "surrogatepass")
            ranking = await self._flights.run(flight, lambda: self._one(version, asked, key))
        return _reply(version, ranking)

    async def rank_many(self, requests: Sequence[RankRequest]) -> tuple[RankReply, ...]:
        """The reply of each request, in order; of what no cache knows `TURN` are embedded in one call.

        A batch counts in the queue as its requests do. Raises what `rank` raises, for the batch as a whole.
        """
        versions = [self._indexes.find(each.application, each.surface, each.catalog_digest) for each in requests]
        asked = [Asked.of(request) for request in requests]
        try:
            return await self._rank_many(versions, asked)
        except RankerUnavailable as error:
            active = [self._indexes.find(each.application, each.surface, None) for each in requests]
            if error.code != "index_unusable" or active == versions:
                raise
            return await self._rank_many(active, asked)

    async def _rank_many(self, versions: Sequence[ServedVersion], asked: Sequence[Asked]) -> tuple[RankReply, ...]:
        keys = [self._keys.of(version.version, one) for version, one in zip(versions, asked, strict=True)]
        different = dict(zip(keys, zip(versions, asked, strict=True), strict=True))
        found = await self._remembered(list(different))
        known = {key: ranking for key, ranking in zip(different, found, strict=True) if ranking is not None}
        missing = {key: what for key, what in different.items() if key not in known}
        if missing:
            known |= zip(missing, await self._compute(list(missing.values())), strict=True)
            self._remember({key: known[key] for key in missing})
        return tuple(_reply(version, known[key]) for version, key in zip(versions, keys, strict=True))

    async def _one(self, version: ServedVersion, asked: Asked, key: bytes) -> Ranking:
        (ranking,) = await self._compute([(version, asked)])
        self._remember({key: ranking})
        return ranking

    async def _remembered(self, keys: Sequence[bytes]) -> Sequence[Ranking | None]:
        if self._cache is None:
            return (None,) * len(keys)
        rankings = await self._cache.find_many(keys)
        self._hits += sum(ranking is not None for ranking in rankings)
        return rankings

    def _remember(self, rankings: Mapping[bytes, Ranking]) -> None:
        for key, ranking in rankings.items():
            if self._cache is not None and ranking.degraded is None:
                self._cache.keep(key, ranking)

    async def _compute(self, asked: Sequence[tuple[ServedVersion, Asked]]) -> tuple[Ranking, ...]:
        # Opened first: who waits for a version that is being loaded stands in no other version's way.
        indexes = {version.key: await self._opened(version) for version, _ in asked}
        try:
            give_back = self._places.take(len(asked))
        except RankerUnavailable:
            self._overloaded += len(asked)
            raise
        work = [(indexes[version.key], one) for version, one in asked]
        try:
            if len(work) == 1:
                rankings = await in_a_thread(self._executor, partial(self._answering, work), ended=give_back)
            else:
                turns = [work[at : at + TURN] for at in range(0, len(work), TURN)]
                parts = [(len(turn), partial(self._answering, turn)) for turn in turns]
                rankings = (*chain.from_iterable(await in_turns(self._executor, parts, ended=give_back)),)
        except asyncio.CancelledError:
            self._abandoned += len(asked)
            raise
        self._computed += len(asked)
        return rankings

    async def _opened(self, version: ServedVersion) -> SurfaceIndex:
        """The index; of those that wait for one version to be loaded there are no more than `max_waiting`."""
        places = self._opening.setdefault(version.key, Places(self._max_waiting))
        try:
            give_back = places.take()
        except RankerUnavailable:
            self._overloaded += 1
            raise
        try:
            return await self._indexes.opened(version)
        finally:
            give_back()
            if not places.taken:
                self._opening.pop(version.key, None)


def _reply(version: ServedVersion, ranking: Ranking) -> RankReply:
    return ranking.reply(
        surface=version.key.surface,
        index_version=version.version,
        catalog_digest=version.manifest.catalog_digest,
    )
