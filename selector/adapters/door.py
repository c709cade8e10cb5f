"""The door of the service: who is asking, before anything of a request's body is read.

Everything needs a key but the paths that are named open; whether a path or a surface exists is told to nobody without
one. Where no keys are configured everybody is `EVERYTHING`. A request carries its key as ``Authorization: Bearer …``.

Routes ask `caller_of`; on an open path it may be None, which is somebody without a valid key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from selector.access import EVERYTHING, MAX_SECRET_CHARACTERS, Grant
from selector.adapters.problems import problem

Access: TypeAlias = Callable[[str], Grant | None]
"""What a secret allows; None for one that nobody issued. Raises nothing, whatever the text."""

_STATE: Final = "toolsurface.caller"
_BEARER: Final = "bearer "


class Door:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, *, access: Access | None, open_paths: Collection[str]) -> None:
        """`access` None: everybody may ask everything. `open_paths`: exact paths that need no key."""
        self._app = app
        self._access = access
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through with its caller, or answers 401."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = EVERYTHING if self._access is None else _granted(self._access, scope)
        if caller is None and scope["path"] not in self._open_paths:
            await _unauthorised()(scope, receive, send)
            return
        scope[_STATE] = caller
        await self._app(scope, receive, send)


def caller_of(request: Request) -> Grant | None:
    """Who is asking; None only on an open path."""
    caller: Grant | None = request.scope[_STATE]
    return caller


def known_caller(request: Request) -> Grant:
    """Who is asking, on a path that needs a key."""
    caller = caller_of(request)
    if caller is None:
        raise RuntimeError("an open path asked for a caller that it need not have")
    return caller


def _granted(access: Access, scope: Scope) -> Grant | None:
    value = Headers(scope=scope).get("authorization", "")
    if value[: len(_BEARER)].lower() != _BEARER or len(value) > MAX_SECRET_CHARACTERS:
        return None
    return access(value[len(_BEARER) :].strip())


def _unauthorised() -> ASGIApp:
    detail = "needs a valid key: Authorization: Bearer KEY"
    return problem(401, code="unauthorised", detail=detail, headers={"www-authenticate": 'Bearer realm="toolsurface"'})
