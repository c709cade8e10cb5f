"""Rankings remembered in Redis or Valkey, one server or a cluster, so that replicas share them.

    {namespace}:ranking:{key in hexadecimal}  →  [[name, score], …]   as JSON, for an hour

Rules kept here:

1. No request waits for it longer than `PATIENCE_S`, and none for a connection: `CONNECTIONS` are opened in the
   background, and who finds none of them free finds nothing. However many keys are looked for, one MGET asks for them.
2. An answer that comes too late is read behind, and its connection is free again afterwards; nothing is cut off for it.
   After `MOST_FAILURES` in a row, or where it cannot be reached at all, it rests for `REST_S` and must then answer a
   ping, so a server that hangs costs the requests of one moment a few milliseconds, and none its answer.
3. Writes go over a connection of their own, all that wait in one pipeline; beyond `MOST_WRITES` they are forgotten.
4. What is found is read as strictly as if a stranger had written it; what is not a ranking is not found.

How much it may grow is the server's matter: set `maxmemory` there, and `maxmemory-policy volatile-lru`, as every entry
has an expiry and a store beside it has none.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from math import isfinite
from typing import Any, Final, TypeAlias, TypeVar

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import RedisClusterException, RedisError

from selector.rankings import Ranking
from surface.protocol import MAX_LIMIT

PATIENCE_S: Final = 0.005
REST_S: Final = 1.0
CONNECTIONS: Final = 4
MOST_FAILURES: Final = 2 * CONNECTIONS
"""One busy moment may make an answer late on each of them."""
MOST_WRITES: Final = 64
_KEPT_S: Final = 3_600
_LATE_LOOP: Final = 4
"""Passes of the event loop: where the loop itself was late, what has arrived meanwhile is read before it counts."""
_ANSWER_S: Final = 1.0
"""In the background."""
_MAX_VALUE_BYTES: Final = 256 * 1024
_FAILURES: Final = (RedisError, RedisClusterException, OSError, TimeoutError)

Client: TypeAlias = "Redis | RedisCluster"
T = TypeVar("T")


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
        """`connect` makes a client, which is asked one thing at a time; `close` closes it. The times are in seconds."""
        self._patience_s = patience_s
        self._rest_s = rest_s
        self._connect = connect
        self._prefix = f"{namespace}:ranking:"
        self._clients: list[Client] = []
        self._free: list[Client] = []
        self._shut: list[Client] = []
        """Must answer a ping before they are asked."""
        self._writer: Client | None = None
        self._writes: deque[tuple[str, bytes]] = deque(maxlen=MOST_WRITES)
        self._reaching = self._writing = False
        self._in_a_row = 0
        self._resting_until = 0.0
        self._background: set[asyncio.Task[Any]] = set()
        self.failures = 0
        """How often it was down or late."""

    async def find(self, key: bytes) -> Ranking | None:
        """See `selector.ports.RankingCache`."""
        (ranking,) = await self.find_many([key])
        return ranking

    async def find_many(self, keys: Sequence[bytes]) -> tuple[Ranking | None, ...]:
        """See `selector.ports.RankingCache`."""
        if self._shut or not self._clients:
            self._reach()
        if not self._free:
            return (None,) * len(keys)
        names = [self._prefix + key.hex() for key in keys]
        asking = self._behind(self._asked(self._free.pop(), names))
        # Not wait_for: neither the end of the patience nor an asker who gives up may cut the connection off.
        await asyncio.wait({asking}, timeout=self._patience_s)
        for _ in range(_LATE_LOOP):
            if not asking.done():
                await asyncio.sleep(0)
        if not asking.done():
            self._failed()
            return (None,) * len(keys)
        values = asking.result()
        return tuple(map(_read, values)) if values is not None else (None,) * len(keys)

    def keep(self, key: bytes, ranking: Ranking) -> None:
        """See `selector.ports.RankingCache`."""
        if not self._reached:
            self._reach()
            return
        if len(self._writes) < MOST_WRITES:
            value = json.dumps(ranking.ranked, separators=(",", ":")).encode()
            self._writes.append((self._prefix + key.hex(), value))
        if not self._writing:
            self._writing = True
            self._behind(self._write())

    async def close(self) -> None:
        """Lets what is being written end, and closes the connections."""
        while self._background:
            await asyncio.gather(*self._background, return_exceptions=True)
        clients = [*self._clients, *([self._writer] if self._writer is not None else [])]
        self._clients, self._free, self._shut, self._writer = [], [], [], None
        await asyncio.gather(*(client.aclose() for client in clients), return_exceptions=True)

    @property
    def _reached(self) -> bool:
        return len(self._shut) < len(self._clients)

    def _reach(self) -> None:
        if not self._reaching and asyncio.get_running_loop().time() >= self._resting_until:
            self._reaching = True
            self._behind(self._open())

    async def _open(self) -> None:
        try:
            if not self._clients:
                self._clients = [self._connect() for _ in range(CONNECTIONS)]
                self._shut = list(self._clients)
            while self._shut:
                await _within(self._shut[-1].ping())
                self._free.append(self._shut.pop())
        except _FAILURES:
            self._failed(rest=True)
        finally:
            self._reaching = False

    async def _asked(self, client: Client, names: Sequence[str]) -> Sequence[object] | None:
        began = asyncio.get_running_loop().time()
        try:
            many = client.mget_nonatomic if isinstance(client, RedisCluster) else client.mget
            values: Sequence[object] = await _within(many(names))
        except _FAILURES:
            self._shut.append(client)
            self._failed()
            return None
        except BaseException:
            self._shut.append(client)
            raise
        now = asyncio.get_running_loop().time()
        (self._free if now >= self._resting_until else self._shut).append(client)
        if now - began <= self._patience_s:
            self._in_a_row = 0
        return values

    async def _write(self) -> None:
        try:
            if self._writer is None:
                self._writer = self._connect()
            while self._writes:
                pipeline = self._writer.pipeline(transaction=False)
                while self._writes:
                    name, value = self._writes.popleft()
                    pipeline.set(name, value, ex=_KEPT_S)
                await _within(pipeline.execute())
        except _FAILURES:
            self._writes.clear()
            self._failed()
        finally:
            self._writing = False

    def _behind(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _failed(self, *, rest: bool = False) -> None:
        self.failures += 1
        self._in_a_row += 1
        if rest or self._in_a_row >= MOST_FAILURES:
            self._resting_until = asyncio.get_running_loop().time() + self._rest_s
            self._shut += self._free
            self._free = []


async def _within(answer: Awaitable[T]) -> T:
    async with asyncio.timeout(_ANSWER_S):
        return await answer


def _read(value: object) -> Ranking | None:
    if not isinstance(value, bytes) or len(value) > _MAX_VALUE_BYTES:
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
            half = any("\ud800" <= character <= "\udfff" for character in name)  # a surrogate, which no reply can carry
            return 0 < len(name) <= 1_024 and not half and isfinite(score)
        case _:
            return False
