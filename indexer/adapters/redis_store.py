"""A store in Redis ≥ 7 or Valkey, one server or a cluster.

    <namespace>:applications                                    the names of the applications
    <namespace>:{<application>}:ledger                          what is active, was active, and is kept
    <namespace>:{<application>}:written:<sha1>                  that it had these contents, for minutes
    <namespace>:{<application>/<surface>/<version>/<place>}:…    one copy: manifest, and each file in chunks of 4 MiB

Rules kept here:

1. The ledger is replaced by a script that compares it with what was read, by its SHA-1: the only two keys that must
   agree are one.
2. Files are written in chunks, so that no single command holds up other clients of the server. The keys of one copy
   share a slot, so that one copy is on one server; copies spread over a cluster.
3. What was written counts once a replica has it too, where one is connected; and the server that is asked for that,
   which may not be the one any more that took the write, must have it. So a failover that loses the last moments loses
   them whole, and not silently: it cannot keep a ledger whose files are gone.
4. The list of applications is on another server of a cluster than the ledgers are, so it cannot change with them: it is
   written again, and confirmed, with every change of a ledger and every deploy that changes nothing.
5. Everything is read from primaries. Whoever follows the store looks again anyway: it waits for a server that hangs
   once and not for every key, and what the others hold is read meanwhile (`quick_link.py`).
6. A server that may evict keys without an expiry (`allkeys-…` under a `maxmemory`) is refused before a deploy: it
   would forget what is active.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha1
from itertools import islice
from threading import Lock
from typing import Any, Final, Protocol, TypeVar

import redis
from redis import exceptions as refusals
from redis.client import Pipeline

from indexer.adapters.quick_link import QuickLink
from indexer.adapters.redis_link import Client, RedisLink, RedisPlace, RedisWaits
from indexer.artefact import FILES, MANIFEST, MAX_FILE_BYTES
from indexer.errors import StoreError, StoreUnavailableError
from indexer.placed_store import PlacedStore
from indexer.sealed_ledger import MAX_LEDGER_BYTES
from indexer.shelf import Address, FoundLedger
from surface.identity import is_key

T = TypeVar("T")

CHUNK_BYTES: Final = 4 * 1024 * 1024
FOLLOWING_WAITS: Final = RedisWaits(connect_s=2.0, answer_s=5.0, tries=0)
"""Of who looks again anyway."""
_AGAIN_S: Final = 1.0
"""Between two tries to listen to a server that is away."""
_PROBE_MS: Final = 5_000
_SETTLED: Final = "settled"
_TRIES: Final = 3
_AT_ONCE: Final = 64
"""Chunks deleted, or looked for, in one command."""
_REMEMBERED_MS: Final = 300_000
"""For how long a ledger that others have replaced is known to have been there; longer than any confirmation takes."""
_REPLACE: Final = f"""
if redis.sha1hex(redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], '1', 'PX', {_REMEMBERED_MS})
return 1
"""
_WAS_THERE: Final = f"""
local now = redis.sha1hex(redis.call('GET', KEYS[1]) or '')
if now ~= ARGV[1] and redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[2], '1', 'PX', {_REMEMBERED_MS})
return 1
"""


def redis_store(place: RedisPlace, *, waits: RedisWaits = RedisWaits()) -> PlacedStore:  # noqa: B008 - frozen
    """The store at a place; connects on first use."""
    return PlacedStore(RedisShelf(RedisLink(place, waits=waits)), new_place=lambda: secrets.token_hex(8))


def followed_redis_store(place: RedisPlace, *, waits: RedisWaits = FOLLOWING_WAITS) -> PlacedStore:
    """The store at a place for who reads it again and again; what is not answered is not tried again."""
    link = RedisLink(place, waits=waits)
    return PlacedStore(RedisShelf(link, reads=QuickLink(link)), new_place=lambda: secrets.token_hex(8))


class Reads(Protocol):
    """How keys are read."""

    def ask(self, key: str, question: Callable[[Client], T]) -> T:
        """What a client of the server that holds a key answers; raises `StoreError`."""
        ...


class RedisShelf:
    """Implements `indexer.shelf.Shelf`; threads may share it."""

    def __init__(self, link: RedisLink, *, reads: Reads | None = None) -> None:
        """`reads` None: over the link, like everything else."""
        self._link = link
        self._reads: Reads = link if reads is None else reads
        self._namespace = link.place.namespace
        self._listening = Lock()
        self._channel: Any = None
        self._missed = False
        """Whether something may have been told while nobody listened."""

    @property
    def name(self) -> str:
        """The place without user and password."""
        return self._link.place.name

    def ledger_name(self, application: str) -> str:
        """The key of a ledger."""
        return f"{self._namespace}:{{{application}}}:ledger"

    def applications(self) -> tuple[str, ...]:
        """Every application that a ledger was written for."""
        members = self._reads.ask(self._applications, lambda client: client.smembers(self._applications))
        names = (member.decode("ascii", "replace") for member in members if isinstance(member, bytes))
        return tuple(name for name in names if is_key(name))

    def read_ledger(self, application: str) -> FoundLedger:
        """The ledger, from the primary."""
        key = self.ledger_name(application)
        found: bytes | None = self._bytes(key, ceiling=MAX_LEDGER_BYTES)
        if not found:  # an empty value is a damaged ledger, not none
            found = self._reads.ask(key, lambda client: client.get(key))  # type: ignore[assignment]  # not awaitable here
        return FoundLedger(data=found, tag=_digest(found or b""))

    def has_ledger(self, application: str) -> bool:
        """Whether the key is there, on the primary."""
        return self._exists(self.ledger_name(application))

    def replace_ledger(self, application: str, data: bytes, *, tag: str) -> bool:
        """Compare-and-swap."""
        key = self.ledger_name(application)
        with self._link.client() as client:
            if tag == _digest(b""):
                client.sadd(self._applications, application)  # before it: what nobody lists nobody finds
            return bool(client.eval(_REPLACE, 2, key, self._written(application, data), tag, data))

    def confirm(self, application: str, data: bytes) -> None:
        """Returns when a replica has the ledger, and one the name in the list, where replicas are connected.

        Raises `StoreUnavailableError` where the server that holds the ledger now does not know that it was there.
        """
        key = self.ledger_name(application)

        def look(node: Pipeline) -> None:
            node.eval(_WAS_THERE, 2, key, self._written(application, data), _digest(data))

        def enlist(node: Pipeline) -> None:
            node.sadd(self._applications, application)

        self._settle(key, look, lambda found: found == [1], "the change is made, but a failover may undo it")
        self._settle(self._applications, enlist, bool, "the change is made, but a failover may take it off the list")

    def prepare(self, application: str, *, size: int) -> None:
        """Writes and deletes a key; raises `StoreError` where a server may evict, or they have no room by their count.

        A copy may come to lie on any server of a cluster, so all of them are asked, and what they have is added up.
        """
        with self._link.primaries() as servers:
            memories = {server: _asked(client, "memory") for server, client in servers.items()}
        free = 0.0
        for server, memory in memories.items():
            most, policy = int(memory.get("maxmemory", 0)), str(memory.get("maxmemory_policy", ""))
            if most and policy.startswith("allkeys"):
                name = self.name if len(memories) == 1 else f"{self.name}: {server}"
                raise StoreError(
                    f"{name}: evicts keys when its memory is full (maxmemory-policy {policy}), the active release "
                    "too; set it to noeviction or to one of volatile-…, or use another server"
                )
            free += max(0, most - int(memory.get("used_memory", 0))) if most else math.inf
        if free < size:
            raise StoreError(
                f"{self.name}: {size:,} bytes are needed and {free:,.0f} are free; prune, or raise maxmemory"
            )
        with self._link.client() as client:
            client.set(f"{self._namespace}:{{{application}}}:probe", b"probe", px=_PROBE_MS)

    def write(self, address: Address, files: Mapping[str, bytes]) -> None:
        """Writes chunk after chunk; returns when a replica has them, where there is one."""
        for batch in _batches(self._chunks(address, files)):
            with self._link.client() as client, client.pipeline(transaction=False) as pipeline:
                for key, data in batch:
                    pipeline.set(key, data)
                pipeline.execute()
        keys = [key for name, data in files.items() for key in self._keys(address, name, size=len(data))]
        settled = self._key(address, _SETTLED)

        def look(node: Pipeline) -> None:
            node.set(settled, b"1")
            for at in range(0, len(keys), _AT_ONCE):
                node.exists(*keys[at : at + _AT_ONCE])

        # Their place is nobody else's, so what is there is what was written.
        self._settle(settled, look, lambda found: sum(found[1:]) == len(keys), "nothing is activated")

    def read(self, address: Address, name: str, *, ceiling: int) -> bytes | None:
        """A file, chunk after chunk; None where its first one is missing."""
        chunks: list[bytes] = []
        left = ceiling + 1
        for key in self._keys(address, name, size=ceiling):
            chunk = self._bytes(key, ceiling=min(left, CHUNK_BYTES) - 1)
            if not chunk:
                break
            chunks.append(chunk)
            left -= len(chunk)
            if len(chunk) < CHUNK_BYTES or not left:
                break
        if not chunks and not self._exists(self._key(address, name)):
            return None
        return b"".join(chunks)

    def delete(self, address: Address) -> None:
        """Deletes a copy, the last chunks first: what a kill leaves still begins with a first chunk, and is found."""
        with self._link.client() as client:
            for name in (*FILES, MANIFEST, _SETTLED):
                found: list[list[str]] = []
                keys = self._keys(address, name, size=MAX_FILE_BYTES)
                while (batch := list(islice(keys, _AT_ONCE))) and client.exists(*batch):
                    found.append(batch)
                for batch in reversed(found):
                    client.unlink(*batch)

    def announce(self, application: str) -> None:
        """Publishes the application's name; whoever cannot be reached looks again anyway."""
        try:
            # Any server of a cluster tells the others. This one has just answered, another one might hang.
            with self._link.node(self.ledger_name(application)) as node:
                node.publish(self._activations, application)
        except StoreError:
            return

    def wait_for_change(self, timeout_s: float) -> None:
        """Listens, and where it could not for a while returns once it can; who may not listen only waits."""
        deadline = time.monotonic() + timeout_s
        if self._listening.acquire(blocking=False):
            try:
                while not self._heard(deadline):
                    time.sleep(max(0.0, min(_AGAIN_S, deadline - time.monotonic())))
            except StoreError:
                self._channel = None
            else:
                return
            finally:
                self._listening.release()
        time.sleep(max(0.0, deadline - time.monotonic()))

    def _heard(self, deadline: float) -> bool:
        """Whether something was told or the time is over, and not the connection lost; raises `StoreError`."""
        try:
            with self._link.client() as client:
                if self._channel is None:
                    self._channel = client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
                    self._channel.subscribe(self._activations)
                    if self._missed:
                        self._missed = False
                        return True
                while (left := deadline - time.monotonic()) > 0:
                    if self._channel.get_message(timeout=left) is not None:
                        # However many hints wait, they say the same.
                        while self._channel.get_message(timeout=0.0) is not None and time.monotonic() < deadline:
                            pass
                        break
        except StoreUnavailableError:
            self._channel, self._missed = None, True
            return time.monotonic() >= deadline
        return True

    @property
    def _applications(self) -> str:
        return f"{self._namespace}:applications"

    @property
    def _activations(self) -> str:
        return f"{self._namespace}:activations"

    def _written(self, application: str, data: bytes) -> str:
        return f"{self._namespace}:{{{application}}}:written:{_digest(data)}"

    def _key(self, address: Address, name: str, chunk: int = 0) -> str:
        copy = f"{address.application}/{address.surface}/{address.version}/{address.place}"
        return f"{self._namespace}:{{{copy}}}:{name}:{chunk}"

    def _keys(self, address: Address, name: str, *, size: int) -> Iterator[str]:
        """The keys of a file of this size; one for an empty file."""
        return (self._key(address, name, chunk) for chunk in range(max(1, -(-size // CHUNK_BYTES))))

    def _chunks(self, address: Address, files: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
        for name, data in files.items():
            view = memoryview(data)
            for at, key in enumerate(self._keys(address, name, size=len(data))):
                yield key, bytes(view[at * CHUNK_BYTES : (at + 1) * CHUNK_BYTES])

    def _bytes(self, key: str, *, ceiling: int) -> bytes:
        """At most one byte more than the ceiling, however large the value is; nothing where there is none."""
        data: bytes = self._reads.ask(key, lambda client: client.getrange(key, 0, ceiling))  # type: ignore[assignment]
        return data

    def _exists(self, key: str) -> bool:
        return bool(self._reads.ask(key, lambda client: client.exists(key)))

    def _settle(
        self, key: str, look: Callable[[Pipeline], None], is_there: Callable[[list[Any]], bool], otherwise: str
    ) -> None:
        """Returns when a replica of the server that holds `key` now has all that was written there before.

        `look` writes something there and asks for what was written, and `is_there` judges the answers: a failover may
        have put another server in charge since.
        """
        wait_s = self._link.waits.replica_s
        for left in reversed(range(_TRIES)):
            try:
                with self._link.node(key) as node:
                    replicas = int(_asked(node, "replication").get("connected_slaves", 0))
                    with node.pipeline(transaction=False) as pipeline:
                        look(pipeline)
                        if replicas:
                            # WAIT is about the writes of its own connection, and what came before them.
                            pipeline.execute_command("WAIT", 1, round(wait_s * 1000))  # type: ignore[no-untyped-call]
                        answers = pipeline.execute()
            except StoreUnavailableError:
                if not left:
                    raise
                continue
            confirmed = not replicas or answers.pop()
            if not is_there(answers):
                raise StoreUnavailableError(f"{self.name}: a failover has undone what was written; try again")
            if not confirmed:
                raise StoreUnavailableError(
                    f"{self.name}: no replica has confirmed a write within {wait_s:g} s: {otherwise}; "
                    "see how the replicas are, and try again"
                )
            return


def _batches(chunks: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """The chunks in the same order, as many at a time as weigh little more than one."""
    batch, weight = list[tuple[str, bytes]](), 0
    for key, data in chunks:
        batch.append((key, data))
        weight += len(data)
        if weight >= CHUNK_BYTES:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _digest(data: bytes) -> str:
    return sha1(data, usedforsecurity=False).hexdigest()


def _asked(node: redis.Redis, section: str) -> Mapping[str, Any]:
    """What the server says of itself; nothing where this user may not ask."""
    try:
        found: Mapping[str, Any] = node.info(section)
    except refusals.NoPermissionError:
        return {}
    return found
