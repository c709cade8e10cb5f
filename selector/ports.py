"""The ports of the selector: where an open index comes from, what remembers rankings, what ranks several queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from indexer.index import SurfaceIndex
from selector.rankings import Ranking
from selector.served import ServedVersion
from surface.protocol import RankReply
from surface.ranking import Ranker, RankRequest


class Indexes(Protocol):
    """The index versions that are served now."""

    def find(self, application: str, surface: str, catalog_digest: str | None) -> ServedVersion:
        """The served version of exactly that catalog, else the active one of the surface.

        Raises `surface.errors.RankerUnavailable`: `unknown_surface` where there is no such surface,
        `index_unusable` where there is one and no version of it is served. Never waits.
        """
        ...

    async def opened(self, version: ServedVersion) -> SurfaceIndex:
        """The index of a version that `find` gave: at once where it is in memory, else once it is loaded again.

        Raises `surface.errors.RankerUnavailable`: `index_unusable` where it cannot be loaded now.
        """
        ...


class RankingCache(Protocol):
    """Remembers rankings by keys that nobody can read.

    It may forget, and it may be gone: then nothing is found, a few milliseconds later at most. Nothing here raises, and
    what it finds is what was kept under exactly that key. One event loop uses it.
    """

    async def find(self, key: bytes) -> Ranking | None:
        """What was kept under this key, if it is known still."""
        ...

    async def find_many(self, keys: Sequence[bytes]) -> tuple[Ranking | None, ...]:
        """What `find` gives for each of different keys, in order, in no more time than for one."""
        ...

    def keep(self, key: bytes, ranking: Ranking) -> None:
        """Remembers a ranking that is not degraded; returns at once, whatever is still being written."""
        ...


class BatchRanker(Ranker, Protocol):
    """A ranker that several queries can be given at once."""

    async def rank_many(self, requests: Sequence[RankRequest]) -> tuple[RankReply, ...]:
        """The reply of each request, in order. Raises what `rank` raises, for all of them together."""
        ...
