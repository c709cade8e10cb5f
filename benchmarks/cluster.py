"""Vectors in a real six-node Redis Cluster under load, while a primary is killed and while a shard is added.

    python -m benchmarks.cluster [--surfaces 6] [--tools 1000] [--seconds 10] [--threads 2]

Each thread searches one surface after the other and never waits between two searches. A search that raises is an error
here; the service answers such a query by words and says `degraded`. The slots of half of the surfaces move to the new
shard. Needs what the tests need: the servers come from PyPI.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import redis

from indexer.adapters.redis_link import read_redis_url
from indexer.adapters.redis_vectors import RedisVectorIndex, RedisVectors
from tests.contracts.vector_index_contract import unit
from tests.indexer.redis_cluster import Cluster, running_cluster
from tests.indexer.redis_server import BINARIES, RedisServer, free_port, start
from tests.indexer.samples import artefact

_DIMENSION, _DEPTH = 384, 1_024


@dataclass(slots=True, kw_only=True)
class Seen:
    """What one thread has seen in one phase."""

    took: list[float] = field(default_factory=list)
    """Seconds of each search that was answered."""
    failed: list[float] = field(default_factory=list)
    """When a search failed, by the monotonic clock."""
    kinds: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    """Answers whose first row is not the one that was asked for."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each phase, and all of it as one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--surfaces", type=int, default=6)
    parser.add_argument("--tools", type=int, default=1_000, help="of each surface")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each phase")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, running_cluster(Path(folder)) as cluster:
        vectors = [unit(asked.tools, _DIMENSION, seed=at) for at in range(asked.surfaces)]
        keys, indexes, rate = _uploaded(cluster, vectors)
        print(f"uploaded {asked.surfaces} surfaces of {asked.tools:,} tools, {rate:.0f} vectors/s")
        result: dict[str, Any] = {"surfaces": asked.surfaces, "tools": asked.tools, "vectors_s": round(rate)}

        def phase(name: str, meanwhile: Callable[[], None]) -> None:
            result[name] = _loaded(indexes, vectors, asked.threads, asked.seconds, meanwhile)
            print(name, json.dumps(result[name]))

        phase("calm", lambda: None)
        phase("a primary is killed", lambda: cluster.primary_of(keys[0]).stop())
        phase("after it", lambda: None)
        new = start(BINARIES["redis-8"], Path(folder), "--cluster-enabled", "yes", port=free_port())
        try:
            phase("a shard is added", lambda: _grow(cluster, new, keys[: len(keys) // 2]))
        finally:
            new.stop()
        print(json.dumps(result))
    return 0


def _uploaded(
    cluster: Cluster, vectors: Sequence[np.ndarray[Any, np.dtype[np.float32]]]
) -> tuple[list[str], list[RedisVectorIndex], float]:
    place = RedisVectors(read_redis_url(cluster.url))
    keys, indexes, began = list[str](), list[RedisVectorIndex](), time.monotonic()
    for at, rows in enumerate(vectors):
        manifest = artefact("tool").manifest.model_copy(
            update={"surface": f"s{at}", "tools": len(rows), "dimension": _DIMENSION}
        )
        indexes.append(place.index_of(manifest, rows))
        keys.append(f"toolsurface:{{{manifest.application}/{manifest.surface}/{manifest.version}}}:vectors")
    return keys, indexes, sum(map(len, vectors)) / (time.monotonic() - began)


def _loaded(
    indexes: Sequence[RedisVectorIndex],
    vectors: Sequence[np.ndarray[Any, np.dtype[np.float32]]],
    threads: int,
    seconds: float,
    meanwhile: Callable[[], None],
) -> dict[str, Any]:
    over = Event()

    def ask(thread: int) -> Seen:
        seen, turn = Seen(), thread
        while not over.is_set():
            at, row = turn % len(indexes), turn % len(vectors[0])
            turn += threads
            began = time.monotonic()
            try:
                rows = indexes[at].search(vectors[at][row : row + 1], _DEPTH)[1]
            except Exception as error:  # noqa: BLE001 - as the service does: whatever it is, words answer
                seen.failed.append(time.monotonic())
                seen.kinds[type(error).__name__] += 1
                time.sleep(0.01)  # a search that fails at once is repeated by nobody
            else:
                seen.took.append(time.monotonic() - began)
                seen.wrong += int(rows[0, 0] != row)
        return seen

    with ThreadPoolExecutor(threads) as pool:
        asking = [pool.submit(ask, thread) for thread in range(threads)]
        began = time.monotonic()
        try:
            meanwhile()
            change = time.monotonic() - began
            time.sleep(max(0.0, seconds - change))
        finally:
            over.set()
        took_s = time.monotonic() - began
        all_seen = [one.result() for one in asking]
    took = np.array([each for seen in all_seen for each in seen.took]) * 1000
    failed = [each for seen in all_seen for each in seen.failed]
    return {
        "seconds": round(took_s, 1),
        "change_s": round(change, 2),
        "answered": len(took),
        "errors": len(failed),
        "kinds": dict(sum((seen.kinds for seen in all_seen), Counter())),
        "wrong": sum(seen.wrong for seen in all_seen),
        "errors_ended_after_s": round(max(failed) - began, 1) if failed else 0,
        "p50_ms": round(float(np.percentile(took, 50)), 1),
        "p99_ms": round(float(np.percentile(took, 99)), 1),
        "max_ms": round(float(took.max()), 1),
    }


def _grow(cluster: Cluster, new: RedisServer, keys: Sequence[str]) -> None:
    """The new server joins, and the slots of these keys move to it, as `redis-cli --cluster reshard` would do it."""
    alive = [server for server in cluster.servers if server.process.poll() is None]
    clients = {server.port: redis.Redis(port=server.port) for server in alive}
    joining = redis.Redis(port=new.port)
    mine = _said(joining, "CLUSTER", "MYID")
    _said(joining, "CLUSTER", "MEET", "127.0.0.1", alive[0].port)
    while any(mine not in _said(client, "CLUSTER", "NODES") for client in (*clients.values(),)) or any(
        str(server.port) not in _said(joining, "CLUSTER", "NODES") for server in alive
    ):
        time.sleep(0.05)
    while "cluster_state:ok" not in _said(joining, "CLUSTER", "INFO"):
        time.sleep(0.05)
    for key in keys:
        slot = int(_said(joining, "CLUSTER", "KEYSLOT", key))
        owner = cluster.primary_of(key).port
        source = clients[owner]
        _said(joining, "CLUSTER", "SETSLOT", slot, "IMPORTING", _said(source, "CLUSTER", "MYID"))
        _said(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", mine)
        names = source.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100)  # type: ignore[no-untyped-call]
        _said(source, "MIGRATE", "127.0.0.1", new.port, "", 0, 60_000, "KEYS", *names)
        for client in (joining, source):
            _said(client, "CLUSTER", "SETSLOT", slot, "NODE", mine)
    for client in (joining, *clients.values()):
        client.close()


def _said(client: redis.Redis, *command: Any) -> str:
    answer = client.execute_command(*command)  # type: ignore[no-untyped-call]
    if isinstance(answer, dict):  # redis-py takes CLUSTER NODES and INFO apart
        return " ".join(f"{name}:{facts}" for name, facts in answer.items())
    return answer.decode() if isinstance(answer, bytes) else str(answer)


if __name__ == "__main__":
    sys.exit(main())
