"""Two caches as one: a near one that answers at once, and a far one that other replicas share."""

from __future__ import annotations

from dataclasses import dataclass

from selector.ports import RankingCache
from selector.rankings import Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredRankingCache:
    """Implements `selector.ports.RankingCache`; what the far one finds, the near one keeps."""

    near: RankingCache
    far: RankingCache

    async def find(self, key: bytes) -> Ranking | None:
        """See `selector.ports.RankingCache`."""
        ranking = await self.near.find(key)
        if ranking is None:
            ranking = await self.far.find(key)
            if ranking is not None:
                self.near.keep(key, ranking)
        return ranking

    def keep(self, key: bytes, ranking: Ranking) -> None:
        """See `selector.ports.RankingCache`."""
        self.near.keep(key, ranking)
        self.far.keep(key, ranking)
