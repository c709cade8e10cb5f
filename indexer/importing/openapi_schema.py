"""The schemas of an OpenAPI document → draft 2020-12, and references into the document → `$defs` of the tool.

Rules kept here:

1. References are kept as references: what a tool reaches is copied into its `$defs` once, so a recursive schema stays
   finite and one that refers to itself a thousand times costs nothing.
2. A schema that a component cannot give (it is not in the file, nests too deep) refuses the tools that reach it.
3. Left out: `xml`, `externalDocs`, `discriminator`, `x-…` (nothing is validated by them), and properties that are
   `readOnly`, for a request does not carry them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from indexer.importing.drafts import check_dialect, modern, numeric_bounds
from indexer.importing.schema_walk import SchemaError, rewritten
from surface.canonical import canonical_bytes
from surface.catalog_rules import shown

MAX_INPUT_SCHEMA_BYTES = 1024 * 1024
"""The most one imported tool's schema may weigh: sixteen times what a step may advertise by default."""

_MAX_HOPS = 32
_LEFT_OUT = frozenset({"xml", "externalDocs", "discriminator", "$schema"})
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")

Schema = dict[str, Any]


def from_3_0(node: Schema) -> Schema:
    """One schema of OpenAPI 3.0 (or of Gemini, which took it over), its parts not looked at, in draft 2020-12."""
    if "$ref" in node:
        return {"$ref": node["$ref"]}  # what stands beside a reference has no meaning there
    node = numeric_bounds(node)
    example = {"examples": [node["example"]]} if "example" in node and "examples" not in node else {}
    nullable = node.get("nullable") is True
    node = {key: value for key, value in node.items() if key not in ("example", "nullable")} | example
    return _or_null(node) if nullable else node


def from_3_1(node: Schema) -> Schema:
    """One schema of OpenAPI 3.1: draft 2020-12 already, unless it names another."""
    check_dialect(node.get("$schema"))
    return modern(node)


def _or_null(node: Schema) -> Schema:
    if not isinstance(node.get("type"), str):
        applied = any(keyword in node for keyword in ("allOf", "anyOf", "oneOf", "enum", "not"))
        return {"anyOf": [node, {"type": "null"}]} if applied else node
    node = node | {"type": [node["type"], "null"]}
    if isinstance(node.get("enum"), list) and None not in node["enum"]:
        node["enum"] = [*node["enum"], None]
    return node


def look_up(document: Any, reference: Any) -> Any:
    """What a reference into the document means, through references to references. Raises `SchemaError`."""
    for _ in range(_MAX_HOPS):
        value = _at(document, reference)
        if not (isinstance(value, dict) and isinstance(value.get("$ref"), str)):
            return value
        reference = value["$ref"]
    raise SchemaError(f"$ref: {_shown(reference)} leads through more than {_MAX_HOPS} references, or in a circle")


def resolved(document: Any, value: Any) -> Any:
    """`value`, or what it means where it is a reference."""
    if isinstance(value, dict) and isinstance(value.get("$ref"), str):
        return look_up(document, value["$ref"])
    return value


def _at(document: Any, reference: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        raise SchemaError(f"$ref: {_shown(reference)} leads out of the file; bundle the description into one first")
    value = document
    for step in reference[2:].split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 7 and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            raise SchemaError(f"$ref: {_shown(reference)} is not in the file")
    return value


def _shown(reference: Any) -> str:
    return shown(reference) if isinstance(reference, str) else "what is no text"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    schema: Any
    reaches: tuple[str, ...]
    """The names of the definitions it refers to."""
    weight: int
    """Bytes of canonical JSON."""


@dataclass(slots=True, kw_only=True)
class Definitions:
    """The schemas of one document, each converted once and named once."""

    document: Any
    convert: Callable[[Schema], Schema]
    """`from_3_0` or `from_3_1`."""
    _names: dict[str, str] = field(default_factory=dict, init=False)
    _references: dict[str, str] = field(default_factory=dict, init=False)
    _made: dict[str, _Definition | SchemaError] = field(default_factory=dict, init=False)

    def converted(self, schema: Any) -> tuple[Any, tuple[str, ...]]:
        """A schema that stands in the document, its references pointing into `$defs`; and the names it needs there."""
        reaches: dict[str, None] = {}

        def change(node: Schema) -> Schema:
            node = {key: value for key, value in self.convert(node).items() if not _left_out(key)}
            if isinstance(node.get("properties"), dict):
                node = _written(node)
            if "$ref" in node:
                name = self._named(node["$ref"])
                reaches[name] = None
                node = node | {"$ref": f"#/$defs/{name}"}
            return node

        return rewritten(schema, change), tuple(reaches)

    def closure(self, names: Iterable[str]) -> dict[str, Any]:
        """These definitions and all that they reach, by name. Raises `SchemaError` where that is not a tool's size."""
        taken: dict[str, Any] = {}
        weight = 0
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in taken:
                continue
            definition = self._definition(name)
            taken[name] = definition.schema
            weight += definition.weight
            if weight > MAX_INPUT_SCHEMA_BYTES:
                raise SchemaError(f"the input schema weighs more than {MAX_INPUT_SCHEMA_BYTES} bytes")
            waiting.extend(definition.reaches)
        return dict(sorted(taken.items()))

    def _definition(self, name: str) -> _Definition:
        if name not in self._made:
            try:
                schema, reaches = self.converted(_at(self.document, self._references[name]))
                self._made[name] = _Definition(schema=schema, reaches=reaches, weight=_weight(schema))
            except SchemaError as error:
                self._made[name] = error
        made = self._made[name]
        if isinstance(made, SchemaError):
            raise SchemaError(str(made))
        return made

    def _named(self, reference: Any) -> str:
        _at(self.document, reference)
        if reference not in self._names:
            wanted = _NAME.sub("_", unquote(reference.rpartition("/")[2])) or "_"
            name, number = wanted, 1
            while name in self._references:
                number += 1
                name = f"{wanted}_{number}"
            self._names[reference], self._references[name] = name, reference
        return self._names[reference]


def _left_out(keyword: str) -> bool:
    return keyword in _LEFT_OUT or keyword.startswith("x-")


def _written(node: Schema) -> Schema:
    """An object without the properties that only answers carry."""
    read_only = {
        name for name, value in node["properties"].items() if isinstance(value, dict) and value.get("readOnly") is True
    }
    if not read_only:
        return node
    node = node | {"properties": {name: one for name, one in node["properties"].items() if name not in read_only}}
    if isinstance(node.get("required"), list):
        node["required"] = [name for name in node["required"] if not isinstance(name, str) or name not in read_only]
    return node


def _weight(schema: Any) -> int:
    try:
        return len(canonical_bytes(schema))
    except (TypeError, ValueError, RecursionError):
        raise SchemaError("a schema that it reaches is not JSON (an infinity, a lone surrogate)") from None
