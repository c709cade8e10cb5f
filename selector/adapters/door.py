"""The door of the service: who is asking and how much, before anything of a request's body is read.

Everything needs a key but the paths that are named open; whether a path or a surface exists is told to nobody without
one. Where no keys are configured everybody is `EVERYTHING`. A request carries its key as ``Authorization: Bearer …``.

Each request counts as one query against its key's rate; a route that is asked more at once spends the rest.

Routes ask `caller_of`; on an open path it may be None, which is somebody without a valid key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from selector.access import EVERYTHING, MAX_SECRET_CHARACTERS, Grant
from selector.adapters.problems import problem, problem_of
from selector.adapters.rates import Rates
from selector.fair_threads import asked_by

Access: TypeAlias = Callable[[str], Grant | None]
"""What a secret allows; None for one that nobody issued. Raises nothing, whatever the text."""

CALLER: Final = "toolsurface.caller"
"""Where a scope holds the `Grant` of whoever asks, or None."""
_RATES: Final = "toolsurface.rates"
_BEARER: Final = "bearer "


class Door:
    """An ASGI application around another one."""

    def __init__(
        self, app: ASGIApp, *, access: Access | None, rates: Rates | None, open_paths: Collection[str]
    ) -> None:
        """`access` None: everybody may ask everything. `open_paths`: exact paths that need no key and have no rate."""
        self._app = app
        self._access = access
        self._rates = rates
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through with its caller, or answers 401 or 429."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = EVERYTHING if self._access is None else _granted(self._access, scope)
        scope[CALLER], scope[_RATES] = caller, self._rates
        if scope["path"] not in self._open_paths:
            if caller is None:
                await _unauthorised()(scope, receive, send)
                return
            try:
                await _spend(scope, caller, 1, again=1)
            except HTTPException as error:
                await problem_of(error)(scope, receive, send)
                return
        with asked_by("" if caller is None else caller.id):
            await self._app(scope, receive, send)


def caller_of(request: Request) -> Grant | None:
    """Who is asking; None only on an open path."""
    caller: Grant | None = request.scope[CALLER]
    return caller


def known_caller(request: Request) -> Grant:
    """Who is asking, on a path that needs a key."""
    caller = caller_of(request)
    if caller is None:
        raise RuntimeError("an open path asked for a caller that it need not have")
    return caller


async def spend_batch(request: Request, queries: int) -> None:
    """Counts all queries of this request, the first of which the door counted, against its caller's rate.

    Raises RequestValidationError for `queries` where the rate never allows so many at once, however long one waits, and
    HTTPException 429 where it has no more now.
    """
    caller = known_caller(request)
    rates: Rates | None = request.scope[_RATES]
    rate = None if rates is None else rates.rate_of(caller)
    if rate is not None and queries > rate.amount:
        told = {"rate": str(rate), "amount": rate.amount}
        raise RequestValidationError([{"type": "too_many_for_rate", "loc": ("body", "queries"), "ctx": told}])
    await _spend(request.scope, caller, queries - 1, again=queries)


async def _spend(scope: Scope, caller: Grant, queries: int, *, again: int) -> None:
    rates: Rates | None = scope[_RATES]
    seconds = await rates.spend(caller, queries, again=again) if rates is not None and queries else None
    if seconds is not None:
        raise HTTPException(429, headers={"retry-after": str(seconds)})


def _granted(access: Access, scope: Scope) -> Grant | None:
    value = Headers(scope=scope).get("authorization", "")
    if value[: len(_BEARER)].lower() != _BEARER or len(value) > MAX_SECRET_CHARACTERS:
        return None
    return access(value[len(_BEARER) :].strip())


def _unauthorised() -> ASGIApp:
    return problem("unauthorised", headers={"www-authenticate": 'Bearer realm="toolsurface"'})
