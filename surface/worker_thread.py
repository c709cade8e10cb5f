"""A thread for one sync call. Not a pool: a call that is abandoned keeps its thread until it returns, and in a pool it
would keep a place there too, until later calls ran out of time before they had begun.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")

HOLDS_LOOP: ContextVar[bool] = ContextVar("toolsurface_holds_loop", default=False)
"""Whether this is work on the loop that serves all sync callers, which stands still while sync code under it runs."""


async def run_aside(work: Callable[[], T]) -> T:
    """What sync work returns or raises, run in a thread of its own with the caller's context variables.

    No loop stands still for it, so it may wait for the one that it was started from.
    When the waiting is cancelled, the thread goes on by itself and its end interests nobody.
    """
    loop = asyncio.get_running_loop()
    ended, outcome = asyncio.Event(), Future[T]()
    context = copy_context()
    context.run(HOLDS_LOOP.set, False)  # noqa: FBT003 - a context variable takes its value by position

    def run() -> None:
        context.run(fulfil, outcome, work)
        try:
            loop.call_soon_threadsafe(ended.set)
        except RuntimeError:
            # The loop has been closed meanwhile: nobody waits any more.
            return

    # A daemon: an abandoned call must not keep a process from ending; MNT-9 says what becomes of a call cut off so.
    threading.Thread(target=run, name="toolsurface-call", daemon=True).start()
    await ended.wait()
    return outcome.result()


def fulfil(future: Future[T], work: Callable[[], T]) -> None:
    """Has a future hold what the work returns or raises; does nothing for one that was cancelled."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - raised again in whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)
