"""Two caches as one: a near one that answers at once, and a far one that other replicas share."""

from __future__ import annotations

from collections.abc import Sequence
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
        (ranking,) = await self.find_many([key])
        return ranking

    async def find_many(self, keys: Sequence[bytes]) -> tuple[Ranking | None, ...]:
        """See `selector.ports.RankingCache`."""
        found = dict(zip(keys, await self.near.find_many(keys), strict=True))
        missing = [key for key, ranking in found.items() if ranking is None]
        if missing:
            for key, ranking in zip(missing, await self.far.find_many(missing), strict=True):
                if ranking is not None:
                    self.near.keep(key, ranking)
                    found[key] = ranking
        return tuple(found[key] for key in keys)

    def keep(self, key: bytes, ranking: Ranking) -> None:
        """See `selector.ports.RankingCache`."""
        self.near.keep(key, ranking)
        self.far.keep(key, ranking)
