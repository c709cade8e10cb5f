"""Looking again and again at something that changes, for as long as the process lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from surface.worker_thread import run_aside

T = TypeVar("T")


async def follow(look: Callable[[], T], *, every: float, tell: Callable[[T], None], failed: Callable[[str], T]) -> None:
    """Tells what each look gives, at once and every so many seconds until it is cancelled.

    A look does not block the event loop, and one that hangs keeps no process from ending.

    An error that nobody foresaw does not end the following, which would leave what was last seen in force for ever:
    `failed` makes of the name of its class what is told, once for as long as the same one comes.
    """
    failure: str | None = None
    while True:
        try:
            seen = await run_aside(look)
        except Exception as error:  # noqa: BLE001 - see above
            name = type(error).__name__
            if name != failure:
                tell(failed(name))
            failure = name
        else:
            failure = None
            tell(seen)
        await asyncio.sleep(every)
