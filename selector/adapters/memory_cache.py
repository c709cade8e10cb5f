"""Rankings remembered in this process, bounded in bytes: the one that was asked least recently goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from selector.rankings import Ranking

_ENTRY: Final = 400
"""Bytes of a key and its place, measured."""
_NAME: Final = 112
"""Bytes of one name's pair and score; the name itself is the index's own string, or as long again."""


class MemoryRankingCache:
    """Implements `selector.ports.RankingCache`."""

    def __init__(self, *, max_bytes: int) -> None:
        """`max_bytes`: about what all entries may take together."""
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[bytes, Ranking] = OrderedDict()

    async def find(self, key: bytes) -> Ranking | None:
        """See `selector.ports.RankingCache`."""
        ranking = self._entries.get(key)
        if ranking is not None:
            self._entries.move_to_end(key)
        return ranking

    async def find_many(self, keys: Sequence[bytes]) -> tuple[Ranking | None, ...]:
        """See `selector.ports.RankingCache`."""
        return tuple([await self.find(key) for key in keys])

    def keep(self, key: bytes, ranking: Ranking) -> None:
        """See `selector.ports.RankingCache`."""
        if key in self._entries:
            self._bytes -= _weight(self._entries.pop(key))
        self._entries[key] = ranking
        self._bytes += _weight(ranking)
        while self._bytes > self._max_bytes:
            self._bytes -= _weight(self._entries.popitem(last=False)[1])


def _weight(ranking: Ranking) -> int:
    return _ENTRY + sum(_NAME + len(name) for name, _ in ranking.ranked)
