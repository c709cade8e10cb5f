"""The body of a request: one JSON value in plain UTF-8 that every reader reads alike, and the short way of most bodies.

FastAPI reads a body as Python does: a field that stands twice counts once, UTF-16 is guessed, NaN is a number and a
byte order mark is skipped. A proxy or a log that reads otherwise has then seen another request than the one that is
answered. Here each of these is refused with 422.

FastAPI also does for each request what could be known before: it parses the media type as that of an e-mail, looks for
dependencies, and validates each part of the path and the answer. Of a route that has none of all that, a body that is
nothing special goes straight to the function and its answer straight to JSON. Any other one goes FastAPI's way, and so
do all that are refused: what is said of them is said in one place.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Coroutine
from typing import Any, cast

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from indexer.strict_json import NotJsonError, RepeatedKeyError, parse_json
from selector.adapters.faults import unreadable

_JSON = "application/json"


class StrictBodyRoute(APIRoute):
    """A route whose body is read strictly: ``APIRouter(route_class=StrictBodyRoute)``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As FastAPI documents it for requests of one's own."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_strict(request))

        return handle_strictly


class ShortWayRoute(StrictBodyRoute):
    """The same of a function that takes the parts of the path, `body` and `request`, and no more.

    It answers with a model of pydantic's that is valid as it is.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As above."""
        handle, function = super().get_route_handler(), self.endpoint
        if self.body_field is None:
            raise TypeError(f"{self.path}: needs a body")
        model = cast("type[BaseModel]", self.body_field.field_info.annotation)

        async def handle_shortly(request: Request) -> Response:
            strict = _strict(request)
            body = await _ordinary(strict, model)
            if body is None:
                return await handle(strict)
            answer: BaseModel = await function(**request.path_params, body=body, request=strict)
            return Response(answer.model_dump_json(), media_type=_JSON)

        return handle_shortly


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


def _strict(request: Request) -> _StrictRequest:
    """The request itself where it is strict already: a body is received once."""
    return request if isinstance(request, _StrictRequest) else _StrictRequest(request.scope, request.receive)


async def _ordinary(request: _StrictRequest, model: type[BaseModel]) -> BaseModel | None:
    """The body, where it is one of `model`, of a length that was told before it, and of the plain media type."""
    headers = request.headers
    # A body without a length may be too large, which FastAPI finds out.
    if headers.get("content-type") != _JSON or "content-length" not in headers or not await request.body():
        return None
    try:
        return model.model_validate(await request.json())
    except ValidationError:
        return None
