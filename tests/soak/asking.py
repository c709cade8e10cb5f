"""The askers of a soak, and what each answer is held to.

1. All names of an answer are of one deploy, and its version is the one that this deploy gave this surface.
2. What one asker sees of one process never goes back to an earlier deploy, whichever surfaces it asks in turn: the
   surfaces of a release switch together. (Every deploy is a new one, and none is rolled back.)
3. A deploy is served everywhere within `LATE_S` of its activation, while the store can be read.
4. Statuses: 200; 404 for a surface that does not exist; 503 only with a Retry-After. A connection may break only to a
   process that is being killed.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx2

from tests.soak.catalogs import APPLICATION, SURFACES, Deployed, number_of
from tests.soak.replica import Replica

LATE_S = 20.0
_QUERIES = ("delete a file", "send an invoice to a customer", "the weather in Paris", "copy this, then translate it")


@dataclass(slots=True, kw_only=True)
class Findings:
    """What was seen."""

    deploys: dict[int, Deployed] = field(default_factory=dict)
    fresh_from: dict[int, float] = field(default_factory=dict)
    """By deploy: from when on an earlier one is too old, in monotonic seconds."""
    statuses: Counter[str] = field(default_factory=Counter)
    took: list[float] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)

    def fault(self, what: str) -> None:
        """Counts something that must not be."""
        self.faults[what] += 1


async def ask_on(
    replicas: list[Replica], findings: Findings, http: httpx2.AsyncClient, drawn: random.Random, stop: asyncio.Event
) -> None:
    """One asker: any open replica, surface after surface, known queries and new ones."""
    seen: dict[tuple[str, int], int] = {}
    asked = 0
    while not stop.is_set():
        open_now = [replica for replica in replicas if replica.open]
        if not open_now:
            await asyncio.sleep(0.05)
            continue
        replica = drawn.choice(open_now)
        asked += 1
        surface = "nowhere" if drawn.random() < 0.02 else SURFACES[asked % len(SURFACES)]
        query = drawn.choice(_QUERIES) + ("" if drawn.random() < 0.5 else f" number {drawn.random()}")
        await _ask(replica, surface, query, findings, http, seen)


async def _ask(
    replica: Replica,
    surface: str,
    query: str,
    findings: Findings,
    http: httpx2.AsyncClient,
    seen: dict[tuple[str, int], int],
) -> None:
    life, began = replica.life, time.monotonic()
    url = f"{replica.url}/v1/applications/{APPLICATION}/surfaces/{surface}/rank"
    try:
        answer = await http.post(url, json={"query": query, "limit": 5})
    except httpx2.HTTPError as error:
        expected = replica.killed == life
        findings.statuses["cut by a kill" if expected else f"broken: {type(error).__name__}"] += 1
        if not expected:
            findings.fault("a connection broke that nobody cut")
        return
    findings.took.append(time.monotonic() - began)
    findings.statuses[str(answer.status_code)] += 1
    if answer.status_code == 503 and "retry-after" in answer.headers:
        return
    if surface == "nowhere":
        if answer.status_code != 404:
            findings.fault(f"an unknown surface was answered with {answer.status_code}")
        return
    if answer.status_code != 200:
        findings.fault(f"status {answer.status_code}")
        return
    _judge(answer.json(), replica, surface, findings, seen, began, life)


def _judge(
    reply: dict[str, object],
    replica: Replica,
    surface: str,
    findings: Findings,
    seen: dict[tuple[str, int], int],
    began: float,
    life: int,
) -> None:
    ranked = reply["ranked"]
    assert isinstance(ranked, list)
    numbers = {number_of(each["name"]) for each in ranked}
    if len(numbers) > 1:
        findings.fault("an answer was mixed of several deploys")
    by_version = {deployed.versions[surface]: deployed.number for deployed in findings.deploys.values()}
    number = by_version.get(str(reply["index_version"]))
    if number is None:
        # The deploy has not returned yet; whoever activated knows the version a moment later.
        return
    if numbers and numbers != {number}:
        findings.fault("the names were not of the version that was said")
    if number < seen.get((replica.name, life), 0):
        findings.fault("a process went back to an earlier deploy, or served two releases at once")
    seen[replica.name, life] = max(number, seen.get((replica.name, life), 0))
    if any(number < newer and began > since for newer, since in findings.fresh_from.items()):
        findings.fault("a deploy was not served in time")
