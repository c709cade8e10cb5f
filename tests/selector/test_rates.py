"""Rates that replicas share in a real Redis, and what happens where it hangs or is gone."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from selector.access import EVERYTHING, Grant, Rate
from selector.adapters import rates
from selector.adapters.rates import Rates
from selector.adapters.shared_rates import shared_rates
from tests.indexer.redis_server import BINARIES, RedisServer, running

HOURLY = Grant(id="web", surfaces=EVERYTHING.surfaces, rate=Rate(amount=3, seconds=3_600))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with running(BINARIES["redis-8"], tmp_path) as server:
        yield server


@pytest.fixture
def news() -> list[str]:
    return []


@pytest.fixture
async def replicas(server: RedisServer, news: list[str]) -> AsyncIterator[tuple[Rates, Rates]]:
    def made() -> Rates:
        address = f"127.0.0.1:{server.port}/0"
        shared = shared_rates(address, cluster=False, tls=False, namespace="toolsurface", login={})
        return Rates(usual=None, shared=shared, tell=news.append)

    one, two = made(), made()
    ends = [asyncio.create_task(each.close_at_the_end()) for each in (one, two)]
    yield one, two
    for end in ends:
        end.cancel()
    await asyncio.gather(*ends, return_exceptions=True)


async def test_replicas_share_a_rate_and_a_batch_counts_as_its_queries(
    replicas: tuple[Rates, Rates], news: list[str]
) -> None:
    one, two = replicas
    assert await one.spend(HOURLY, 2, again=2) is None
    assert await two.spend(HOURLY, 1, again=1) is None
    for each in (one, two):
        waits = await each.spend(HOURLY, 1, again=1)
        assert waits is not None
        assert 1 <= waits <= 3_600
    assert news == []


async def test_who_asks_several_at_once_is_told_when_all_of_them_fit(replicas: tuple[Rates, Rates]) -> None:
    one, two = replicas
    assert await one.spend(HOURLY, 1, again=1) is None
    assert await two.spend(HOURLY, 1, again=1) is None
    # Two of three are spent at the beginning of an hour: three fit once half of the next one is over.
    waits = await one.spend(HOURLY, 2, again=3)
    assert waits is not None
    assert 5_390 <= waits <= 5_401


async def test_a_lone_client_that_waits_as_it_was_told_gets_its_batch_at_the_next_try(
    replicas: tuple[Rates, Rates],
) -> None:
    one, _ = replicas
    caller = replace(HOURLY, rate=Rate(amount=4, seconds=1))

    async def asked(queries: int) -> int | None:
        """As the door asks: one before the body is read, and the rest behind it."""
        waits = await one.spend(caller, 1, again=1)
        return waits if waits is not None else await one.spend(caller, queries - 1, again=queries)

    assert await asked(3) is None
    waits = await asked(4)
    assert waits is not None
    await asyncio.sleep(waits)  # the server's own clock counts
    assert await asked(4) is None


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
async def test_where_the_shared_store_fails_each_replica_counts_for_itself_and_says_so_once(
    replicas: tuple[Rates, Rates],
    server: RedisServer,
    news: list[str],
    how: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = replicas
    assert await one.spend(HOURLY, 3, again=3) is None
    server.stop(how)
    for each in (one, two):
        assert [await each.spend(HOURLY, 1, again=1) is None for _ in range(5)] == [True, True, True, False, False]
    assert len(news) == 2
    assert "each replica counts alone" in news[0]
    if how is signal.SIGSTOP:
        server.stop(signal.SIGCONT)
        monkeypatch.setattr(rates, "PAUSE", 0.0)
        one._shared_from = 0.0
        assert await one.spend(HOURLY, 1, again=1) is not None
        assert news[2:] == ["the store of the rates answers again"]
