"""Looking again and again at something that changes, for as long as the process lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def follow(look: Callable[[], T], *, every: float, tell: Callable[[T], None], failed: Callable[[str], T]) -> None:
    """Tells what each look gives, every so many seconds until it is cancelled; a look does not block the event loop.

    An error that nobody foresaw does not end the following, which would leave what was last seen in force for ever:
    `failed` makes of the name of its class what is told, once for as long as the same one comes.
    """
    failure: str | None = None
    while True:
        await asyncio.sleep(every)
        try:
            seen = await asyncio.to_thread(look)
        except Exception as error:  # noqa: BLE001 - see above
            name = type(error).__name__
            if name != failure:
                tell(failed(name))
            failure = name
        else:
            failure = None
            tell(seen)
