"""RFC 9457 problem documents: the one form of every error this service answers with.

    {"type": "about:blank", "title", "status", "code", "detail", "errors"?: [{"field", "problem"}]}

`code` is one word that a program can act on; `detail` says what to do. Nothing in a problem is taken from the body
of the request, not even the name of a field nobody knows (EVD-2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from selector.adapters.faults import Fault, UnreadableBodyError, faults_of
from surface.errors import RankerUnavailable

MEDIA_TYPE = "application/problem+json"
CODE: Final = "toolsurface.code"
"""Where a scope holds the code of the problem it was answered with."""

# Of each code a ranker gives: the status, and what to do.
_UNAVAILABLE: Mapping[str, tuple[int, str]] = {
    "unknown_surface": (404, "no such surface in this application's active release; deploy it, or mend its name"),
    "index_unusable": (503, "the surface's index cannot be opened; GET /health/ready says why"),
    "ranker_failed": (500, "the ranker failed; the service's log holds the place"),
    "overloaded": (503, "too many requests are waiting; ask again in a moment"),
}
_HTTP: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request", "body: cannot be read"),
    404: ("unknown_path", "no such path; POST /v1/applications/{application}/surfaces/{surface}/rank"),
    405: ("wrong_method", "this path takes another method; the Allow header says which"),
    408: ("request_timeout", "the request did not arrive whole in time; send it at once"),
    429: ("rate_limited", "this key asks more than its rate allows; the Retry-After header says when to ask again"),
    413: ("body_too_large", "the body is larger than this service reads; send a shorter query"),
}


class _Problem(JSONResponse):
    """Leaves its code in the scope, for whoever counts."""

    media_type = MEDIA_TYPE

    def __init__(self, content: Mapping[str, Any], *, status_code: int, headers: Mapping[str, str]) -> None:
        super().__init__(content, status_code=status_code, headers=headers)
        self._code: str = content["code"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[CODE] = self._code
        await super().__call__(scope, receive, send)


def problem_of(error: Exception) -> JSONResponse:
    """The problem document of whatever went wrong; an error nobody foresaw is a 500 that says nothing about it."""
    if isinstance(error, RankerUnavailable):
        status, detail = _UNAVAILABLE.get(error.code, (503, "the ranker cannot answer now"))
        headers = {"retry-after": "1"} if status == 503 else None
        return problem(status, code=error.code, detail=detail, headers=headers)
    if isinstance(error, RequestValidationError):
        return _refused(faults_of(error.errors()))
    if isinstance(error, UnreadableBodyError):
        return _refused([error.fault])
    if isinstance(error, HTTPException):
        code, detail = _HTTP.get(error.status_code, ("refused", "this request cannot be answered"))
        return problem(error.status_code, code=code, detail=detail, headers=error.headers)
    return problem(500, code="internal", detail="the service failed; its log holds the place")


def _refused(faults: Sequence[Fault]) -> JSONResponse:
    listed = "; ".join(f"{fault['field']}: {fault['problem']}" for fault in faults)
    return problem(422, code="invalid_request", detail=listed, errors=faults)


def problem(
    status: int, *, code: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """The answer that is a problem document; `more` are members of its own."""
    content = {**problem_content(status, code=code, detail=detail), **more}
    return _Problem(content, status_code=status, headers=dict(headers or {}))


def problem_content(status: int, *, code: str, detail: str) -> dict[str, str | int]:
    """The members that every problem document has."""
    title = HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail}
