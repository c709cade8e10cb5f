"""The askers of a soak: any open replica, surface after surface, known queries and new ones, alone and in batches.

What they are answered is kept, and judged at the end (`judging.py`), when every deploy and every outage is known.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from tests.soak.catalogs import APPLICATION, SURFACES
from tests.soak.history import History
from tests.soak.judging import NOWHERE, Answer, Reply
from tests.soak.replica import Replica

MOST_QUERIES: Final = 8
"""In one batch: the askers by default hold 48 queries at most, and the queue of a replica takes 64."""
_QUERIES = ("delete a file", "send an invoice to a customer", "the weather in Paris", "copy this, then translate it")
_NOWHERE_SHARE, _BATCH_SHARE, _HELD_SHARE = 0.02, 0.2, 0.1


@dataclass(slots=True, kw_only=True)
class Asker:
    """One of them: asks the next thing when it is answered."""

    number: int
    replicas: list[Replica]
    history: History
    http: httpx2.AsyncClient
    drawn: random.Random
    answers: list[Answer] = field(default_factory=list)

    async def ask_until(self, stop: asyncio.Event) -> None:
        """Asks and asks."""
        asked = 0
        while not stop.is_set():
            open_now = [replica for replica in self.replicas if replica.open]
            if not open_now:
                await asyncio.sleep(0.05)
                continue
            asked += 1
            surface = NOWHERE if self.drawn.random() < _NOWHERE_SHARE else SURFACES[asked % len(SURFACES)]
            self.answers.append(await self._ask(self.drawn.choice(open_now), surface))

    async def _ask(self, replica: Replica, surface: str) -> Answer:
        queries, body = self._body(surface)
        held = self._held(surface, body)
        route = "rank-batch" if "queries" in body else "rank"
        url = f"{replica.url}/v1/applications/{APPLICATION}/surfaces/{surface}/{route}"
        life, began = replica.life, time.monotonic()
        known: dict[str, Any] = {
            "asker": self.number,
            "replica": replica.name,
            "life": life,
            "surface": surface,
            "held": held,
            "queries": queries,
            "asked": began,
        }
        try:
            response = await self.http.post(url, json=body)
        except httpx2.HTTPError:
            return Answer(**known, answered=time.monotonic(), status=0, killed=replica.killed >= life)
        known |= {"answered": time.monotonic(), "status": response.status_code}
        content = response.json()
        if response.status_code != 200:
            return Answer(**known, code=content["code"], retry_after="retry-after" in response.headers)
        return Answer(**known, replies=tuple(_reply(each) for each in content.get("replies", [content])))

    def _body(self, surface: str) -> tuple[int, dict[str, Any]]:
        if surface != NOWHERE and self.drawn.random() < _BATCH_SHARE:
            queries = [self._query() for _ in range(self.drawn.randint(1, MOST_QUERIES))]
            return len(queries), {"queries": queries, "limit": 5}
        return 1, {"query": self._query(), "limit": 5}

    def _query(self) -> str:
        return self.drawn.choice(_QUERIES) + ("" if self.drawn.random() < 0.5 else f" number {self.drawn.random()}")

    def _held(self, surface: str, body: dict[str, Any]) -> int | None:
        """Says for some requests that the asker holds the catalog of one of the last two deploys."""
        if surface == NOWHERE or self.drawn.random() >= _HELD_SHARE:
            return None
        deployed = self.drawn.choice(self.history.attempts[-2:]).deployed
        body["catalog_digest"] = deployed.digests[surface]
        return deployed.number


def _reply(content: dict[str, Any]) -> Reply:
    return Reply(
        version=content["index_version"],
        digest=content["catalog_digest"],
        names=tuple(each["name"] for each in content["ranked"]),
        degraded=content["degraded"],
    )
