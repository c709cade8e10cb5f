"""The outermost layer of the service: one line in the log for each request, and the last catch.

A line holds the method, the route's template, the application and surface, the id of the API key, the status and the
milliseconds: never a path, a query string, a header or a body as it was sent (EVD-2). An application and a surface are
named only where the service has them and the key may see them: any other name is a text that somebody made up. An error
that nobody foresaw is logged by its class and place; its message may quote a query.

A body that says it is too large is refused here, because the framework's own refusal is not a problem document; one
that does not say so is cut off by the framework while it is read.

A request on a connection that is one too many is refused here too, but for the question whether the process lives: no
orchestrator shall end a replica because many ask it.

Once the replica leaves, every answer ends its connection: whoever keeps connections opens its next one elsewhere, and
finds none that is closed under a request.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from selector.access import EVERYTHING, Grant
from selector.adapters.answer_seen import METHODS, StatusSeen, route_of
from selector.adapters.door import CALLER
from selector.adapters.logs import REQUEST_ID, REQUEST_ID_HEADER, request_id
from selector.adapters.problems import problem, problem_of
from selector.reports import known_names
from selector.served import Served

LOG: Final = logging.getLogger("toolsurface.selector.access")

_METHODS: Final = METHODS | {"PUT", "PATCH", "DELETE", "OPTIONS"}
_CROWDED: Final = "toolsurface.crowded"
_ALWAYS_ANSWERED: Final = "/health/live"


def marked_crowded(app: ASGIApp) -> ASGIApp:
    """The application as a connection gets it that is one too many."""

    async def marked(scope: Scope, receive: Receive, send: Send) -> None:
        scope[_CROWDED] = True
        await app(scope, receive, send)

    return marked


class Edge:
    """An ASGI application around another one."""

    def __init__(
        self, app: ASGIApp, *, served: Callable[[], Served], leaving: Callable[[], bool], max_body_bytes: int
    ) -> None:
        """`served` says which names stand in the log, `leaving` whether the process is about to end; neither raises."""
        self._app = app
        self._leaving = leaving
        self._served = served
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on; only HTTP requests are looked at."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        identity = request_id(Headers(scope=scope).get("traceparent"))

        async def identified(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID_HEADER] = identity
                if self._leaving():
                    headers["connection"] = "close"
            await send(message)

        sent = StatusSeen(identified)
        before = REQUEST_ID.set(identity)
        try:
            if scope.get(_CROWDED) and scope["path"] != _ALWAYS_ANSWERED:
                await problem("too_many_connections", headers={"connection": "close"})(scope, receive, sent)
            elif _declared_bytes(scope) > self._max_body_bytes:
                await problem("body_too_large")(scope, receive, sent)
            else:
                await self._app(scope, receive, sent)
        except Exception as error:  # noqa: BLE001 - the last catch; the server would log the message
            LOG.error("internal error: %s", place_of(error))  # noqa: TRY400 - the traceback holds the message
            if sent.status == 0:
                await problem_of(error)(scope, receive, sent)
        finally:
            seen = self._seen(scope, sent.status, 1000.0 * (time.perf_counter() - started))
            LOG.info("%s", _line(seen), extra={"request": seen})
            REQUEST_ID.reset(before)

    def _seen(self, scope: Scope, status: int, milliseconds: float) -> dict[str, str | int | float]:
        caller: Grant | None = scope.get(CALLER)
        return {
            "method": scope["method"] if scope["method"] in _METHODS else "-",
            "route": route_of(scope) or "-",
            **self._names(scope.get("path_params") or {}, caller),
            **({} if caller is None or caller is EVERYTHING else {"key": caller.id}),
            "status": status,
            "milliseconds": round(milliseconds, 1),
        }

    def _names(self, path: Mapping[str, str], caller: Grant | None) -> dict[str, str]:
        if caller is None or "application" not in path:
            return {}
        return known_names(self._served(), caller, application=path["application"], surface=path.get("surface"))


def place_of(error: BaseException) -> str:
    """The class of an error and the last places it passed: file names and lines, no values."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return f"{type(error).__name__} at " + " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))


def _declared_bytes(scope: Scope) -> int:
    declared = Headers(scope=scope).get("content-length", "")
    # A length of a thousand digits is too large without being counted.
    return int(declared[:18]) if declared.isascii() and declared.isdigit() else 0


def _line(seen: Mapping[str, str | int | float]) -> str:
    named = "".join(f" {part}={seen[part]}" for part in ("application", "surface", "key") if part in seen)
    return f"{seen['method']} {seen['route']}{named} {seen['status']} {seen['milliseconds']:.1f}ms"
