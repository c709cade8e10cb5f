"""Gemini's tool arrays: function declarations, in camelCase or snake_case, in tools or bare.

`parameters` is Google's own schema: types in capitals, counts as text, `nullable`. `parametersJsonSchema` is JSON
Schema. Tools that Google runs itself (`googleSearch` …) are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from indexer.importing.candidate import Found, found
from indexer.importing.drafts import to_2020_12
from indexer.importing.entries import entries
from indexer.importing.openapi_schema import from_3_0
from indexer.importing.schema_walk import rewritten
from surface.catalog_rules import shown
from surface.errors import CatalogError, Fault

DECLARATIONS = ("functionDeclarations", "function_declarations")
_JSON_SCHEMA = ("parametersJsonSchema", "parameters_json_schema")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
# The snake_case of the Python SDK; camelCase is the wire's.
_CAMEL = {
    "any_of": "anyOf",
    "property_ordering": "propertyOrdering",
    **{"".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name): name for name in _COUNTS},
}


def read_gemini(document: Any, *, file: str, service: str | None) -> Iterator[Found]:
    """The function declarations of an array, a request that holds one, or lines. Raises `CatalogError` for others."""
    return (one for where, value in entries(document, file=file) for one in _entry(value, where, service))


def _entry(value: dict[str, Any] | Fault, where: str, service: str | None) -> Iterator[Found]:
    if isinstance(value, Fault):
        yield value
        return
    declared = next((value[key] for key in DECLARATIONS if key in value), None)
    if declared is None and "name" in value:
        yield _function(value, where, service)
    elif declared is None:
        named = ", ".join(shown(key) for key in list(value)[:3]) or "nothing"
        yield Fault(where=where, problem=f"declares no function, but {named}: only functions have an input schema")
    else:
        try:
            for place, one in entries({"tools": declared}, file=where):
                yield one if isinstance(one, Fault) else _function(one, place, service)
        except CatalogError as error:
            yield from error.faults


def _function(value: dict[str, Any], where: str, service: str | None) -> Found:
    schema = next((value[key] for key in _JSON_SCHEMA if key in value), None)
    return found(
        where=where,
        name=value.get("name"),
        description=value.get("description"),
        schema=schema if schema is not None else value.get("parameters"),
        service=service,
        convert=to_2020_12 if schema is not None else from_gemini,
    )


def from_gemini(schema: dict[str, Any]) -> dict[str, Any]:
    """Google's schema in JSON Schema draft 2020-12. Raises `SchemaError`."""
    result: dict[str, Any] = rewritten(schema, _change)
    return result


def _change(node: dict[str, Any]) -> dict[str, Any]:
    node = {_CAMEL.get(key, key): value for key, value in node.items()}
    node.pop("propertyOrdering", None)
    if isinstance(node.get("type"), str):
        node["type"] = node["type"].lower()
        if node["type"] == "type_unspecified":
            del node["type"]
    for keyword in _COUNTS:
        if isinstance(node.get(keyword), str) and node[keyword].isascii() and node[keyword].isdigit():
            node[keyword] = int(node[keyword][:18])
    return from_3_0(node)
