"""Rankings remembered in Redis or Valkey, one server or a cluster, so that replicas share them.

    {namespace}:ranking:{key in hexadecimal}  →  [[name, score], …]   as JSON, for an hour

Rules kept here:

1. No request waits for it longer than `PATIENCE_S`, and none for a connection: until the server has answered a ping in
   the background nothing is found. One failure, and it must answer a ping again, `REST_S` later at the earliest; so a
   server that hangs costs the requests of one moment a few milliseconds, and none its answer.
2. Writes happen in the background, no more than `MOST_WRITES` at once; one more is forgotten.
3. What is found is read as strictly as if a stranger had written it; what is not a ranking is not found.

How much it may grow is the server's matter: set `maxmemory` and `maxmemory-policy allkeys-lru` there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from math import isfinite
from typing import Any, Final, TypeAlias

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import RedisClusterException, RedisError

from selector.rankings import Ranking
from surface.protocol import MAX_LIMIT

PATIENCE_S: Final = 0.005
REST_S: Final = 1.0
MOST_WRITES: Final = 64
_KEPT_S: Final = 3_600
_ANSWER_S: Final = 1.0
"""In the background."""
_MAX_VALUE_BYTES: Final = 256 * 1024
_FAILURES: Final = (RedisError, RedisClusterException, OSError, TimeoutError)

Client: TypeAlias = "Redis | RedisCluster"


class RedisRankingCache:
    """Implements `selector.ports.RankingCache`; belongs to the event loop that first uses it."""

    def __init__(
        self,
        *,
        connect: Callable[[], Client],
        namespace: str,
        patience_s: float = PATIENCE_S,
        rest_s: float = REST_S,
    ) -> None:
        """`connect` makes the client on first use; `close` closes it. The times are in seconds."""
        self._patience_s = patience_s
        self._rest_s = rest_s
        self._connect = connect
        self._prefix = f"{namespace}:ranking:"
        self._client: Client | None = None
        self._answers = False
        self._resting_until = 0.0
        self._background: set[asyncio.Task[None]] = set()
        self.failures = 0
        """How often it was down or slow."""

    async def find(self, key: bytes) -> Ranking | None:
        """See `selector.ports.RankingCache`."""
        if self._client is None or not self._answers:
            self._reach()
            return None
        try:
            async with asyncio.timeout(self._patience_s):
                value = await self._client.get(self._prefix + key.hex())
        except _FAILURES:
            self._failed()
            return None
        return _read(value) if isinstance(value, bytes) else None

    def keep(self, key: bytes, ranking: Ranking) -> None:
        """See `selector.ports.RankingCache`."""
        if self._client is None or not self._answers:
            self._reach()
        elif len(self._background) < MOST_WRITES:
            value = json.dumps(ranking.ranked, separators=(",", ":")).encode()
            self._behind(self._client.set(self._prefix + key.hex(), value, ex=_KEPT_S))

    async def close(self) -> None:
        """Lets what is being written end, and closes the connections."""
        await asyncio.gather(*self._background, return_exceptions=True)
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _reach(self) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._resting_until:
            return
        self._resting_until = now + self._rest_s
        if self._client is None:
            self._client = self._connect()
        self._behind(self._client.ping())

    def _behind(self, request: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(self._answered(request))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _answered(self, request: Awaitable[Any]) -> None:
        try:
            async with asyncio.timeout(_ANSWER_S):
                await request
        except _FAILURES:
            self._failed()
        else:
            self._answers = True

    def _failed(self) -> None:
        self.failures += 1
        self._answers = False
        self._resting_until = asyncio.get_running_loop().time() + self._rest_s


def _read(value: bytes) -> Ranking | None:
    if len(value) > _MAX_VALUE_BYTES:
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) > MAX_LIMIT or not all(_is_pair(each) for each in found):
        return None
    return Ranking(ranked=tuple((name, score) for name, score in found))


def _is_pair(each: object) -> bool:
    match each:
        case [str() as name, float() as score]:
            return 0 < len(name) <= 1_024 and isfinite(score)
        case _:
            return False
