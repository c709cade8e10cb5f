"""The same work at the same time is done once, and all who asked get the answer.

Who gives up leaves the others their answer; once all have given up the work is cancelled. What it raises, all get.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Work of one event loop joins only work of the same loop."""

    def __init__(self) -> None:
        self._flights: dict[tuple[asyncio.AbstractEventLoop, bytes], _Flight[T]] = {}
        self.joined = 0
        """How often somebody got an answer that another one had asked for."""

    async def run(self, key: bytes, work: Callable[[], Awaitable[T]]) -> T:
        """What the work under this key gives, begun by whoever asked first."""
        place = (asyncio.get_running_loop(), key)
        flight = self._flights.get(place)
        if flight is None:
            begun = flight = self._flights[place] = _Flight(task=asyncio.ensure_future(_awaited(work)))
            flight.task.add_done_callback(lambda _: self._land(place, begun))
        else:
            self.joined += 1
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiting == 1 and not flight.task.done():
                self._land(place, flight)  # whoever asks now begins anew
                flight.task.cancel()
            raise
        finally:
            flight.waiting -= 1

    def _land(self, place: tuple[asyncio.AbstractEventLoop, bytes], flight: _Flight[T]) -> None:
        if self._flights.get(place) is flight:  # else another has begun since
            del self._flights[place]


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
