"""The ranking service under load from a second process, held against its parts in the same run.

    python -m benchmarks.service [--tools 200,5000,20000,100000] [--in-flight 1,8,64] [--seconds 3] [--rounds 3]

`model` is the bare embedding of a query and its clauses, `model+search` that and the exact search, `in process` the
whole ranking without HTTP, `service` the real `serve` process without a cache, `cached` one that knows every query.
They take turns, so that a busy machine hits them alike; `CPU ms` is what the processor did for one request (in the
service's process alone), which a busy machine changes least. Needs the sets; see TOOLSURFACE_BENCH.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.service.bare import Bare, summed
from benchmarks.service.catalogs import put_catalog
from benchmarks.service.client import Connection, request_of
from benchmarks.service.embedding import BENCH
from benchmarks.service.process import PATH, Service, service
from benchmarks.service.queries import missing, queries

_CACHED = 50
"""Different queries asked of the cache."""
_PAIRS = 150
_APART = 1_000
"""Queries between the first of one round and that of the next; every way begins with the same one."""
_OPTIONS = ("--strictness", "0", "--keep-replaced", "1")


def run(size: int, *, in_flight: Sequence[int], seconds: float, rounds: int) -> dict[str, Any]:
    """Everything about one size of catalog."""
    texts = queries(BENCH, 4_000)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        put_catalog(store, size, bench=BENCH)
        bare = Bare(store)
        with service(store, "--cache", "none", *_OPTIONS) as plain, service(store, *_OPTIONS) as cached:
            result: dict[str, Any] = {"tools": size, "ready_s": round(plain.ready_s, 2), "runs": []}
            few = texts[:_CACHED]
            known = 0
            while known < _CACHED:
                known += len(cached.asked(few, in_flight=1, seconds=seconds, first=known)["took"])
            result["over"] = paired(bare, plain, texts[-_PAIRS:])
            for count in in_flight:
                ways: dict[str, Callable[..., Any]] = {
                    "model": partial(bare.measured, bare.model, texts),
                    "model+search": partial(bare.measured, bare.model_and_search, texts),
                    "in process": partial(bare.in_process, texts),
                    "service": partial(plain.asked, texts),
                    "cached": partial(cached.asked, few),
                }
                seen: dict[str, list[Any]] = {name: [] for name in ways}
                for at in range(rounds):
                    for name, way in ways.items():
                        seen[name].append(way(in_flight=count, seconds=seconds, first=at * _APART))
                for name, of_way in seen.items():
                    refused = sum(
                        count for one in of_way for code, count in one.get("statuses", {}).items() if code != "200"
                    )
                    result["runs"].append({"in_flight": count, "way": name, "refused": refused, **summed(of_way)})
            result["memory_mb"] = round(plain.memory_mb)
            result["swap"] = _swap(plain, store, size, texts, seconds=2 * seconds)
        bare.close()
    return result


def paired(bare: Bare, service: Service, texts: Sequence[str]) -> float:
    """How many milliseconds the service takes longer than model and search.

    The median over queries, each asked of both, one right after the other.
    """
    host, port = service.url.removeprefix("http://").split(":")
    connection = Connection(host, int(port))
    over: list[float] = []
    for text in texts:
        request = request_of(host, PATH, text)
        began = time.monotonic()
        bare.model_and_search(text)
        between = time.monotonic()
        connection.ask(request)
        over.append(1000 * ((time.monotonic() - between) - (between - began)))
    connection.close()
    return round(statistics.median(over), 2)


def _swap(service: Service, store: Path, size: int, texts: Sequence[str], *, seconds: float) -> dict[str, Any]:
    """p99 before and while a replica takes up a new version, and memory before and after; eight in flight."""
    before = service.asked(texts, in_flight=8, seconds=seconds)
    memory = service.memory_mb
    # The deploy takes the processor too; what comes after it is the swap's.
    put_catalog(store, size, bench=BENCH, edition="2")
    while_it = service.asked(texts, in_flight=8, seconds=seconds)
    return {
        "p99_before": round(float(np.percentile(before["took"], 99)), 2),
        "p99_while": round(float(np.percentile(while_it["took"], 99)), 2),
        "memory_before_mb": round(memory),
        "memory_after_mb": round(service.memory_mb),
        "statuses": while_it["statuses"],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark; a table and a JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__.splitlines()[0])
    parser.add_argument("--tools", default="200,5000,20000", metavar="N,M", help="sizes (default: %(default)s)")
    parser.add_argument("--in-flight", default="1,8,64", metavar="N,M", help="requests at once (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, metavar="N", help="of each run (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="(default: %(default)s)")
    arguments = parser.parse_args(argv)
    if missing(BENCH):
        print(f"service: left out, {', '.join(missing(BENCH))} not at {BENCH}; set TOOLSURFACE_BENCH", file=sys.stderr)
        return 0
    counts = [int(count) for count in arguments.in_flight.split(",")]
    results = []
    print("| tools | in flight | | per s | p50 ms | p95 | p99 | CPU ms | refused |")
    print("|--:|--:|---|--:|--:|--:|--:|--:|--:|")
    for size in map(int, arguments.tools.split(",")):
        result = run(size, in_flight=counts, seconds=arguments.seconds, rounds=arguments.rounds)
        results.append(result)
        for one in result["runs"]:
            print(
                f"| {size:,} | {one['in_flight']} | {one['way']} | {one['per_s']} | {one['p50']} | {one['p95']} | "
                f"{one['p99']} | {one['cpu_ms']} | {one['refused']} |",
                flush=True,
            )
    print("\n| tools | over model+search ms | ready s | memory MB | p99 before a swap | after it | memory after MB |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for result in results:
        swap = result["swap"]
        print(
            f"| {result['tools']:,} | {result['over']} | {result['ready_s']} | {swap['memory_before_mb']} | "
            f"{swap['p99_before']} | {swap['p99_while']} | {swap['memory_after_mb']} |"
        )
    print(json.dumps({"benchmark": "service", "runs": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
