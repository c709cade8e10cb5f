"""The body of a request: one JSON value in plain UTF-8 that every reader reads alike.

FastAPI reads a body as Python does: a field that stands twice counts once, UTF-16 is guessed, NaN is a number and a
byte order mark is skipped. A proxy or a log that reads otherwise has then seen another request than the one that is
answered. Here each of these is refused with 422.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from indexer.strict_json import NotJsonError, RepeatedKeyError, parse_json
from selector.adapters.faults import unreadable


class StrictBodyRoute(APIRoute):
    """A route whose body is read strictly: ``APIRouter(route_class=StrictBodyRoute)``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As FastAPI documents it for requests of one's own."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        content = await self.body()
        if content.startswith(codecs.BOM_UTF8):
            raise unreadable("byte_order_mark")
        try:
            return parse_json(content)
        except RepeatedKeyError as error:
            raise unreadable(error.kind, key=error.key) from None
        except NotJsonError as error:
            raise unreadable(error.kind) from None
