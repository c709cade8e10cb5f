"""The service's OpenAPI document: what FastAPI derives, and what it cannot know.

It cannot know problem documents, the key that the door asks for, and the deadline that the clock takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from selector.adapters.clock import DEADLINE_HEADER
from selector.adapters.problems import MEDIA_TYPE, problem_content
from surface.protocol import MAX_DEADLINE_MS

_REF: Final = "#/components/schemas/"
_OF: Final[Mapping[int, tuple[str, str, str]]] = {
    400: ("The request cannot be read, or a header is wrong", "invalid_request", "X-Request-Deadline-Ms: needs …"),
    401: ("No key, or one that is not valid", "unauthorised", "needs a valid key: Authorization: Bearer KEY"),
    404: (
        "No such surface, or none that this key may ask: the answer is the same",
        "unknown_surface",
        "no such surface in this application's active release; deploy it, or mend its name",
    ),
    408: ("The body did not arrive in time", "request_timeout", "the request did not arrive whole in time; …"),
    413: ("The body is too large", "body_too_large", "the body is larger than this service reads; …"),
    422: ("A field of the body is wrong", "invalid_request", "limit: Input should be less than or equal to 100"),
    429: ("The key's rate is used up", "rate_limited", "this key asks more than its rate allows; …"),
    500: ("The service failed", "ranker_failed", "the ranker failed; the service's log holds the place"),
    503: ("It cannot answer now; ask again", "overloaded", "too many requests are waiting; ask again in a moment"),
    504: ("The deadline of the request is over", "deadline_exceeded", "the time that … gave is over; …"),
}
_RETRY_AFTER: Final = {"Retry-After": {"description": "Whole seconds.", "schema": {"type": "integer", "minimum": 1}}}
_SCHEME: Final = {"type": "http", "scheme": "bearer", "description": "An API key, or a signed token where configured."}


class Fault(BaseModel):
    """One field that is wrong."""

    field: str
    problem: str


class Problem(BaseModel):
    """RFC 9457: the form of every error."""

    type: str
    title: str
    status: int
    code: str
    """One word that a program can act on."""
    detail: str
    errors: list[Fault] = []


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these."""
    return {status: _response(status) for status in statuses}


def describe(api: FastAPI, *, open_paths: Collection[str]) -> None:
    """Completes what ``GET /openapi.json`` answers. Call it when every route is there."""
    document: dict[str, Any] | None = None

    def openapi() -> dict[str, Any]:
        nonlocal document
        if document is None:
            document = _completed(api, open_paths)
        return document

    api.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _completed(api: FastAPI, open_paths: Collection[str]) -> dict[str, Any]:
    document = get_openapi(title=api.title, version=api.version, description=api.description, routes=api.routes)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schema = Problem.model_json_schema(ref_template=_REF + "{model}")
    schemas |= {**schema.pop("$defs"), "Problem": schema}
    components["securitySchemes"] = {"key": _SCHEME}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if not _is_problem(operation["responses"].get("422")):
                operation["responses"].pop("422", None)
            operation["security"] = [] if path in open_paths else [{"key": []}]
            operation.setdefault("parameters", []).append(_DEADLINE)
    return document


_DEADLINE: Final = {
    "name": DEADLINE_HEADER,
    "in": "header",
    "required": False,
    "description": "Milliseconds from now after which nobody waits for the answer; the work is cancelled then.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_DEADLINE_MS},
    "example": 250,
}


def _response(status: int) -> dict[str, Any]:
    description, code, detail = _OF[status]
    example: dict[str, Any] = problem_content(status, code=code, detail=detail)
    response: dict[str, Any] = {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}Problem"}, "example": example}},
    }
    if status in {429, 503}:
        response["headers"] = _RETRY_AFTER
    return response


def _is_problem(response: dict[str, Any] | None) -> bool:
    return response is not None and MEDIA_TYPE in response["content"]
