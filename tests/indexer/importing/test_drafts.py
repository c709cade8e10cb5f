"""Schemas of every draft become draft 2020-12, and mean what they meant."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from indexer.importing.drafts import to_2020_12
from indexer.importing.schema_walk import SchemaError

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    ("old", "values"),
    [
        ({"items": [{"type": "integer"}, {"type": "string"}]}, [[1, "a"], ["a"], [1, 2], [1, "a", None]]),
        ({"items": [{"type": "integer"}], "additionalItems": False}, [[1], [1, 2], []]),
        ({"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}, [[1, "a"], [1, 2]]),
        ({"items": {"type": "integer"}, "additionalItems": False}, [[1, 2], ["a"]]),
        ({"dependencies": {"a": ["b"]}}, [{"a": 1}, {"a": 1, "b": 2}, {}]),
        ({"dependencies": {"a": {"required": ["c"]}}}, [{"a": 1}, {"a": 1, "c": 2}]),
        ({"definitions": {"n": {"type": "integer"}}, "items": {"$ref": "#/definitions/n"}}, [[1], ["a"]]),
        ({"not": {"items": [{"type": "null"}]}}, [[None], [1]]),
        ({"enum": [{"items": [1], "$schema": "x"}]}, [{"items": [1], "$schema": "x"}, {}]),
    ],
)
def test_a_schema_of_draft_7_accepts_what_it_accepted(old: dict[str, Any], values: list[Any]) -> None:
    new = to_2020_12({"$schema": DRAFT_7, **old})
    jsonschema.Draft202012Validator.check_schema(new)
    before, after = jsonschema.Draft7Validator(old), jsonschema.Draft202012Validator(new)
    assert [after.is_valid(value) for value in values] == [before.is_valid(value) for value in values]
    assert len({before.is_valid(value) for value in values}) == 2


@pytest.mark.parametrize("bound", [{"minimum": 3, "exclusiveMinimum": True}, {"maximum": 3, "exclusiveMaximum": False}])
def test_exclusive_bounds_of_draft_4_become_numbers(bound: dict[str, Any]) -> None:
    before, after = jsonschema.Draft4Validator(bound), jsonschema.Draft202012Validator(to_2020_12(bound))
    assert [after.is_valid(n) for n in (2, 3, 4)] == [before.is_valid(n) for n in (2, 3, 4)]


def test_a_schema_that_needs_nothing_stays_as_it_is() -> None:
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/x"}}}, "$defs": {}}
    assert to_2020_12(schema) == schema
    assert to_2020_12({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}) == schema


def test_definitions_stay_where_both_places_are_taken() -> None:
    schema = {"$defs": {"a": {}}, "definitions": {"a": {"type": "null"}}, "items": {"$ref": "#/definitions/a"}}
    assert to_2020_12(schema) == schema


@pytest.mark.parametrize("uri", ["https://example.com/own", "http://json-schema.org/draft-03/schema#", 7, ""])
def test_an_unknown_dialect_is_refused(uri: Any) -> None:
    with pytest.raises(SchemaError, match="names no draft"):
        to_2020_12({"$schema": uri})


def test_references_that_depend_on_the_referrer_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"\$recursiveRef"):
        to_2020_12({"properties": {"child": {"$recursiveRef": "#"}}})


def test_a_schema_may_not_nest_without_end() -> None:
    schema: dict[str, Any] = {}
    for _ in range(500):
        schema = {"properties": {"a": schema}}
    with pytest.raises(SchemaError, match="nests deeper"):
        to_2020_12(schema)
