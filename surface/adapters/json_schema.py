"""The input model of a tool that is declared by a JSON Schema instead of a Python type (extra ``json-schema``).

`validate` gives back the arguments themselves. Violations say the path and the constraint, never a value. The schema is
compiled when it is first validated against, so a catalog of thousands of tools starts quickly. Hostile arguments cost
little: patterns run on a linear engine, or with a limit where they need look-around. References outside the
schema are never fetched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

try:
    from jsonschema_rs import (
        Draft202012Validator,
        FancyRegexOptions,
        ReferencingError,
        RegexOptions,
        ValidationError,
        ValidationErrorKind,
    )
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("needs an extra: pip install 'toolsurface[json-schema]'", name=error.name) from error

from surface.canonical import canonical_bytes, canonical_json
from surface.errors import ConfigurationError
from surface.input_model import InputRejectedError, Violation, deeper_than, property_names, shown_path

_SHOWN = 20
_BACKTRACKS = 100_000
_EXPLAINED_DEPTH = 6
"""Where arguments nest deeper, a refusal gives no details: in a recursive union they double with every level."""


class JsonSchemaInput:
    """A JSON Schema (draft 2020-12) as an input model."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        try:
            self._json = canonical_json(schema)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigurationError(f"schema: needs a JSON value ({type(error).__name__})") from None

    @property
    def json_schema(self) -> dict[str, Any]:
        """The schema; a fresh copy each time."""
        schema: dict[str, Any] = json.loads(self._json)
        return schema

    def check(self) -> None:
        """Compiles the schema now instead of at the first call; raises ConfigurationError where it is none."""
        _ = self._validator

    def validate(self, arguments: Any) -> Any:
        """The arguments themselves; raises InputRejectedError, or ConfigurationError where the schema is none."""
        validator = self._validator
        try:
            canonical_bytes(arguments)  # NaN, lone surrogates and what JSON cannot hold go no further
            if validator.is_valid(arguments):
                return arguments
            violations = [Violation(path="", problem="match none of the forms that the schema allows")]
            if not deeper_than(arguments, _EXPLAINED_DEPTH):
                violations = [self._violation(error) for error in islice(validator.iter_errors(arguments), _SHOWN)]
        except (TypeError, ValueError, RecursionError):
            raise InputRejectedError([Violation(path="", problem="must be a JSON value of sensible depth")]) from None
        raise InputRejectedError(violations)

    def _violation(self, error: ValidationError) -> Violation:
        path = list(error.instance_path)
        keyword = str(error.schema_path[-1]) if error.schema_path else ""
        missing = getattr(error.kind, "property", None) if keyword == "required" else None
        if isinstance(missing, str):
            return Violation(path=shown_path([*path, missing], self._declared), problem="is required")
        return Violation(
            path=shown_path(path, self._declared), problem=_in_our_words(keyword, self._at(error.schema_path))
        )

    def _at(self, path: Sequence[str | int]) -> Any:
        """What the schema says at a path."""
        node: Any = self.json_schema
        for step in path:
            try:
                node = node[step]
            except (KeyError, IndexError, TypeError):
                return None
        return node

    @cached_property
    def _declared(self) -> frozenset[str]:
        return property_names(self.json_schema)

    @cached_property
    def _validator(self) -> Draft202012Validator:
        schema = self.json_schema
        try:
            return Draft202012Validator(schema, pattern_options=RegexOptions(), retriever=_refuse)
        except (ValidationError, ReferencingError, ValueError):
            pass
        try:
            # A pattern may need look-around, which the linear engine does not know.
            return Draft202012Validator(
                schema, pattern_options=FancyRegexOptions(backtrack_limit=_BACKTRACKS), retriever=_refuse
            )
        except (ValidationError, ReferencingError, ValueError) as error:
            if isinstance(getattr(error, "kind", None), ValidationErrorKind.Referencing):
                told = "a $ref leads to nothing inside it, and references outside are never fetched; put it into $defs"
                raise ConfigurationError(f"schema: {told}") from None
            where = ".".join(map(str, getattr(error, "instance_path", ()))) or "(root)"
            raise ConfigurationError(f"schema.{where}: is no valid JSON Schema (draft 2020-12)") from None


def problem_of(schema: Mapping[str, Any]) -> str | None:
    """What is wrong with a schema as a tool's input, in one sentence; None where it compiles."""
    try:
        JsonSchemaInput(schema).check()
    except ConfigurationError as error:
        return str(error)
    return None


def _refuse(_uri: str) -> Any:
    raise ValueError("references outside the schema are never fetched")


_WORDS: Mapping[str, str] = {
    "additionalProperties": "holds a field that is not known here",
    "unevaluatedProperties": "holds a field that is not known here",
    "type": "must be of type {0}",
    "enum": "must be one of {0}",
    "const": "must be {0}",
    "minLength": "must have at least {0} characters",
    "maxLength": "must have at most {0} characters",
    "minItems": "must have at least {0} items",
    "maxItems": "must have at most {0} items",
    "uniqueItems": "must hold no item twice",
    "minProperties": "must have at least {0} fields",
    "maxProperties": "must have at most {0} fields",
    "pattern": "must match the pattern {0}",
    "minimum": "must be at least {0}",
    "maximum": "must be at most {0}",
    "exclusiveMinimum": "must be greater than {0}",
    "exclusiveMaximum": "must be less than {0}",
    "multipleOf": "must be a multiple of {0}",
    "anyOf": "matches none of the allowed forms",
    "oneOf": "must match exactly one of the allowed forms",
    "not": "has a form that is not allowed",
}


def _in_our_words(keyword: str, constraint: Any) -> str:
    words = _WORDS.get(keyword)
    if words is None:
        return "is not valid"
    listed = constraint if isinstance(constraint, list) and keyword != "const" else [constraint]
    return words.format(", ".join(each if isinstance(each, str) else canonical_json(each) for each in listed))
