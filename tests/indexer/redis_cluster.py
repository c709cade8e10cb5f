"""A real Redis Cluster on loopback: three primaries with a replica each, made of six processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from tests.indexer.redis_server import BINARIES, RedisServer, start

NODE_TIMEOUT_MS = 1_000
_SLOTS = 16_384
# No replica waits five seconds for others to join it.
_CLUSTERED = ("--cluster-enabled", "yes", "--repl-diskless-sync-delay", "0")
PARTIAL = ("--cluster-require-full-coverage", "no")
"""With it the servers that are there answer while another one has no successor yet; else all of them refuse."""


@dataclass(slots=True, kw_only=True)
class Cluster:
    servers: list[RedisServer]

    @property
    def url(self) -> str:
        return self.servers[0].url.replace("redis://", "redis+cluster://")

    def primary_of(self, key: str) -> RedisServer:
        """The server that holds a key now."""
        node = self.servers[-1]
        slot = _ask(node, "CLUSTER", "KEYSLOT", key)
        for first, last, primary, *_ in _ask(node, "CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(server for server in self.servers if server.port == primary[1])
        raise AssertionError("no server holds the slot")

    def replica_of(self, key: str) -> RedisServer:
        """The server that has a copy of it."""
        _, port, _ = _role(self.primary_of(key))[2][0]
        return next(server for server in self.servers if server.port == int(port))


@contextmanager
def running_cluster(folder: Path, *settings: str, binary: str = BINARIES["redis-8"]) -> Iterator[Cluster]:
    """The cluster, once every node of it knows that all slots are served and every primary has its replica."""
    with ExitStack() as stack:
        servers = []
        for number in range(6):
            home = folder / str(number)
            home.mkdir()
            options = [*_CLUSTERED, "--cluster-node-timeout", str(NODE_TIMEOUT_MS), *settings]
            server = start(binary, home, *options)
            stack.callback(server.stop)
            servers.append(server)
        primaries, replicas = servers[:3], servers[3:]
        for number, server in enumerate(primaries):
            _ask(server, "CLUSTER", "ADDSLOTSRANGE", number * _SLOTS // 3, (number + 1) * _SLOTS // 3 - 1)
        for server in servers[1:]:
            _ask(server, "CLUSTER", "MEET", "127.0.0.1", servers[0].port)
        until(lambda: all(_known(server) == 6 for server in servers))
        for primary, replica in zip(primaries, replicas, strict=True):
            _ask(replica, "CLUSTER", "REPLICATE", _ask(primary, "CLUSTER", "MYID"))
        until(lambda: all(_info(server, "cluster_state") == "ok" for server in servers))
        until(lambda: all(_role(server)[0] == b"master" and len(_role(server)[2]) == 1 for server in primaries))
        yield Cluster(servers=servers)


def until(true: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Returns once it is true; a cluster tells nobody, so it has to be asked."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "the cluster did not get there"


def _ask(server: RedisServer, *command: Any) -> Any:
    with redis.Redis(port=server.port) as client:
        return client.execute_command(*command)


def _info(server: RedisServer, name: str) -> str:
    found = _ask(server, "CLUSTER", "INFO")
    lines = found.decode().splitlines() if isinstance(found, bytes) else [f"{key}:{found[key]}" for key in found]
    return dict(line.split(":", 1) for line in lines)[name].strip()


def _known(server: RedisServer) -> int:
    return int(_info(server, "cluster_known_nodes"))


def _role(server: RedisServer) -> Any:
    return _ask(server, "ROLE")
