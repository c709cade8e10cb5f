"""Any draft of JSON Schema → draft 2020-12, which is what tools are validated by.

Rules kept here:

1. Only what a newer draft writes differently is rewritten; a schema that needs nothing keeps its keywords.
2. A `$schema` that names no known draft refuses the one tool that has it. A known one is left out afterwards: the
   schema is draft 2020-12 then, which is what a catalog means.
3. Without `$schema` the keywords decide: those that draft 2020-12 does not know are read as the drafts before it do.
"""

from __future__ import annotations

from typing import Any

from indexer.importing.schema_walk import SchemaError, rewritten
from surface.catalog_rules import shown

_KNOWN = {
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-04/schema",
}
_OLD = "#/definitions/"
_UNREADABLE = ("$recursiveRef", "$dynamicRef")


def to_2020_12(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema in draft 2020-12; raises `SchemaError` where that cannot be said."""
    check_dialect(schema.get("$schema"))
    root = {key: value for key, value in schema.items() if key != "$schema"}
    if isinstance(root.get("definitions"), dict) and "$defs" not in root:
        root["$defs"] = root.pop("definitions")
    moved = "$defs" in root and "definitions" not in root

    def change(node: dict[str, Any]) -> dict[str, Any]:
        reference = node.get("$ref")
        if moved and isinstance(reference, str) and reference.startswith(_OLD):
            node = node | {"$ref": "#/$defs/" + reference.removeprefix(_OLD)}
        return modern(node)

    result: dict[str, Any] = rewritten(root, change)
    return result


def check_dialect(uri: Any) -> None:
    """Raises `SchemaError` where `uri`, a `$schema` or None, names no known draft."""
    if uri is None:
        return
    if isinstance(uri, str) and uri.partition("://")[2].rstrip("#") in _KNOWN:
        return
    named = f" ({shown(uri)})" if isinstance(uri, str) else ""
    raise SchemaError(f"$schema names no draft of JSON Schema that is known here{named}; use draft 2020-12")


def modern(node: dict[str, Any]) -> dict[str, Any]:
    """One schema's keywords as draft 2020-12 writes them."""
    for keyword in _UNREADABLE:
        if keyword in node:
            raise SchemaError(f"{keyword} depends on who refers to it; write the reference out as $ref")
    if isinstance(node.get("items"), list):
        node = dict(node)
        node["prefixItems"] = node.pop("items")
        if "additionalItems" in node:
            node["items"] = node.pop("additionalItems")
    elif "additionalItems" in node:
        node = {key: value for key, value in node.items() if key != "additionalItems"}  # says nothing without a tuple
    if isinstance(node.get("dependencies"), dict):
        node = _dependencies(node)
    return numeric_bounds(node)


def numeric_bounds(node: dict[str, Any]) -> dict[str, Any]:
    """Bounds that `exclusiveMinimum: true` made exclusive (draft 4, OpenAPI 3.0), as numbers."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(node.get(exclusive), bool):
            node = dict(node)
            if node.pop(exclusive) and bound in node:
                node[exclusive] = node.pop(bound)
    return node


def _dependencies(node: dict[str, Any]) -> dict[str, Any]:
    node = dict(node)
    dependencies = node.pop("dependencies")
    fields = {name: value for name, value in dependencies.items() if isinstance(value, list)}
    schemas = {name: value for name, value in dependencies.items() if not isinstance(value, list)}
    if fields:
        node.setdefault("dependentRequired", fields)
    if schemas:
        node.setdefault("dependentSchemas", schemas)
    return node
