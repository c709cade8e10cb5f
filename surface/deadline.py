"""Waiting for work no longer than a deadline, whatever the work does about being cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class OutOfTimeError(TimeoutError):
    """The work did not end within its deadline; it has been cancelled and is no longer waited for."""


async def within(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, or OutOfTimeError after `seconds` (None: no deadline). Whatever it raises is raised here.

    Work that ignores its cancellation is abandoned and its late result discarded, so nobody else waits for it.
    """
    ended: list[tuple[T, None] | tuple[Any, BaseException]] = []
    task = asyncio.ensure_future(_keep(work, ended))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        raise OutOfTimeError
    if not ended:
        raise asyncio.CancelledError
    value, raised = ended[0]
    if isinstance(raised, GeneratorExit):
        # Raised here it would read as somebody closing our own coroutine.
        raise RuntimeError("the work raised GeneratorExit") from raised  # noqa: TRY004 - it is no question of types
    if raised is not None:
        raise raised
    return value


async def _keep(work: Coroutine[Any, Any, T], ended: list[tuple[T, None] | tuple[Any, BaseException]]) -> None:
    """Puts aside how the work ended.

    The task itself ends with nothing: asyncio logs what tasks return and raise (in its debug mode, or when nobody
    retrieves it), which may be content, and a task that raises SystemExit takes the event loop along.
    """
    try:
        ended.append((await work, None))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again by `within`
        ended.append((None, error))


async def cancellations() -> int:
    """How often somebody has cancelled the current task by now; a cancellation that is under way arrives here.

    A task that lived through one, as job runners' do, still counts it.
    """
    count = _count()
    if count:
        await asyncio.sleep(0)
    return count


def is_being_cancelled(since: int) -> bool:
    """Whether somebody cancels the current task, as against a CancelledError that some work raised of its own.

    `since`: how often that had happened before the work began.
    """
    return _count() > since


def _count() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
