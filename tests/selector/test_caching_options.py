"""`serve --cache`: what it takes, what it refuses, and a real process that shares a cache with a Redis that dies."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from redis import Redis

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from selector.adapters.memory_cache import MemoryRankingCache
from selector.commands.caching import add_cache, chosen_cache
from selector.layered_cache import LayeredRankingCache
from surface.adapters.command_line import WrongUseError
from surface.adapters.selector_client import SelectorClient
from tests.indexer.redis_server import BINARIES, running
from tests.selector.builders import SURFACE, TOOLS, ask, put
from tests.selector.server_process import running_server


def _options(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_cache(parser)
    return parser.parse_args(given)


def test_by_default_rankings_are_remembered_in_memory_under_a_key_drawn_at_each_start() -> None:
    one, other = chosen_cache(_options()), chosen_cache(_options())
    assert isinstance(one.cache, MemoryRankingCache)
    assert one.key != other.key


def test_nowhere_is_nowhere() -> None:
    assert chosen_cache(_options("--cache", "none")).cache is None


def test_replicas_with_one_key_file_have_one_key(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(32))
    chosen = chosen_cache(_options("--cache", "redis://127.0.0.1:1/0", "--cache-key-file", str(key)))
    assert isinstance(chosen.cache, LayeredRankingCache)
    assert chosen.key == bytes(32)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--cache", "disk"], "--cache: needs memory, none, redis://"),
        (["--cache", "redis://127.0.0.1:6379/x"], "--cache: after the host only the number of a database"),
        (["--cache-key-file", "nowhere/key"], "--cache-key-file: nowhere/key: No such file"),
        (["--cache-key-file", "/dev/null"], "--cache-key-file: /dev/null: is not a regular file"),
        (["--cache-key-file", "/dev/zero"], "--cache-key-file: /dev/zero: is not a regular file"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(given: list[str], says: str) -> None:
    with pytest.raises(WrongUseError) as raised:
        chosen_cache(_options(*given))
    assert str(raised.value).startswith(says)


async def test_what_a_replica_keeps_in_redis_holds_no_query_and_it_answers_when_redis_has_died(tmp_path: Path) -> None:
    key, store = tmp_path / "key", tmp_path / "store"
    key.write_bytes(bytes(range(32)))
    put(DirectoryStore(store), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    with running(BINARIES["redis-8"], tmp_path) as server, Redis(port=server.port) as redis:
        shared = ("--cache", f"{server.url}?namespace=shared", "--cache-key-file", str(key))
        with running_server(store, *shared, log=tmp_path / "log") as replica:
            async with SelectorClient(replica.url, timeout=10) as client:
                replies = [await client.rank(ask("delete a file"))]
                kept: list[bytes] = []
                for number in range(1_000):  # the connection is made beside the first requests
                    await client.rank(ask(f"delete file {number}"))
                    kept = redis.keys("shared:ranking:*")
                    if kept:
                        break
                assert b"delete" not in kept[0]
                assert b"delete a" not in (redis.get(kept[0]) or b"")
                server.stop()
                replies += [await client.rank(ask("delete a file")), await client.rank(ask("Delete a file"))]
    assert {reply.ranked[0].name for reply in replies} == {"file_delete"}
    assert all(reply.degraded is None for reply in replies)
