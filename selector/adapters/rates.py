"""How much each caller asks: a sliding window for each, in this process or in a Redis that the replicas share.

Where the shared store fails, each replica counts for itself, and the store is tried again after `PAUSE` seconds: a
rate is there for fairness, and a service that answers nobody because it cannot count is worse than an unfair one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, cast

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, SlidingWindowCounterSupport, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from selector.access import Grant, Rate
from selector.rate_window import seconds_until

PAUSE: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStorage:
    """A storage of several replicas."""

    storage: Storage
    close: Callable[[], Awaitable[None]]


class Rates:
    """Counts what each grant spends."""

    def __init__(self, *, usual: Rate | None, shared: SharedStorage | None, tell: Callable[[str], None]) -> None:
        """`usual`: the rate of a grant that has none of its own (None: no limit). `shared` None: counts here."""
        self._usual = usual
        self._here = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared = None if shared is None else SlidingWindowCounterRateLimiter(shared.storage)
        self._close = None if shared is None else shared.close
        self._shared_from = 0.0
        self._tell = tell
        self._failing = False

    def rate_of(self, caller: Grant) -> Rate | None:
        """The rate of this caller, whose `amount` is the most it may ever ask at once; None: no limit."""
        return caller.rate or self._usual

    async def spend(self, caller: Grant, queries: int, *, again: int) -> int | None:
        """None where the caller may ask this; else the whole seconds after which it may, if it asks nothing meanwhile.

        `again`: how many queries the next try would spend in all, which is more where a part has been spent already.
        """
        rate = self.rate_of(caller)
        if rate is None:
            return None
        item = RateLimitItemPerSecond(rate.amount, rate.seconds, namespace="toolsurface")
        if self._shared is not None and time.monotonic() >= self._shared_from:
            try:
                waits = await _spent(self._shared, item, caller.id, queries, again)
            except Exception as error:  # noqa: BLE001 - whatever a client raises, counting here still works
                self._shared_from = time.monotonic() + PAUSE
                if not self._failing:
                    self._failing = True
                    self._tell(f"the store of the rates failed with {type(error).__name__}; each replica counts alone")
            else:
                if self._failing:
                    self._failing = False
                    self._tell("the store of the rates answers again")
                return waits
        return await _spent(self._here, item, caller.id, queries, again)

    async def close_at_the_end(self) -> None:
        """Waits until it is cancelled, and then closes the shared storage."""
        try:
            await asyncio.Event().wait()
        finally:
            if self._close is not None:
                await self._close()


async def _spent(
    limiter: SlidingWindowCounterRateLimiter, item: RateLimitItem, id_: str, queries: int, again: int
) -> int | None:
    if await limiter.hit(item, id_, cost=queries):
        return None
    # The library itself tells when one query more fits, which starves whoever has to ask several at once.
    storage = cast("SlidingWindowCounterSupport", limiter.storage)
    seconds = item.get_expiry()
    before, before_left, now, now_left = await storage.get_sliding_window(item.key_for(id_), seconds)
    # A window is kept for its own time and for that of the next one; where nothing was asked in it there is none.
    left = now_left - seconds if now_left > seconds else before_left
    return seconds_until(again, amount=item.amount, seconds=seconds, before=before, now=now, left=left)
