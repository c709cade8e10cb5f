"""Asking servers that may hang: nobody waits twice for the same one, and each is asked again once it answers."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
import redis

from indexer.adapters import quick_link
from indexer.adapters.quick_link import QuickLink
from indexer.adapters.redis_link import RedisLink, RedisWaits, read_redis_url
from indexer.errors import StoreUnavailableError
from tests.indexer.looking import nobody_goes_on_looking  # noqa: F401 - a fixture of this module
from tests.indexer.redis_cluster import until
from tests.indexer.redis_server import BINARIES, RedisServer, running

WAIT_S, SLOTS = 0.5, 16_384


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[RedisServer]:
    """A cluster of one server, which holds no slot yet."""
    options = ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"]
    with running(BINARIES["redis-8"], tmp_path, *options) as server:
        yield server


def quick(server: RedisServer, *, scheme: str) -> QuickLink:
    url = server.url.replace("redis://", f"{scheme}://")
    return QuickLink(RedisLink(read_redis_url(url), waits=RedisWaits(connect_s=WAIT_S, answer_s=WAIT_S, tries=0)))


def asked(link: QuickLink) -> Callable[[], bool]:
    """Whether the server answers."""

    def answers() -> bool:
        try:
            return link.ask("key", lambda client: client.exists("key")) == 0
        except StoreUnavailableError:
            return False

    return answers


def own(server: RedisServer, *ranges: int) -> None:
    """Gives the server slots, from the first to the last of each pair."""
    with redis.Redis(port=server.port) as client:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", *ranges)


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
def test_a_place_that_hangs_before_anybody_was_connected_is_waited_for_once(alone: RedisServer, scheme: str) -> None:
    own(alone, 0, SLOTS - 1)
    link, times = quick(alone, scheme=scheme), 60
    alone.stop(signal.SIGSTOP)
    began = time.monotonic()
    assert not any(asked(link)() for _ in range(times))
    assert time.monotonic() - began < times * WAIT_S / 2
    alone.stop(signal.SIGCONT)
    until(asked(link))


def test_a_cluster_that_serves_not_all_of_its_keys_yet_is_connected_to_once_it_does(alone: RedisServer) -> None:
    link = quick(alone, scheme="redis+cluster")
    own(alone, 0, SLOTS - 2)
    assert not asked(link)()
    own(alone, SLOTS - 1, SLOTS - 1)
    until(asked(link))


def test_a_server_that_nobody_asks_for_is_looked_at_no_more_and_found_out_by_the_next_who_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_link, "IDLE_S", 0.01)
    with running(BINARIES["redis-8"], tmp_path) as server:
        link = quick(server, scheme="redis")
        assert asked(link)()
        server.stop(signal.SIGSTOP)
        assert not asked(link)()
        until(lambda: all(one.name != "redis-away" for one in threading.enumerate()))
        server.stop(signal.SIGCONT)
        assert asked(link)()


def test_where_no_thread_is_to_be_had_the_next_who_asks_finds_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with running(BINARIES["redis-8"], tmp_path) as server:
        link = quick(server, scheme="redis")
        assert asked(link)()
        server.stop(signal.SIGSTOP)
        with monkeypatch.context() as patch:
            patch.setattr(Thread, "start", refuse)
            assert not asked(link)()
        server.stop(signal.SIGCONT)
        until(asked(link))
