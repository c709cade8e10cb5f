"""RFC 9457 problem documents: the one form of every error this service answers with.

    {"type": "about:blank", "title", "status", "code", "detail", "errors"?: [{"field", "problem"}]}

`code` is one word that a program can act on; `detail` says what to do. Nothing in a problem is taken from the body
of the request, not even the name of a field nobody knows (EVD-2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal, TypeAlias

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from selector.adapters.faults import Fault, UnreadableBodyError, faults_of
from surface.errors import RankerUnavailable

MEDIA_TYPE = "application/problem+json"
CODE: Final = "toolsurface.code"
"""Where a scope holds the code of the problem it was answered with."""

Code: TypeAlias = Literal[
    "body_too_large",
    "deadline_exceeded",
    "head_too_large",
    "index_unusable",
    "internal",
    "invalid_request",
    "leaving",
    "loading",
    "no_index",
    "overloaded",
    "ranker_failed",
    "ranker_unavailable",
    "rate_limited",
    "request_timeout",
    "store_unavailable",
    "too_many_connections",
    "unauthorised",
    "unknown_encoding",
    "unknown_path",
    "unknown_surface",
    "unknown_version",
    "wrong_method",
]

PROBLEMS: Final[Mapping[Code, tuple[int, str]]] = {
    "invalid_request": (400, "not a request in HTTP/1.1"),
    "unauthorised": (401, "needs a valid key: Authorization: Bearer KEY"),
    "unknown_surface": (404, "no such surface is served, or none for this key; deploy it, or mend its name or the key"),
    "unknown_path": (404, "no such path; POST /v1/applications/{application}/surfaces/{surface}/rank"),
    "wrong_method": (405, "this path takes another method; the Allow header says which"),
    "request_timeout": (408, "the request did not arrive whole in time; send it at once"),
    "body_too_large": (413, "the body is larger than this service reads; send a shorter query"),
    "rate_limited": (429, "this key asks more than its rate allows; the Retry-After header says when to ask again"),
    "head_too_large": (431, "the request line and headers are larger than this service reads; send fewer"),
    "ranker_failed": (500, "the ranker failed; the service's log holds the place"),
    "internal": (500, "the service failed; its log holds the place"),
    "unknown_encoding": (501, "a transfer encoding that this service does not know; send chunked, or a length"),
    "overloaded": (503, "too many requests are waiting; ask again in a moment"),
    "too_many_connections": (
        503,
        "more connections than this service holds at once; ask another replica, or again in a moment",
    ),
    "index_unusable": (503, "the surface's index cannot be opened; GET /health/ready says why"),
    "ranker_unavailable": (503, "the ranker cannot answer now"),
    "no_index": (503, "no index is served; deploy an application to this store"),
    "loading": (503, "the indexes are being loaded and warmed; ask again in a moment"),
    "store_unavailable": (503, "the store cannot be reached and is asked again; an operator's key and the log say why"),
    "leaving": (503, "this replica is about to end; ask another one"),
    "deadline_exceeded": (504, "the time that X-Request-Deadline-Ms gave is over; the work was cancelled"),
    "unknown_version": (505, "a version of HTTP that this service does not speak; send HTTP/1.1"),
}
"""By code: the status, and what to do. `refused` gives ``invalid_request`` with the faults of a header or a body."""

_OF_RANKER: Final[Mapping[str, Code]] = {
    "unknown_surface": "unknown_surface",
    "index_unusable": "index_unusable",
    "loading": "loading",
    "ranker_failed": "ranker_failed",
    "overloaded": "overloaded",
}
_OF_HTTP: Final[Mapping[int, Code]] = {
    400: "invalid_request",
    404: "unknown_path",
    405: "wrong_method",
    408: "request_timeout",
    413: "body_too_large",
    429: "rate_limited",
}


class _Problem(JSONResponse):
    """Leaves its code in the scope, for whoever counts."""

    media_type = MEDIA_TYPE

    def __init__(self, content: Mapping[str, Any], *, headers: Mapping[str, str]) -> None:
        super().__init__(content, status_code=content["status"], headers=headers)
        self._code: Code = content["code"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[CODE] = self._code
        await super().__call__(scope, receive, send)


def problem_of(error: Exception) -> JSONResponse:
    """The problem document of whatever went wrong; an error nobody foresaw is a 500 that says nothing about it."""
    if isinstance(error, RankerUnavailable):
        return problem(_OF_RANKER.get(error.code, "ranker_unavailable"))
    if isinstance(error, RequestValidationError):
        return refused(422, faults_of(error.errors()))
    if isinstance(error, UnreadableBodyError):
        return refused(422, [error.fault])
    if isinstance(error, HTTPException) and error.status_code in _OF_HTTP:
        return problem(_OF_HTTP[error.status_code], headers=error.headers)
    return problem("internal")


def problem(code: Code, *, headers: Mapping[str, str] | None = None, **more: Any) -> JSONResponse:
    """The answer that is a problem document; `more` are members of its own. One that passes says when to ask again."""
    content = {**problem_content(code), **more}
    passes = {"retry-after": "1"} if content["status"] == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return _Problem(content, headers={**passes, **(headers or {})})


def refused(status: Literal[400, 422], faults: Sequence[Fault]) -> JSONResponse:
    """The answer to a request whose headers (400) or body (422) have these faults."""
    return _Problem(refused_content(status, faults), headers={})


def problem_content(code: Code) -> dict[str, str | int]:
    """The members that every problem document has."""
    status, detail = PROBLEMS[code]
    return _content(status, code, detail)


def refused_content(status: Literal[400, 422], faults: Sequence[Fault]) -> dict[str, Any]:
    """The problem document of a request that has these faults."""
    listed = "; ".join(f"{fault['field']}: {fault['problem']}" for fault in faults)
    return {**_content(status, "invalid_request", listed), "errors": list(faults)}


def _content(status: int, code: Code, detail: str) -> dict[str, str | int]:
    title = HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail}
