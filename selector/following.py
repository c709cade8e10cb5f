"""Looking again and again at something that changes, for as long as the process lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias, TypeVar

from surface.worker_thread import run_aside

T = TypeVar("T")
Hint: TypeAlias = Callable[[float], None]
"""Returns when there may be something new, at the latest after so many seconds; it may be late, raise or hang."""

LEAST_REST_S: Final = 0.2
"""Between two looks, however many hints there are."""
_LISTEN_S: Final = 60.0


async def follow(
    look: Callable[[], T],
    *,
    every: float,
    tell: Callable[[T], None],
    failed: Callable[[str], T],
    hint: Hint | None = None,
) -> None:
    """Tells what each look gives, at once and every so many seconds until it is cancelled; sooner after a hint.

    A look does not block the event loop, and one that hangs keeps no process from ending. Nothing depends on hints:
    they only save waiting.

    An error that nobody foresaw does not end the following, which would leave what was last seen in force for ever:
    `failed` makes of the name of its class what is told, once for as long as the same one comes.
    """
    failure: str | None = None
    hints = None if hint is None else _Hints(hint)
    try:
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
            await (asyncio.sleep(every) if hints is None else hints.rest(every))
    finally:
        if hints is not None:
            hints.close()


class _Hints:
    """Listens in a thread of its own, which is one however long it hangs."""

    def __init__(self, hint: Hint) -> None:
        self._hint = hint
        self._listening: asyncio.Task[None] | None = None

    async def rest(self, seconds: float) -> None:
        """Returns after so many seconds, or where a hint has come since the last rest began."""
        least = min(seconds, LEAST_REST_S)
        if self._listening is None:
            self._listening = asyncio.ensure_future(run_aside(partial(self._hint, _LISTEN_S)))
        over = asyncio.ensure_future(asyncio.sleep(seconds))
        try:
            await asyncio.sleep(least)
            await asyncio.wait({self._listening, over}, return_when=asyncio.FIRST_COMPLETED)
            if self._listening.done():
                failed, self._listening = self._listening.exception() is not None, None
                if failed:
                    await over
        finally:
            over.cancel()

    def close(self) -> None:
        """Listens no more."""
        if self._listening is not None:
            self._listening.cancel()
