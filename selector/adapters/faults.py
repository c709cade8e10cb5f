"""What is wrong with the body of a request: a field, and a sentence of our own for each kind of fault.

pydantic's sentences are never passed on: the next release may word them otherwise, and some of them repeat the input.
Nothing in a fault is taken from what was sent, not even the name of a field that nobody knows (EVD-2). The numbers in
a sentence are those of `surface.protocol`, as pydantic hands them over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict

from starlette.exceptions import HTTPException

from surface.protocol import DIGEST_PATTERN, RankBatchBody, RankBody

MOST_FAULTS: Final = 8
"""No body has more: each field has one or two, and those that nobody knows are one together."""
BODY: Final = "body"
"""The field of a fault that is in no field of ours."""

FIELDS: Final = frozenset(RankBody.model_fields) | frozenset(RankBatchBody.model_fields)

NO_OBJECT: Final = "needs a JSON object, sent as application/json"
UNREADABLE: Final[Mapping[str, str]] = {
    "empty": NO_OBJECT,
    "byte_order_mark": "begins with a byte order mark; send UTF-8 without one",
    "encoding": "is not UTF-8; send it as UTF-8",
    "syntax": "is not JSON",
    "depth": "nests too deep; /openapi.json lists the fields, which are flat",
    "number": "holds NaN, an infinity or a number of thousands of digits; send numbers that JSON has",
    "repeated_key": "holds a field twice; send each field once",
}
"""By the kind of `indexer.strict_json.NotJsonError`, and the mark that it lets pass."""
TWICE: Final = "is given twice; send it once"

OF_FIELD: Final[Mapping[str, str]] = {
    "missing": "is missing; it is required",
    "string_type": "needs a string",
    "string_unicode": "holds half of a surrogate pair; send whole characters",
    "string_too_short": "needs at least {min_length} character",
    "string_too_long": "takes at most {max_length} characters",
    "whole_number": "needs a whole number",
    "int_parsing_size": "takes no number of this size",
    "greater_than_equal": "needs at least {ge}",
    "less_than_equal": "takes at most {le}",
    "literal_error": "needs to be {expected}",
    "tuple_type": "needs an array of strings",
    "too_short": "needs at least {min_length} query",
    "too_long": "takes at most {max_length} queries",
    "too_many_for_rate": "this key's rate is {rate}: send at most {amount} at once",
}
"""By pydantic's type of a fault in a field of ours, and the one type that `door.py` adds."""
OF_PATTERN: Final[Mapping[str, str]] = {DIGEST_PATTERN: "needs 32 hexadecimal digits in lower case"}
NOT_TAKEN: Final = "has a field that is not taken; /openapi.json lists those that are"
UNFORESEEN: Final = "is not as /openapi.json describes it"


class Fault(TypedDict):
    """One fault as a problem document holds it."""

    field: str
    problem: str


class UnreadableBodyError(HTTPException):
    """The body is no JSON that the routes read; FastAPI passes on an HTTPException only."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(422)
        self.fault = fault


def unreadable(kind: str, *, key: str | None = None) -> UnreadableBodyError:
    """The error of a body whose JSON is wrong in this way; `key` is the one that is there twice."""
    if key in FIELDS:
        return UnreadableBodyError(Fault(field=key, problem=TWICE))
    return UnreadableBodyError(Fault(field=BODY, problem=UNREADABLE[kind]))


def faults_of(errors: Iterable[Mapping[str, Any]]) -> list[Fault]:
    """pydantic's errors in our words, each once: a body may hold ten thousand fields that nobody knows."""
    return list({(fault["field"], fault["problem"]): fault for fault in map(_fault, errors)}.values())


def _fault(error: Mapping[str, Any]) -> Fault:
    kind: str = error["type"]
    field, *places = error["loc"][1:] or (None,)
    if field is None:  # the object as a whole: it is none, or a name in it is no text
        return Fault(field=BODY, problem=OF_FIELD[kind] if kind == "string_unicode" else NO_OBJECT)
    if field not in FIELDS or kind == "extra_forbidden":
        return Fault(field=BODY, problem=NOT_TAKEN)
    context: Mapping[str, Any] = error.get("ctx", {})
    sentence = OF_PATTERN.get(context.get("pattern", "")) or OF_FIELD.get(kind)
    path = ".".join((field, *(str(place) for place in places if isinstance(place, int))))
    return Fault(field=path, problem=UNFORESEEN if sentence is None else sentence.format_map(context))
