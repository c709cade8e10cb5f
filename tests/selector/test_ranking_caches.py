"""The caches of rankings: one contract on each, and what a server that is gone, hangs or lies costs."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from selector.adapters.memory_cache import MemoryRankingCache
from selector.adapters.redis_cache import CONNECTIONS, MOST_FAILURES, RedisRankingCache
from selector.layered_cache import LayeredRankingCache
from selector.ports import RankingCache
from selector.rankings import Ranking
from tests.contracts.ranking_cache_contract import KEY, RankingCacheContract, found
from tests.indexer.redis_server import BINARIES, RedisServer, running

PATIENCE_S = 0.5
"""More than in service: the machine that runs the tests may be busy."""
SOME = Ranking(ranked=(("a_tool", 1.0),))


@pytest.fixture(scope="module", params=["redis-8", "valkey-9"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(BINARIES[request.param], tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
async def in_redis(server: RedisServer, request: pytest.FixtureRequest) -> AsyncIterator[RedisRankingCache]:
    cache = _over(server, f"test-{request.node.name[:40]}")
    yield cache
    await cache.close()


class TestMemory(RankingCacheContract):
    @pytest.fixture
    async def cache(self) -> RankingCache:
        return MemoryRankingCache(max_bytes=100_000)


class TestRedis(RankingCacheContract):
    @pytest.fixture
    async def cache(self, in_redis: RedisRankingCache) -> RankingCache:
        return in_redis


class TestLayered(RankingCacheContract):
    @pytest.fixture
    async def cache(self, in_redis: RedisRankingCache) -> RankingCache:
        return LayeredRankingCache(near=MemoryRankingCache(max_bytes=100_000), far=in_redis)


async def test_memory_forgets_what_was_asked_least_recently_and_never_grows_past_its_bound() -> None:
    cache = MemoryRankingCache(max_bytes=2_000)
    for at in range(100):
        cache.keep(bytes([at]) * 32, SOME)
        assert await cache.find(bytes([0]) * 32) == SOME
    kept = [at for at in range(100) if await cache.find(bytes([at]) * 32) is not None]
    assert kept == [0, 98, 99]


async def test_what_the_far_cache_finds_the_near_one_keeps() -> None:
    near, far = MemoryRankingCache(max_bytes=10_000), MemoryRankingCache(max_bytes=10_000)
    far.keep(KEY, SOME)
    assert await LayeredRankingCache(near=near, far=far).find(KEY) == SOME
    assert await near.find(KEY) == SOME


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"nonsense",
        b"{}",
        b"[" * 100_000,
        b'[["a"]]',
        b'[["a", 1.0, 2.0]]',
        b'[["a", "1"]]',
        b'[["a", true]]',
        b'[["a", NaN]]',
        b'[["a", Infinity]]',
        b'[["", 1.0]]',
        b'[["\\ud800", 1.0]]',
        b"[[3, 1.0]]",
        json.dumps([["a" * 1_025, 1.0]]).encode(),
        json.dumps([["a", 1.0]] * 101).encode(),
        b"\xff\xfe",
        b" " * 300_000,
    ],
)
async def test_what_a_stranger_wrote_is_no_ranking(
    in_redis: RedisRankingCache, server: RedisServer, value: bytes
) -> None:
    await _reached(in_redis)
    async with Redis(port=server.port) as stranger:
        await stranger.set(in_redis._prefix + KEY.hex(), value)
    assert await in_redis.find(KEY) is None
    assert in_redis.failures == 0


async def test_a_value_of_another_type_is_not_found(in_redis: RedisRankingCache, server: RedisServer) -> None:
    await _reached(in_redis)
    async with Redis(port=server.port) as stranger:
        await stranger.lpush(in_redis._prefix + KEY.hex(), b"[]")
    assert await in_redis.find(KEY) is None


async def test_entries_end_by_themselves(in_redis: RedisRankingCache, server: RedisServer) -> None:
    await _reached(in_redis)
    in_redis.keep(KEY, SOME)
    await found(in_redis, KEY)
    async with Redis(port=server.port) as stranger:
        assert 3_000 < await stranger.ttl(in_redis._prefix + KEY.hex()) <= 3_600


async def test_a_server_that_hangs_costs_one_moment_and_comes_back(tmp_path: Path) -> None:
    with running(BINARIES["redis-8"], tmp_path) as server:
        cache = _over(server, "hang", rest_s=0.05)
        await _reached(cache)
        cache.keep(KEY, SOME)
        await found(cache, KEY)
        server.process.send_signal(signal.SIGSTOP)
        assert await cache.find(KEY) is None
        assert cache.failures == 1
        # Not asked again: whatever waited for the server would wait its patience out each time.
        async with asyncio.timeout(20 * PATIENCE_S):
            for _ in range(1_000):
                assert await cache.find(KEY) is None
                cache.keep(KEY, SOME)
        server.process.send_signal(signal.SIGCONT)
        assert await found(cache, KEY) == SOME
        await cache.close()


async def test_who_comes_while_every_connection_is_in_use_finds_nothing_and_the_cache_goes_on(tmp_path: Path) -> None:
    with running(BINARIES["redis-8"], tmp_path) as server:
        cache = _over(server, "crowd", rest_s=30)
        await _reached(cache)
        cache.keep(KEY, SOME)
        await found(cache, KEY)
        for _ in range(20):
            rankings = await asyncio.gather(*(cache.find(KEY) for _ in range(32)))
            assert SOME in rankings
        assert cache.failures == 0
        async with Redis(port=server.port) as observer:
            ours = [client for client in await observer.client_list() if client["cmd"] in {"mget", "ping", "set"}]
        assert 0 < len(ours) <= CONNECTIONS + 1
        await cache.close()


async def test_an_answer_that_comes_late_is_not_found_and_cuts_nothing_off(tmp_path: Path) -> None:
    with running(BINARIES["redis-8"], tmp_path) as server:
        cache = _over(server, "late", rest_s=30)
        await _reached(cache)
        cache.keep(KEY, SOME)
        await found(cache, KEY)
        cache._patience_s = 0.01
        for _ in range(MOST_FAILURES - 1):
            await _late(cache, server)
        cache._patience_s = PATIENCE_S
        assert await cache.find(KEY) == SOME
        async with Redis(port=server.port) as observer:
            before = (await observer.info("stats"))["total_connections_received"]
            assert await cache.find(KEY) == SOME
            assert (await observer.info("stats"))["total_connections_received"] == before
        await cache.close()


async def test_after_several_failures_in_a_row_it_rests(tmp_path: Path) -> None:
    with running(BINARIES["redis-8"], tmp_path) as server:
        cache = _over(server, "rest", rest_s=30)
        await _reached(cache)
        cache._patience_s = 0.01
        for _ in range(MOST_FAILURES):
            await _late(cache, server)
        cache._patience_s = PATIENCE_S
        assert await cache.find(b"reached".ljust(32)) is None
        assert cache.failures == MOST_FAILURES
        await cache.close()


async def test_a_server_that_is_not_there_costs_nothing() -> None:
    cache = RedisRankingCache(connect=lambda: Redis(port=1), namespace="gone")
    for _ in range(100):
        assert await cache.find(KEY) is None
        cache.keep(KEY, SOME)
    await cache.close()
    assert cache.failures == 1


def _over(server: RedisServer, namespace: str, *, rest_s: float = 0.01) -> RedisRankingCache:
    return RedisRankingCache(
        connect=lambda: Redis(port=server.port), namespace=namespace, patience_s=PATIENCE_S, rest_s=rest_s
    )


async def _late(cache: RedisRankingCache, server: RedisServer) -> None:
    """One answer that comes once nobody waits for it."""
    before = cache.failures
    server.process.send_signal(signal.SIGSTOP)
    assert await cache.find(KEY) is None
    server.process.send_signal(signal.SIGCONT)
    assert cache.failures == before + 1
    await asyncio.gather(*cache._background)


async def _reached(cache: RedisRankingCache) -> None:
    async with asyncio.timeout(10):
        while await cache.find(b"reached".ljust(32)) is None:
            cache.keep(b"reached".ljust(32), SOME)
            await asyncio.sleep(0.001)
