"""A thread for one sync call. Not a pool: a call that is abandoned keeps its thread until it returns, and in a pool it
would keep a place there too, until later calls ran out of time before they had begun.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")

HOLDS_LOOP: ContextVar[bool] = ContextVar("toolsurface_holds_loop", default=False)
"""Whether this is work on the loop that serves all sync callers, which stands still while sync code under it runs."""


async def in_thread(work: Callable[[], None]) -> None:
    """Runs `work` in a thread of its own, with the caller's context variables; `work` must not raise.

    No loop stands still for it, so it may wait for the one that it was started from.
    When the waiting is cancelled, the thread goes on by itself and its end interests nobody.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    context = copy_context()
    context.run(HOLDS_LOOP.set, False)  # noqa: FBT003 - a context variable takes its value by position

    def run() -> None:
        context.run(work)
        try:
            loop.call_soon_threadsafe(ended.set)
        except RuntimeError:
            # The loop has been closed meanwhile: nobody waits any more.
            return

    # A daemon: an abandoned call must not keep a process from ending; MNT-9 says what becomes of a call cut off so.
    threading.Thread(target=run, name="toolsurface-call", daemon=True).start()
    await ended.wait()


async def run_aside(work: Callable[[], T]) -> T:
    """What sync work returns or raises, run as `in_thread` runs it."""
    ended: list[T | BaseException] = []
    await in_thread(lambda: ended.append(outcome_of(work)))
    return settled(ended[0])


def outcome_of(work: Callable[[], T]) -> T | BaseException:
    """What the work returns or raises, to be `settled` by whoever waits for it."""
    try:
        return work()
    except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
        return error


def settled(ended: T | BaseException) -> T:
    """The value, or the error raised."""
    if isinstance(ended, BaseException):
        raise ended
    return ended
