"""What every cache of rankings promises. A real implementation is given by the fixture `cache`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from selector.ports import RankingCache
from selector.rankings import Ranking

KEY, OTHER = bytes(range(32)), bytes(32)


async def found(cache: RankingCache, key: bytes) -> Ranking:
    """What is under the key, as soon as a write that is under way has arrived."""
    async with asyncio.timeout(10):
        while (ranking := await cache.find(key)) is None:  # noqa: ASYNC110 - only asking tells
            await asyncio.sleep(0.001)
    return ranking


class RankingCacheContract:
    @pytest.fixture
    async def cache(self) -> RankingCache:
        raise NotImplementedError

    @pytest.fixture
    async def reached(self, cache: RankingCache) -> Callable[[], Awaitable[RankingCache]]:
        """The cache, once it remembers."""

        async def reach() -> RankingCache:
            async with asyncio.timeout(10):
                while await cache.find(b"reached".ljust(32)) is None:
                    cache.keep(b"reached".ljust(32), Ranking(ranked=()))
                    await asyncio.sleep(0.001)
            return cache

        return reach

    async def test_what_was_kept_is_found_under_its_key_alone(
        self, reached: Callable[[], Awaitable[RankingCache]]
    ) -> None:
        cache = await reached()
        ranking = Ranking(ranked=(("invoices_list", 1.25), ("file.delete-2", -0.1)))
        cache.keep(KEY, ranking)
        assert await found(cache, KEY) == ranking
        assert await cache.find(OTHER) is None

    async def test_several_keys_at_once_find_what_each_would_find_alone(
        self, reached: Callable[[], Awaitable[RankingCache]]
    ) -> None:
        cache = await reached()
        one, two = Ranking(ranked=(("a", 1.0),)), Ranking(ranked=())
        cache.keep(KEY, one)
        cache.keep(OTHER, two)
        assert [await found(cache, KEY), await found(cache, OTHER)] == [one, two]
        assert await cache.find_many([OTHER, b"never kept".ljust(32), KEY]) == (two, None, one)
        assert await cache.find_many([]) == ()

    async def test_that_nothing_fits_is_remembered_too(self, reached: Callable[[], Awaitable[RankingCache]]) -> None:
        cache = await reached()
        cache.keep(KEY, Ranking(ranked=()))
        assert await found(cache, KEY) == Ranking(ranked=())

    async def test_the_last_one_kept_under_a_key_counts(self, reached: Callable[[], Awaitable[RankingCache]]) -> None:
        cache = await reached()
        one, two = Ranking(ranked=(("a", 1.0),)), Ranking(ranked=(("b", 2.0),))
        cache.keep(KEY, one)
        assert await found(cache, KEY) == one
        cache.keep(KEY, two)
        async with asyncio.timeout(10):
            while await cache.find(KEY) != two:  # noqa: ASYNC110 - only asking tells
                await asyncio.sleep(0.001)

    async def test_scores_and_names_come_back_to_the_last_bit(
        self, reached: Callable[[], Awaitable[RankingCache]]
    ) -> None:
        cache = await reached()
        kept: dict[bytes, Ranking] = {}
        for at, scores in enumerate([(0.1 + 0.2, 5e-324), (1.7976931348623157e308, -0.0), (3.0, 2.0)]):
            kept[bytes([at + 1]) * 32] = Ranking(ranked=tuple((f"t{row}", score) for row, score in enumerate(scores)))
        for key, ranking in kept.items():
            cache.keep(key, ranking)
        for key, ranking in kept.items():
            assert (await found(cache, key)).ranked == ranking.ranked
