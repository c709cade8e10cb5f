"""The InputModel port, and the model that comes from Pydantic.

A violation names the field and the constraint in our own words and never shows a value (MNT-3): a path holds only
names that the tool's own schema declares, and positions; every other key, which the caller wrote, is shown as ``*``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from surface.canonical import canonical_bytes
from surface.errors import ToolSurfaceError

AMBIGUOUS_DEPTH = 10
"""How deep arguments may nest where a union of models has no discriminator: validating doubles with every level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One field that breaks one constraint."""

    path: str
    """Such as ``filters.0.name``; empty for the arguments as a whole."""
    problem: str

    def __str__(self) -> str:
        return f"{self.path or 'the arguments'}: {self.problem}"


class InputRejectedError(ToolSurfaceError):
    """Raw arguments break their input model; becomes a VALIDATION_ERROR."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        super().__init__("; ".join(map(str, self.violations)))


class InputModel(Protocol):
    """What a tool takes: the schema a model reads, and the check every call passes."""

    @property
    def json_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments, an object; a fresh copy each time."""
        ...

    def validate(self, arguments: Any) -> Any:
        """What the handler gets for these raw arguments (a JSON value); raises InputRejectedError."""
        ...


class _PlainSchema(GenerateJsonSchema):
    """No generated titles: they repeat the field's name and weigh on every step."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the signature is pydantic's
        return False


@dataclass(frozen=True, slots=True)
class PydanticInput:
    """The input model of a Pydantic model class. `validate` gives an instance of it."""

    model: type[BaseModel]

    @property
    def json_schema(self) -> Mapping[str, Any]:
        schema = self.model.model_json_schema(by_alias=True, schema_generator=_PlainSchema)
        schema.pop("title", None)
        return schema

    def validate(self, arguments: Any) -> BaseModel:
        try:
            # As JSON, because that is what a model wrote: dates, bytes and enums arrive as strings.
            written = canonical_bytes(arguments)
        except (ValueError, TypeError, RecursionError) as error:
            raise InputRejectedError([Violation(path="", problem=_no_json(error))]) from None
        if deeper_than(arguments, AMBIGUOUS_DEPTH) and _has_ambiguous_union(self.json_schema):
            told = f"nest deeper than {AMBIGUOUS_DEPTH} levels, which a union without a discriminator may not"
            raise InputRejectedError([Violation(path="", problem=told)])
        try:
            return self.model.model_validate_json(written)
        except ValidationError as error:
            declared = property_names(self.json_schema)
            raise InputRejectedError(
                # An unknown field is named by where it stands: its own name is the caller's text.
                Violation(
                    path=shown_path(detail["loc"][: -1 if detail["type"] == "extra_forbidden" else None], declared),
                    problem=_in_our_words(detail),
                )
                for detail in error.errors(include_url=False, include_context=True, include_input=False)
            ) from None


def _no_json(error: Exception) -> str:
    """What keeps arguments from being JSON, without a value."""
    match error:
        case UnicodeEncodeError():
            return "hold text that is no Unicode (a lone surrogate)"
        case RecursionError():
            return "nest too deep"
        case ValueError():
            return "hold a number that JSON cannot (NaN or an infinity), or themselves"
        case _:
            return "must be a JSON object"


def deeper_than(value: Any, levels: int) -> bool:
    """Whether a JSON value nests deeper than so many levels."""
    if levels < 0:
        return True
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(deeper_than(child, levels - 1) for child in children if isinstance(child, (dict, list)))


def _objects(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every JSON object in a schema, at any depth, itself included."""
    queue: list[Any] = [schema]
    for node in queue:
        if isinstance(node, Mapping):
            yield node
            queue.extend(node.values())
        elif isinstance(node, (list, tuple)):
            queue.extend(node)


def _has_ambiguous_union(schema: Mapping[str, Any]) -> bool:
    """Whether some union offers several models and no discriminator: each level of nesting tries them all again."""
    unions = (node["anyOf"] for node in _objects(schema) if isinstance(node.get("anyOf"), list))
    return any(sum("$ref" in branch for branch in branches) > 1 for branches in unions)


def property_names(schema: Mapping[str, Any]) -> frozenset[str]:
    """Every property name that a schema declares, at any depth."""
    declared = (node.get("properties") for node in _objects(schema))
    return frozenset(name for properties in declared if isinstance(properties, Mapping) for name in properties)


def shown_path(path: Sequence[str | int], declared: frozenset[str]) -> str:
    """A path that shows positions and declared names only."""
    return ".".join(str(part) if isinstance(part, int) or part in declared else "*" for part in path)


# Pydantic's error types whose constraint is worth saying; the words are ours, the numbers are the schema's.
_WORDS: Mapping[str, str] = {
    "missing": "is required",
    "blank": "must not be blank",
    "extra_forbidden": "holds a field that is not known here",
    "json_invalid": "must be valid JSON",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "set_type": "must be a list",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "none_required": "must be null",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "union_tag_not_found": "needs its discriminator {discriminator}",
    "union_tag_invalid": "its discriminator {discriminator} must be one of {expected_tags}",
    "datetime_parsing": "must be an ISO 8601 date and time",
    "datetime_from_date_parsing": "must be an ISO 8601 date and time",
    "date_parsing": "must be an ISO 8601 date",
    "date_from_datetime_parsing": "must be an ISO 8601 date",
    "time_parsing": "must be an ISO 8601 time",
    "uuid_parsing": "must be a UUID",
    "url_parsing": "must be a URL",
}


def _in_our_words(detail: ErrorDetails) -> str:
    words = _WORDS.get(detail["type"])
    if words is None:
        return "is not valid"
    try:
        return words.format_map(detail.get("ctx", {}))
    except KeyError:
        return "is not valid"
