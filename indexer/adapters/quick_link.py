"""Asks the servers of a place, and makes nobody wait for one that hangs.

Rules kept here:

1. Who asks waits as long as the link says, and is tried again only where that costs nothing: the connection was cut
   off, or the key has moved to another server of the cluster.
2. A server that did not answer is asked by nobody before it answers a thread of its own, so that it holds no more
   threads than those that found it hanging. The other servers of the place go on.
3. That thread asks the cluster again who holds what: where a replica has taken over it is asked at once. So it does
   where the place could not be connected to at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Lock, Thread
from typing import Final, TypeVar

import redis
from redis import exceptions as refusals

from indexer.adapters.redis_link import RedisLink
from indexer.errors import StoreError, StoreUnavailableError

REST_S: Final = 0.25
"""Between two looks at a server that is away."""
IDLE_S: Final = 30.0
"""A server that nobody has asked for so long is looked at no more: the next who asks finds out."""

_ANY: Final = ""
"""Stands for a server of a place of which none is known yet."""

T = TypeVar("T")


class QuickLink:
    """Threads may share it."""

    def __init__(self, link: RedisLink) -> None:
        """`link` is not tried again by itself (`RedisWaits.tries` 0)."""
        self._link = link
        self._lock = Lock()
        self._away: dict[str, float] = {}
        """Servers that did not answer, and when somebody last wanted to ask them."""

    @property
    def name(self) -> str:
        """The place without user and password."""
        return self._link.place.name

    def ask(self, key: str, question: Callable[[redis.Redis], T]) -> T:
        """What the server that holds a key answers; asking may happen twice.

        Raises `StoreUnavailableError` where it does not answer, at once where it did not before, and `StoreError`.
        """
        try:
            return self._asked(key, question, last=False)
        except _AgainError:
            return self._asked(key, question, last=True)

    def _asked(self, key: str, question: Callable[[redis.Redis], T], *, last: bool) -> T:
        server, client = self._holder(key)
        if self._is_away(server):
            raise StoreUnavailableError(f"{self.name}: {server} did not answer a moment ago")
        try:
            with self._link.told():
                return question(client)
        except StoreUnavailableError as error:
            if isinstance(error.__cause__, (refusals.AskError, refusals.ReadOnlyError)):
                with self._link.told():
                    self._link.reread()
            elif last or not isinstance(error.__cause__, refusals.ConnectionError):
                self._rest(server, partial(_answers, client))
                raise
            if last:
                raise
            raise _AgainError from error

    def _holder(self, key: str) -> tuple[str, redis.Redis]:
        if not self._link.is_open and self._is_away(_ANY):
            raise StoreUnavailableError(f"{self.name}: could not be connected to a moment ago")
        try:
            with self._link.told():
                return self._link.holder(key)
        except StoreUnavailableError:
            self._rest(_ANY, partial(self._is_held, key))
            raise

    def _is_held(self, key: str) -> bool:
        try:
            with self._link.told():
                self._link.holder(key)
        except StoreError:
            return False
        return True

    def _is_away(self, server: str) -> bool:
        with self._lock:
            away = server in self._away
            if away:
                self._away[server] = time.monotonic()
            return away

    def _rest(self, server: str, answers: Callable[[], bool]) -> None:
        """Nobody asks this server from now on, until it has answered."""
        with self._lock:
            if server in self._away:
                return
            self._away[server] = time.monotonic()
        try:
            Thread(target=self._look, args=(server, answers), name="redis-away", daemon=True).start()
        except RuntimeError:  # no thread is to be had: the next who asks finds out
            with self._lock:
                del self._away[server]

    def _look(self, server: str, answers: Callable[[], bool]) -> None:
        try:
            while not answers():
                with suppress(StoreError), self._link.told():
                    self._link.reread()
                time.sleep(REST_S)
                with self._lock:
                    if time.monotonic() - self._away[server] > IDLE_S:
                        return
        finally:
            with self._lock:
                del self._away[server]


class _AgainError(Exception):
    """It may be answered if it is asked again."""


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except (refusals.RedisError, OSError):
        return False
