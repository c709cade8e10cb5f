"""How queries of many askers are best embedded: runs side by side, sessions of their own, or micro-batches.

    python -m benchmarks.service.embedding [--in-flight 8] [--seconds 4] [--rounds 3]

Askers ask again as soon as they are answered. `shared` is what the service does: one session, as many runs at once as
there are cores, each on one. `own` is a session for each core. `batched` collects whatever waits, up to 16, into one
call; nothing waits for a batch to fill, so a lone query is as fast. Medians over rounds, by turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from benchmarks.service.queries import missing, queries
from models.adapters.onnx import OnnxEmbedder, default_embedder, usable_cores

BENCH: Final = Path(os.environ.get("TOOLSURFACE_BENCH", "../shared/bench"))
_MOST_BATCHED: Final = 16

Embed = Callable[[str], None]


def asked(embed: Embed, texts: Sequence[str], *, in_flight: int, seconds: float) -> tuple[float, float, float]:
    """Queries a second, the median milliseconds of one, and the processor's milliseconds for one."""
    took: list[float] = []
    ends = time.perf_counter() + seconds

    def ask(start: int) -> None:
        at = start
        while time.perf_counter() < ends:
            began = time.perf_counter()
            embed(texts[at % len(texts)])
            took.append(time.perf_counter() - began)
            at += in_flight

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(in_flight)]
    began, busy = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    busy = time.process_time() - busy
    return len(took) / (time.perf_counter() - began), 1000 * statistics.median(took), 1000 * busy / len(took)


class Batched:
    """Workers that embed whatever waits, at once."""

    def __init__(self, model: OnnxEmbedder, workers: int) -> None:
        self._model = model
        self._waiting: SimpleQueue[tuple[str, threading.Event]] = SimpleQueue()
        for _ in range(workers):
            threading.Thread(target=self._work, daemon=True).start()

    def __call__(self, text: str) -> None:
        done = threading.Event()
        self._waiting.put((text, done))
        done.wait()

    def _work(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while len(batch) < _MOST_BATCHED and not self._waiting.empty():
                batch.append(self._waiting.get())
            self._model.embed_queries([text for text, _ in batch])
            for _, done in batch:
                done.set()


def own_sessions(cores: int) -> Embed:
    """A session for each core; whoever finds one free takes it."""
    free: SimpleQueue[OnnxEmbedder] = SimpleQueue()
    for _ in range(cores):
        free.put(default_embedder(threads=1))

    def embed(text: str) -> None:
        model = free.get()
        try:
            model.embed_queries([text])
        finally:
            free.put(model)

    return embed


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the comparison; one table and one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.embedding", description=__doc__.splitlines()[0])
    parser.add_argument("--in-flight", default="1,8", metavar="N,M", help="askers at once (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, metavar="N", help="of each (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="(default: %(default)s)")
    arguments = parser.parse_args(argv)
    if missing(BENCH):
        print(
            f"embedding: left out, {', '.join(missing(BENCH))} not at {BENCH}; set TOOLSURFACE_BENCH", file=sys.stderr
        )
        return 0
    cores, texts = usable_cores(), queries(BENCH, 3_000)
    shared = default_embedder(threads=cores)

    def side_by_side(text: str) -> None:
        shared.embed_queries([text])

    ways: dict[str, Embed] = {
        "shared": side_by_side,
        "own": own_sessions(cores),
        "batched": Batched(default_embedder(threads=1), cores),
    }
    print("| in flight | way | queries/s | p50 ms | CPU ms |\n|--:|---|--:|--:|--:|")
    results = []
    for in_flight in map(int, arguments.in_flight.split(",")):
        rounds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
        for _ in range(arguments.rounds):
            for name, embed in ways.items():
                rounds[name].append(asked(embed, texts, in_flight=in_flight, seconds=arguments.seconds))
        for name, measured in rounds.items():
            rate, p50, cpu = (statistics.median(column) for column in zip(*measured, strict=True))
            results.append({"in_flight": in_flight, "way": name, "per_s": round(rate, 1), "p50_ms": round(p50, 2)})
            results[-1]["cpu_ms"] = round(cpu, 2)
            print(f"| {in_flight} | {name} | {rate:.0f} | {p50:.2f} | {cpu:.2f} |", flush=True)
    print(json.dumps({"benchmark": "service_embedding", "cores": cores, "runs": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
