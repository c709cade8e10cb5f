"""A bounded number of places for work that threads do, and how such work is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from threading import Event, Lock
from typing import TypeVar

from surface.errors import RankerUnavailable

T = TypeVar("T")


class Places:
    """So many, and no queue before them; any thread may give back."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._taken = 0

    @property
    def taken(self) -> int:
        """How many are in use now."""
        return self._taken

    def take(self, count: int = 1) -> Callable[[], None]:
        """Takes places, and gives what gives them back.

        Work that is alone is never too long. Raises RankerUnavailable: `overloaded`.
        """
        with self._lock:
            if self._taken and self._taken + count > self._most:
                raise RankerUnavailable("overloaded")
            self._taken += count

        def give_back() -> None:
            with self._lock:
                self._taken -= count

        return give_back


async def in_a_thread(executor: Executor, work: Callable[[Callable[[], bool]], T], *, ended: Callable[[], None]) -> T:
    """What `work` gives in a thread of the executor; it is told how to ask whether anybody still waits.

    `ended` is called once the thread is done with it and not before: work that nobody waits for still takes its place.
    """
    abandoned = Event()
    try:
        future = executor.submit(work, abandoned.is_set)
    except BaseException:
        ended()
        raise
    future.add_done_callback(lambda _: ended())
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        abandoned.set()
        raise
