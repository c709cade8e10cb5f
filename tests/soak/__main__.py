"""Ten minutes of mixed load with a deploy every ten seconds, replicas killed, Redis frozen and killed.

    python -m tests.soak [--seconds 600] [--askers 6] [--seed 0]

Two real replicas over one real Redis, which holds the store and the shared cache. Both keep less in memory than they
serve. `steady` is never ended, so that its memory can be watched; `mortal` is killed, asked to end, and Redis frozen
and killed, by turns. Exit status 1 where anything was seen that must not be (`judging.py` lists it), where memory grew,
where `steady` did not say that the store was gone, or where the load did not reach what it is for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx2
import numpy as np

from indexer.adapters.opening import open_store
from indexer.adapters.usual_index import weight
from indexer.errors import IndexerError
from indexer.memory_store import MemoryStore
from indexer.ports import ArtefactStore
from models.adapters.onnx import default_embedder
from models.embedder import Embedder
from tests.indexer.redis_server import BINARIES, RedisServer, start
from tests.soak.asking import Asker
from tests.soak.catalogs import APPLICATION, SURFACES, names_of, put, rehearsed
from tests.soak.history import POLL_S, SWITCH_S, Attempt, History
from tests.soak.judging import Answer, Verdict, judge
from tests.soak.replica import Replica

DEPLOY_EVERY_S: Final = 10.0
TROUBLE_EVERY_S: Final = 12.0
FROZEN_S: Final = 4.0
OPEN_SURFACES: Final = 2.5
"""How many of the three fit into the memory of a replica."""
GROWTH: Final = 1.10
"""Of the memory after the first third of the time, at the end."""


class Soak:
    """One run."""

    def __init__(self, folder: Path, *, seed: int) -> None:
        self._seed = seed
        self.history = History()
        self.askers: list[Asker] = []
        self.faults: Counter[str] = Counter()
        self.deploys: Counter[str] = Counter()
        self.memory: list[tuple[float, float]] = []
        self.evictions = 0
        self.troubles: list[str] = []
        self._folder = folder
        self._redis = self._start_redis(0)
        self._store: ArtefactStore = open_store(self._redis.url, there=False)
        self._embedder: Embedder = default_embedder(threads=1)
        key = folder / "key"
        key.write_bytes(secrets.token_bytes(32))
        options = ["--store", self._redis.url, "--cache", self._redis.url, "--cache-key-file", str(key)]
        # Small enough to be full long before the first third of the time is over.
        options += ["--cache-size", "500kB"]
        options += ["--poll", str(POLL_S), "--threads", "1", "--strictness", "0", "--memory", str(self._budget())]
        self.steady, self.mortal = (Replica(name, options=options, folder=folder) for name in ("steady", "mortal"))

    @property
    def answers(self) -> list[Answer]:
        """All of them, as each asker got them."""
        return [answer for asker in self.askers for answer in asker.answers]

    async def run(self, seconds: float, askers: int) -> None:
        """Everything at once, for so long."""
        stop = asyncio.Event()
        async with httpx2.AsyncClient(timeout=30) as http:
            await self._deploy()
            replicas = [self.steady, self.mortal]
            for replica in replicas:
                await replica.start(http)
            self.askers = [
                Asker(
                    number=number,
                    replicas=replicas,
                    history=self.history,
                    http=http,
                    drawn=random.Random(f"{self._seed} {number}"),
                )
                for number in range(askers)
            ]
            tasks = [asyncio.create_task(asker.ask_until(stop)) for asker in self.askers]
            tasks.append(asyncio.create_task(_every(DEPLOY_EVERY_S, stop, self._deploy)))
            tasks.append(asyncio.create_task(_every(TROUBLE_EVERY_S, stop, lambda: self._trouble(http))))
            tasks.append(asyncio.create_task(_every(1.0, stop, self._weigh)))
            ends = asyncio.create_task(asyncio.sleep(seconds))
            await asyncio.wait({ends, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            stop.set()
            ends.cancel()
            await asyncio.gather(*tasks)
            await self._last_deploy_is_served(http)
            self.evictions = await self._evictions(http)

    async def end(self) -> None:
        """Ends every process of this run."""
        for replica in (self.steady, self.mortal):
            with suppress(Exception):
                await replica.end(signal.SIGKILL)
        self._redis.stop()

    def judge(self) -> Verdict:
        """What can only be said at the end."""
        names = {name: of for a in self.history.attempts for name, of in names_of(a.deployed.number).items()}
        verdict = judge(self.answers, self.history, name_of=names)
        verdict.faults.update(self.faults)
        third = max(1, len(self.memory) // 3)
        early, late = self.memory[third : 2 * third], self.memory[-third:]
        if early and late:
            before, after = (float(np.median([mb for _, mb in part])) for part in (early, late))
            if after > GROWTH * before:
                verdict.faults[f"memory grew from {before:.0f} to {after:.0f} MB"] += 1
        said = self.steady.log.read_text()
        if "Redis was killed" in self.troubles and not ("unreadable" in said and "readable" in said):
            verdict.faults["nobody said that the store was gone"] += 1
        if not self.evictions:
            verdict.faults["no index was closed to make room: --memory was not tried"] += 1
        return verdict

    def _budget(self) -> int:
        """Bytes for the replicas' indexes."""
        store = MemoryStore()
        versions = put(store, 0, self._embedder)
        weights = [weight(store.load(APPLICATION, surface, version).manifest) for surface, version in versions.items()]
        return int(OPEN_SURFACES * max(weights))

    async def _deploy(self) -> None:
        deployed = await asyncio.to_thread(rehearsed, len(self.history.attempts) + 1, self._embedder)
        attempt = Attempt(deployed=deployed, begun=time.monotonic())
        self.history.attempts.append(attempt)
        try:
            versions = await asyncio.to_thread(put, self._store, deployed.number, self._embedder)
        except IndexerError:
            self.deploys["deploys that failed while the store was away"] += 1
            return
        attempt.told_active = time.monotonic()
        self.deploys["deploys"] += 1
        if versions != deployed.versions:
            self.faults["the same catalog made two versions"] += 1

    async def _trouble(self, http: httpx2.AsyncClient) -> None:
        what = ["killed", "ended", "frozen", "gone"][len(self.troubles) % 4]
        if what == "killed":
            self.troubles.append("a replica was killed")
            await self.mortal.end(signal.SIGKILL)
            await self.mortal.start(http)
        elif what == "ended":
            self.troubles.append("a replica was asked to end")
            if await self.mortal.end(signal.SIGTERM) != 0:
                self.faults["a replica that was asked to end did not end well"] += 1
            await self.mortal.start(http)
        else:
            begun = time.monotonic()
            # Open for as long as it lasts: what is asked meanwhile is judged at the end.
            if what == "frozen":
                self.troubles.append("Redis was frozen")
                self._redis.process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(FROZEN_S)
                self._redis.process.send_signal(signal.SIGCONT)
            else:
                self.troubles.append("Redis was killed")
                self._redis.stop()
                await asyncio.sleep(FROZEN_S)
                self._redis = await asyncio.to_thread(self._start_redis, self._redis.port)
            self.history.outages.append((begun, time.monotonic()))

    async def _weigh(self) -> None:
        self.memory.append((time.monotonic(), self.steady.memory_mb))

    async def _last_deploy_is_served(self, http: httpx2.AsyncClient) -> None:
        """Deploys once more, and waits until both replicas serve it on every surface."""
        await self._deploy()
        deployed = self.history.attempts[-1].deployed
        for replica in (self.steady, self.mortal):
            for surface in SURFACES:
                url = f"{replica.url}/v1/applications/{APPLICATION}/surfaces/{surface}/rank"
                async with asyncio.timeout(30):
                    served = ""
                    while served != deployed.versions[surface]:
                        answer = await http.post(url, json={"query": "delete a file", "limit": 1})
                        served = answer.json().get("index_version", "")

    async def _evictions(self, http: httpx2.AsyncClient) -> int:
        scrape = (await http.get(f"{self.steady.url}/metrics")).text
        (line,) = [line for line in scrape.splitlines() if line.startswith("toolsurface_index_evictions_total ")]
        return int(float(line.rpartition(" ")[2]))

    def _start_redis(self, port: int) -> RedisServer:
        # It writes down every change before it answers: what a deploy was told is true after a kill.
        return start(BINARIES["redis-8"], self._folder, "--appendonly", "yes", "--appendfsync", "always", port=port)


async def _every(seconds: float, stop: asyncio.Event, work: Callable[[], Awaitable[None]]) -> None:
    """Begins the work that often, or as soon as it has ended where it takes longer."""
    due = time.monotonic()
    while not stop.is_set():
        due = max(due + seconds, time.monotonic())
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), due - time.monotonic())
        if not stop.is_set():
            await work()


async def _run(seconds: float, askers: int, seed: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), seed=seed)
        try:
            await soak.run(seconds, askers)
            verdict = soak.judge()
        finally:
            await soak.end()
    _tell(soak, verdict)
    return 1 if verdict.faults else 0


def _tell(soak: Soak, verdict: Verdict) -> None:
    answers = soak.answers
    seen = Counter({f"answers: {status or 'cut by a kill'}": 0 for status in (200, 404)})
    seen.update(f"answers: {answer.status or 'cut by a kill'}" for answer in answers)
    seen["of them batches"] = sum(len(answer.replies) > 1 for answer in answers)
    seen["of them with the catalog of an earlier deploy"] = sum(answer.held is not None for answer in answers)
    seen["indexes closed to make room"] = soak.evictions
    seen.update(soak.deploys)
    seen.update(soak.troubles)
    print("| seen | times |\n|---|--:|")
    for what, times in seen.items():
        print(f"| {what} | {times:,} |")
    p50, p99 = (1000 * float(np.percentile([a.answered - a.asked for a in answers], part)) for part in (50, 99))
    tenth = max(1, len(soak.memory) // 10)
    tenths = " ".join(f"{mb:.0f}" for _, mb in soak.memory[::tenth])
    share = verdict.backpressure.total() / len(answers)
    print(
        f"\np50 {p50:.0f} ms, p99 {p99:.0f} ms; memory of the steady replica, MB: {tenths};"
        f"\nbackpressure {dict(verdict.backpressure)}, {share:.1%} of all answers; a withdrawn version was last"
        f" answered to a question {verdict.latest_s:.2f} s after it (allowed: {POLL_S + SWITCH_S:.1f})"
    )
    for what, times in verdict.faults.items():
        print(f"FAULT {what}: {times} times")
    print(json.dumps({"soak": dict(seen), "backpressure": dict(verdict.backpressure), "faults": dict(verdict.faults)}))


def main() -> int:
    """Runs the soak; the exit status says whether anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--askers", type=int, default=6, metavar="N", help="requests in flight (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (default: %(default)s)")
    arguments = parser.parse_args()
    return asyncio.run(_run(arguments.seconds, arguments.askers, arguments.seed))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
