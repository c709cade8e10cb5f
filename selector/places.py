"""A bounded number of places for work that threads do, and how such work is waited for.

Whoever floods them takes none from the others: where all are taken, who has fewer than a fair share still finds some
beyond them, up to as many again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from threading import Event, Lock
from typing import Protocol, TypeAlias, TypeVar

from selector.fair_threads import asker, weighing
from surface.errors import RankerUnavailable

T = TypeVar("T")
Abandonable: TypeAlias = Callable[[Callable[[], bool]], T]
"""Work that is told how to ask whether anybody still waits for it."""


class GiveBack(Protocol):
    """Gives places back."""

    def __call__(self, some: int = ...) -> None:
        """All that were taken, or some of them; together not more."""
        ...


class Places:
    """So many, and no queue before them; any thread may give back."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._taken = 0
        self._of: dict[str, int] = {}
        """By asker, those that have any."""

    @property
    def taken(self) -> int:
        """How many are in use now."""
        return self._taken

    def take(self, count: int = 1) -> GiveBack:
        """Takes places for the asker of this moment, and gives what gives them back.

        Work that is alone is never too long, nor is an asker's only one as long as there is room for it beyond the
        others'. Raises RankerUnavailable: `overloaded`.
        """
        whose = asker()
        with self._lock:
            if self._taken and self._taken + count > self._most and not self._is_due(whose, count):
                raise RankerUnavailable("overloaded")
            self._taken += count
            self._of[whose] = self._of.get(whose, 0) + count

        def give_back(some: int = count) -> None:
            with self._lock:
                self._taken -= some
                self._of[whose] -= some
                if not self._of[whose]:
                    del self._of[whose]

        return give_back

    def _is_due(self, whose: str, count: int) -> bool:
        own = self._of.get(whose, 0)
        share = self._most // (len(self._of) + (not own))
        return self._taken + count <= 2 * self._most and (not own or own + count <= share)


async def in_a_thread(executor: Executor, work: Abandonable[T], *, ended: Callable[[], None]) -> T:
    """What `work` gives in a thread of the executor.

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


async def in_turns(
    executor: Executor, parts: Sequence[tuple[int, Abandonable[T]]], *, ended: Callable[[int], None]
) -> list[T]:
    """What each of several parts gives, which weigh so much; none of them goes on once one has failed.

    `ended` is called with the weight of each part once a thread is done with it, or none will begin it.
    """
    abandoned = Event()
    futures: list[Future[T]] = []
    try:
        for weight, work in parts:
            with weighing(weight):
                future = executor.submit(work, abandoned.is_set)
            futures.append(future)
            future.add_done_callback(partial(_ended, ended, weight))
        return await asyncio.gather(*map(asyncio.wrap_future, futures))
    except BaseException:
        abandoned.set()
        for future in futures:
            future.cancel()
        for weight, _ in parts[len(futures) :]:
            ended(weight)
        raise


def _ended(ended: Callable[[int], None], weight: int, _: Future[T]) -> None:
    ended(weight)
