"""Takes JSON Schemas apart, and makes arguments for them. For tests only; knows the keywords that the demo writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ONE_SCHEMA = ("items", "additionalProperties", "propertyNames")
MANY_SCHEMAS = ("properties", "$defs")


def subschemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema and every schema inside it."""
    yield schema
    for keyword in ONE_SCHEMA:
        if isinstance(inner := schema.get(keyword), Mapping):
            yield from subschemas(inner)
    for keyword in MANY_SCHEMAS:
        for inner in schema.get(keyword, {}).values():
            yield from subschemas(inner)


def shell(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with nothing inside its subschemas: it is valid if this and each of them is.

    Texts of descriptions and names of properties, which may be anything, are left out: equal constraints, equal shells.
    """
    bare = dict(schema)
    for keyword in ONE_SCHEMA:
        if isinstance(bare.get(keyword), Mapping):
            bare[keyword] = {}
    for keyword in MANY_SCHEMAS:
        if isinstance(bare.get(keyword), Mapping):
            bare[keyword] = {"any": {}}
    if isinstance(bare.get("description"), str):
        bare["description"] = ""
    return bare


def example(schema: Mapping[str, Any], *, depth: int = 0) -> Any:
    """Arguments with every required property, and with all others down to `depth`; patterns are not looked at."""
    return _example(schema, schema.get("$defs", {}), depth)


def _example(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> Any:
    if "$ref" in schema:
        return _example(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions, depth)
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _object(schema, definitions, depth)
        case "object":
            key = _string(schema.get("propertyNames", {}))
            return {key: _example(schema["additionalProperties"], definitions, depth - 1)}
        case "array":
            return [_example(schema["items"], definitions, depth - 1)] * max(1, schema.get("minItems", 1))
        case "integer" | "number":
            return schema.get("minimum", min(1, schema.get("maximum", 1)))
        case "boolean":
            return True
        case "string":
            return _string(schema)
        case _:
            return {}


def _string(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return str(schema["enum"][0])
    if schema.get("format") == "date-time":
        return "2026-01-31T12:00:00Z"
    return "aGVsbG8=" if "contentEncoding" in schema else "a" * max(1, schema.get("minLength", 1))


def _object(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = schema["properties"]
    chosen = [name for name in properties if depth > 0 or name in schema.get("required", ())]
    if schema.get("maxProperties") == 1:
        chosen = list(properties)[:1]
    return {name: _example(properties[name], definitions, depth - 1) for name in chosen}
