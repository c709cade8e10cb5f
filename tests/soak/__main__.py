"""Ten minutes of mixed load with a deploy every ten seconds, replicas killed, Redis frozen and killed.

    python -m tests.soak [--seconds 600] [--askers 6] [--seed 0]

Two real replicas over one real Redis, which holds the store and the shared cache. `steady` is never ended, so that its
memory can be watched; `mortal` is killed, asked to end, and Redis frozen and killed, by turns. Exit status 1 where
anything was seen that must not be (`asking.py` lists it), where memory grew, or where `steady` did not say that the
store was gone.
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
from contextlib import suppress
from pathlib import Path

import httpx2
import numpy as np

from indexer.adapters.opening import open_store
from indexer.errors import IndexerError
from indexer.ports import ArtefactStore
from models.adapters.onnx import default_embedder
from models.embedder import Embedder
from tests.indexer.redis_server import BINARIES, RedisServer, start
from tests.soak.asking import LATE_S, Findings, ask_on
from tests.soak.catalogs import put
from tests.soak.replica import Replica

DEPLOY_EVERY_S = 10.0
TROUBLE_EVERY_S = 12.0
FROZEN_S = 4.0
GROWTH = 1.10
"""Of the memory after the first third of the time, at the end."""


class Soak:
    """One run."""

    def __init__(self, folder: Path, *, seed: int) -> None:
        self._seed = seed
        self.findings = Findings()
        self.memory: list[tuple[float, float]] = []
        self.troubles: list[str] = []
        self._folder = folder
        self._redis = self._start_redis(0)
        key = folder / "key"
        key.write_bytes(secrets.token_bytes(32))
        options = ["--store", self._redis.url, "--cache", self._redis.url, "--cache-key-file", str(key)]
        options += ["--poll", "0.5", "--threads", "1", "--strictness", "0"]
        self.steady, self.mortal = (Replica(name, options=options, folder=folder) for name in ("steady", "mortal"))
        self._store: ArtefactStore = open_store(self._redis.url, there=False)
        self._embedder: Embedder = default_embedder(threads=1)
        self._number = 0

    async def run(self, seconds: float, askers: int) -> None:
        """Everything at once, for so long."""
        stop = asyncio.Event()
        async with httpx2.AsyncClient(timeout=20) as http:
            await self._deploy()
            for replica in (self.steady, self.mortal):
                await replica.start(http)
            replicas = [self.steady, self.mortal]
            tasks = [
                asyncio.create_task(ask_on(replicas, self.findings, http, random.Random(f"{self._seed} {asker}"), stop))
                for asker in range(askers)
            ]
            tasks.append(asyncio.create_task(self._every(DEPLOY_EVERY_S, stop, self._deploy)))
            tasks.append(asyncio.create_task(self._every(TROUBLE_EVERY_S, stop, lambda: self._trouble(http))))
            tasks.append(asyncio.create_task(self._every(1.0, stop, self._weigh)))
            ends = asyncio.create_task(asyncio.sleep(seconds))
            await asyncio.wait({ends, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            stop.set()
            ends.cancel()
            await asyncio.gather(*tasks)
            await self._last_deploy_is_served(http)

    async def end(self) -> None:
        """Ends every process of this run."""
        for replica in (self.steady, self.mortal):
            with suppress(Exception):
                await replica.end(signal.SIGKILL)
        self._redis.stop()

    def judge(self) -> None:
        """What can only be said at the end."""
        third = max(1, len(self.memory) // 3)
        early, late = self.memory[third : 2 * third], self.memory[-third:]
        if early and late:
            before, after = (float(np.median([mb for _, mb in part])) for part in (early, late))
            if after > GROWTH * before:
                self.findings.fault(f"memory grew from {before:.0f} to {after:.0f} MB")
        said = self.steady.log.read_text()
        if "Redis was killed" in self.troubles and not ("unreadable" in said and "readable" in said):
            self.findings.fault("nobody said that the store was gone")

    async def _deploy(self) -> None:
        self._number += 1
        number = self._number
        try:
            deployed = await asyncio.to_thread(put, self._store, number, self._embedder)
        except IndexerError:
            self.findings.statuses["deploys refused by the store"] += 1
            return
        self.findings.deploys[number] = deployed
        self.findings.fresh_from[number] = time.monotonic() + LATE_S
        self.findings.statuses["deploys"] += 1

    async def _trouble(self, http: httpx2.AsyncClient) -> None:
        what = ["killed", "ended", "frozen", "gone"][len(self.troubles) % 4]
        if what == "killed":
            self.troubles.append("a replica was killed")
            await self.mortal.end(signal.SIGKILL)
            await self.mortal.start(http)
        elif what == "ended":
            self.troubles.append("a replica was asked to end")
            if await self.mortal.end(signal.SIGTERM) != 0:
                self.findings.fault("a replica that was asked to end did not end well")
            await self.mortal.start(http)
        elif what == "frozen":
            self.troubles.append("Redis was frozen")
            self._redis.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(FROZEN_S)
            self._redis.process.send_signal(signal.SIGCONT)
            self._forgive()
        else:
            self.troubles.append("Redis was killed")
            self._redis.stop()
            await asyncio.sleep(FROZEN_S)
            self._redis = await asyncio.to_thread(self._start_redis, self._redis.port)
            self._forgive()

    def _forgive(self) -> None:
        """While the store was away no deploy could be seen."""
        late = time.monotonic() + LATE_S
        self.findings.fresh_from = {number: max(at, late) for number, at in self.findings.fresh_from.items()}

    async def _weigh(self) -> None:
        self.memory.append((time.monotonic(), self.steady.memory_mb))

    async def _last_deploy_is_served(self, http: httpx2.AsyncClient) -> None:
        self._number += 1
        deployed = await asyncio.to_thread(put, self._store, self._number, self._embedder)
        for replica in (self.steady, self.mortal):
            url = f"{replica.url}/v1/applications/soak/surfaces/reader/rank"
            async with asyncio.timeout(LATE_S):
                served = ""
                while served != deployed.versions["reader"]:
                    answer = await http.post(url, json={"query": "delete a file", "limit": 1})
                    served = answer.json().get("index_version", "")

    def _start_redis(self, port: int) -> RedisServer:
        # It writes down every change before it answers: what a deploy was told is true after a kill.
        return start(BINARIES["redis-8"], self._folder, "--appendonly", "yes", "--appendfsync", "always", port=port)

    @staticmethod
    async def _every(seconds: float, stop: asyncio.Event, work: object) -> None:
        assert callable(work)
        while not stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), seconds)
            if not stop.is_set():
                await work()


async def _run(seconds: float, askers: int, seed: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), seed=seed)
        try:
            await soak.run(seconds, askers)
            soak.judge()
        finally:
            await soak.end()
    findings = soak.findings
    print("| seen | times |\n|---|--:|")
    for what, times in sorted(findings.statuses.items()):
        print(f"| {what} | {times:,} |")
    for what in sorted(set(soak.troubles)):
        print(f"| {what} | {soak.troubles.count(what)} |")
    p50, p99 = (1000 * float(np.percentile(findings.took, part)) for part in (50, 99))
    early, late = soak.memory[len(soak.memory) // 3][1], soak.memory[-1][1]
    print(
        f"\np50 {p50:.0f} ms, p99 {p99:.0f} ms; memory of the steady replica {early:.0f} MB, at the end {late:.0f} MB"
    )
    for what, times in findings.faults.items():
        print(f"FAULT {what}: {times} times")
    print(json.dumps({"soak": dict(findings.statuses), "troubles": soak.troubles, "faults": dict(findings.faults)}))
    return 1 if findings.faults else 0


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
