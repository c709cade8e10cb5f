"""The clock of one request: how long its body may take to arrive, and whether its asker still waits for the answer.

    X-Request-Deadline-Ms: 250      whole milliseconds, counted from when the head of the request has arrived

Milliseconds from now, and not a time of day, so that the clocks of two machines need not agree. When they are over, the
work is cancelled and the answer is a 504 with the code ``deadline_exceeded``. A body that is not there after
its time is a 408; whoever sends it holds a few kilobytes meanwhile and nothing that ranks.

Whoever closes the connection waits no longer either: the work is cancelled, and counted and logged as a 499, which
nobody receives.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from selector.adapters.faults import Fault
from selector.adapters.problems import problem, refused
from surface.protocol import MAX_DEADLINE_MS

DEADLINE_HEADER: Final = "X-Request-Deadline-Ms"
DEADLINE_NEEDS: Final = f"needs one whole number of milliseconds, 1 to {MAX_DEADLINE_MS}"
PATIENCE: Final = 10.0
"""Seconds that a body may take to arrive."""
ASKER_GONE: Final = 499
"""A status that no standard has and many proxies write into their logs."""


class Clock:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, *, patience: float) -> None:
        """`patience`: seconds that a body may take to arrive."""
        self._app = app
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on within its times."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).getlist(DEADLINE_HEADER)
        try:
            deadline = _seconds(asked)
        except ValueError as error:
            await refused(400, [Fault(field=DEADLINE_HEADER, problem=str(error))])(scope, receive, send)
            return
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        limit = asyncio.timeout(deadline)
        body = _Body(receive, seconds=self._patience, limit=limit)
        try:
            async with limit:
                try:
                    await self._app(scope, body, sent)
                finally:
                    body.let_go()
        except TimeoutError:
            if not limit.expired():
                raise
            if body.asker_is_gone:
                await Response(status_code=ASKER_GONE)(scope, receive, send)
            elif not started:
                await problem("deadline_exceeded")(scope, receive, send)


class _Body:
    """Receives what the client sends, until its body is whole within so many seconds; then watches whether it stays."""

    def __init__(self, receive: Receive, *, seconds: float, limit: asyncio.Timeout) -> None:
        """`limit` is over once the client is gone."""
        self.asker_is_gone = False
        self._limit = limit
        self._watching: asyncio.Task[None] | None = None
        self._receive = receive
        self._until = asyncio.get_running_loop().time() + seconds
        self._whole = False

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, headers={"connection": "close"}) from None
        if message["type"] == "http.disconnect":
            self._end()
            await asyncio.Event().wait()  # the limit is over and cancels it
        self._whole = not message.get("more_body", False)
        if self._whole:
            self._watching = asyncio.ensure_future(self._watch())
        return message

    def let_go(self) -> None:
        """Ends the watching."""
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._end()

    def _end(self) -> None:
        if not self._limit.expired():
            self.asker_is_gone = True
            self._limit.reschedule(asyncio.get_running_loop().time())


def _seconds(values: list[str]) -> float | None:
    """The deadline that the headers of a request ask for, in seconds."""
    if not values:
        return None
    (value, *others) = values
    if others or not (value.isascii() and value.isdigit() and len(value) <= 6 and 1 <= int(value) <= MAX_DEADLINE_MS):
        raise ValueError(DEADLINE_NEEDS)
    return int(value) / 1_000.0
