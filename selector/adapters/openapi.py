"""The service's OpenAPI document: what FastAPI derives, and what it cannot know.

It cannot know problem documents, the key that the door asks for, and the deadline that the clock takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, Field

from selector.adapters import openapi_examples
from selector.adapters.clock import DEADLINE_HEADER
from selector.adapters.faults import MOST_FAULTS
from selector.adapters.openapi_examples import body_refusals, refusals
from selector.adapters.problems import MEDIA_TYPE, Code
from surface.protocol import MAX_DEADLINE_MS

ABOUT: Final = """\
Ranks the tools of a surface for a query. Errors are problem documents (RFC 9457) with a `code`.

What is no request in HTTP/1.1, or does not arrive whole in time, is refused before it has a path: 400
`invalid_request`, 408 `request_timeout`, 431 `head_too_large`, 501 `unknown_encoding`, 505 `unknown_version`.
Any other path is a 404 `unknown_path`, any other method a 405 `wrong_method`.
"""

_REF: Final = "#/components/schemas/"
_OF: Final[Mapping[int, str]] = {
    400: "A header is wrong",
    401: "No key, or one that is not valid",
    404: "Not there, or not for this key: the answer is the same",
    408: "The body did not arrive in time",
    413: "The body is too large",
    422: "The body is no JSON, or a field of it is wrong",
    429: "The key's rate is used up",
    500: "The service failed",
    503: "It cannot answer now; ask again",
    504: "The deadline of the request is over",
}
_RETRY_AFTER: Final = {"Retry-After": {"description": "Whole seconds.", "schema": {"type": "integer", "minimum": 1}}}
_REQUEST_ID: Final = {
    "X-Request-Id": {
        "description": "Of this request in the log: the trace id of its traceparent, or one made for it.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    }
}
_CHALLENGE: Final = {"WWW-Authenticate": {"description": "Asks for a bearer token.", "schema": {"type": "string"}}}
_SCHEME: Final = {"type": "http", "scheme": "bearer", "description": "An API key, or a signed token where configured."}
_DEADLINE: Final = {
    "name": DEADLINE_HEADER,
    "in": "header",
    "required": False,
    "description": "Milliseconds from now after which nobody waits for the answer; the work is cancelled then.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_DEADLINE_MS},
    "example": 250,
}


class ProblemFault(BaseModel):
    """One field that is wrong."""

    field: str
    problem: str


class Problem(BaseModel):
    """RFC 9457: the form of every error."""

    # A problem may have members of its own: the one of readiness says what is served and refused.
    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: Code
    """One word that a program can act on."""
    detail: str
    errors: Annotated[list[ProblemFault], Field(max_length=MOST_FAULTS)] = []


KEY_IF_THERE_IS_ONE: Final[Mapping[str, Any]] = {"security": [{}, {"key": []}]}
"""The `openapi_extra` of an open path that tells more to a key."""


def problems(*codes: Code) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these codes; every route may refuse a header."""
    examples: dict[int, dict[str, Any]] = {}
    for code in ("invalid_request", *codes):
        for status, its in refusals(code).items():
            examples.setdefault(status, {}).update(its)
    return {status: _response(status, its) for status, its in sorted(examples.items())}


def body_problems(*codes: Code) -> dict[int | str, dict[str, Any]]:
    """The same of a route that takes a body."""
    return {
        **problems("request_timeout", "body_too_large", *codes),
        422: _response(422, body_refusals()),
    }


def succeeds(*examples: str) -> dict[int | str, dict[str, Any]]:
    """The 200 of a route, with these of `openapi_examples.MODELS`."""
    refs = {name: {"$ref": f"#/components/examples/{name}"} for name in examples}
    return {200: {"content": {"application/json": {"examples": refs}}}}


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
    document = get_openapi(title=api.title, version=api.version, description=ABOUT, routes=api.routes)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schema = Problem.model_json_schema(ref_template=_REF + "{model}")
    schemas |= {**schema.pop("$defs"), "Problem": schema}
    components |= {"securitySchemes": {"key": _SCHEME}, "examples": openapi_examples.components()}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if not _is_problem(operation["responses"].get("422")):
                operation["responses"].pop("422", None)
            operation.setdefault("security", [] if path in open_paths else [{"key": []}])
            operation.setdefault("parameters", []).append(_DEADLINE)
            for response in operation["responses"].values():
                response["headers"] = {**response.get("headers", {}), **_REQUEST_ID}
    return document


def _response(status: int, examples: Mapping[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": _OF[status],
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}Problem"}, "examples": examples}},
    }
    if status in {429, 503}:
        response["headers"] = _RETRY_AFTER
    if status == 401:
        response["headers"] = _CHALLENGE
    return response


def _is_problem(response: dict[str, Any] | None) -> bool:
    return response is not None and MEDIA_TYPE in response["content"]
