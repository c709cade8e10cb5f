"""The input model of a tool that is declared by a JSON Schema instead of a Python type (extra ``json-schema``).

`validate` gives back the arguments themselves. Violations say the path and the constraint, never a value. The schema is
compiled when it is first validated against, so a catalog of thousands of tools starts quickly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from surface.canonical import canonical_json
from surface.errors import ConfigurationError
from surface.input_model import InputRejectedError, Violation, property_names, shown_path

_SHOWN = 20


class JsonSchemaInput:
    """A JSON Schema (draft 2020-12) as an input model. References outside the schema itself are never fetched."""

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

    def validate(self, arguments: Any) -> Any:
        """The arguments themselves; raises InputRejectedError, or ConfigurationError where the schema is none."""
        violations = [
            Violation(path=shown_path(list(error.absolute_path), self._declared), problem=_in_our_words(error))
            for error, _ in zip(self._validator.iter_errors(arguments), range(_SHOWN), strict=False)
        ]
        if violations:
            raise InputRejectedError(violations)
        return arguments

    @cached_property
    def _declared(self) -> frozenset[str]:
        return property_names(self.json_schema)

    @cached_property
    def _validator(self) -> Draft202012Validator:
        schema = self.json_schema
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            where = ".".join(map(str, error.absolute_path)) or "(root)"
            raise ConfigurationError(f"schema.{where}: is no valid JSON Schema (draft 2020-12)") from None
        return Draft202012Validator(schema)


_WORDS: Mapping[str, str] = {
    "required": "lacks a required field (required here: {0})",
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
    "format": "must have the format {0}",
    "minimum": "must be at least {0}",
    "maximum": "must be at most {0}",
    "exclusiveMinimum": "must be greater than {0}",
    "exclusiveMaximum": "must be less than {0}",
    "multipleOf": "must be a multiple of {0}",
    "anyOf": "matches none of the allowed forms",
    "oneOf": "must match exactly one of the allowed forms",
    "not": "has a form that is not allowed",
}


def _in_our_words(error: ValidationError) -> str:
    words = _WORDS.get(str(error.validator))
    if words is None:
        return "is not valid"
    constraint = error.validator_value
    listed = ", ".join(map(str, constraint)) if isinstance(constraint, list) else str(constraint)
    return words.format(listed)
