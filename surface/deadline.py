"""Waiting for work no longer than a deadline, whatever the work does about being cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class OutOfTimeError(Exception):
    """The work did not end within its deadline; it has been cancelled and is no longer waited for."""


async def within(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, or OutOfTimeError after `seconds` (None: no deadline).

    Work that ignores its cancellation is abandoned and its late result discarded, so nobody else waits for it.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        _abandon(task)
        raise
    if not done:
        _abandon(task)
        raise OutOfTimeError
    return task.result()


def is_being_cancelled() -> bool:
    """Whether somebody cancels the current task, as against a CancelledError that some work raised of its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _abandon(task: asyncio.Future[Any]) -> None:
    # An exception nobody retrieves would be logged by asyncio with its message, which may hold content.
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    task.cancel()
