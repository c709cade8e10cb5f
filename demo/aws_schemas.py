"""The input shapes of AWS models as JSON Schema (draft 2020-12).

Rules kept here:

1. A schema never refuses what botocore would accept for a reason the model does not state, with two exceptions: a
   member that is marked deprecated is left out, and objects take no further properties.
2. Structures that contain themselves stand in ``$defs``; every other shape is written where it is used.
3. Properties are described on the first two levels only, by the first sentence of their documentation; deeper down
   the names have to do, so that EC2's RunInstances stays readable.
4. A constraint that is wrong, trivial or dangerous in a JSON Schema validator is dropped, never mended: patterns that
   do not compile everywhere or backtrack, bounds that bound nothing, enumerations too long to send to a model (their
   first values become examples).
5. An idempotency token is never required: whoever sends the request fills it in, as botocore does.

Timestamps are date-time strings and blobs base64 strings, because tool arguments are JSON. Equal shapes share their
dictionaries between schemas: do not change them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from demo.aws_patterns import is_portable
from demo.aws_prose import first_sentence

DESCRIBED_LEVELS = 2
MAX_DESCRIPTION = 160
"""Characters in the description of a property."""
MAX_ENUM = 50
"""Values in an enumeration; a longer one only gives examples."""

_HUGE = 2**31 - 1
"""A bound from here on is a limit of the wire, not of the service."""

_DEFINITIONS = "#/$defs/"
_NUMBERS = {"integer": "integer", "long": "integer", "float": "number", "double": "number"}
_NO_FURTHER_PROPERTIES = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    schema: dict[str, Any]
    refers_to: frozenset[str] = frozenset()
    """Names of the definitions that the schema needs beside it."""


class InputSchemas:
    """Writes the input schemas of one service; `shapes` are the shapes of its parsed model."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self._shapes = shapes
        self._recursive = _recursive_structures(shapes)
        self._written: dict[tuple[str, int], _Written] = {}

    def input_schema(self, shape: str | None) -> dict[str, Any]:
        """The schema for the input shape of that name, or of an operation that takes none."""
        if shape is None:
            return {"type": "object", "properties": {}, "additionalProperties": _NO_FURTHER_PROPERTIES}
        root = self._structure(self._shapes[shape], DESCRIBED_LEVELS)
        definitions: dict[str, Any] = {}
        missing = set(root.refers_to)
        while missing:
            name = min(missing)
            definition = self._structure(self._shapes[name], 1)
            definitions[name] = definition.schema
            missing = (missing | definition.refers_to) - definitions.keys()
        return {**root.schema, "$defs": dict(sorted(definitions.items()))} if definitions else root.schema

    def _write(self, name: str, levels: int) -> _Written:
        if name in self._recursive:
            return _Written(schema={"$ref": _DEFINITIONS + name}, refers_to=frozenset({name}))
        key = (name, levels)
        if key not in self._written:
            self._written[key] = self._write_in_place(self._shapes[name], levels)
        return self._written[key]

    def _write_in_place(self, shape: Mapping[str, Any], levels: int) -> _Written:
        match shape["type"]:
            case "structure":
                return self._structure(shape, levels)
            case "list":
                return self._list(shape, levels)
            case "map":
                return self._map(shape, levels)
            case "string" | "character":
                return _Written(schema=_string(shape))
            case "timestamp":
                return _Written(schema={"type": "string", "format": "date-time"})
            case "blob":
                return _Written(schema={"type": "string", "contentEncoding": "base64"})
            case "boolean":
                return _Written(schema={"type": "boolean"})
            case number:
                return _Written(schema={"type": _NUMBERS[number], **_bounds(shape, "minimum", "maximum", trivial=None)})

    def _structure(self, shape: Mapping[str, Any], levels: int) -> _Written:
        if shape.get("document"):
            return _Written(schema={})
        properties: dict[str, Any] = {}
        refers_to: frozenset[str] = frozenset()
        required = set(shape.get("required", ()))
        for name, member in shape["members"].items():
            if member.get("deprecated") and name not in required:
                continue
            if member.get("idempotencyToken"):
                required.discard(name)
            written = self._write(member["shape"], max(levels - 1, 0))
            refers_to |= written.refers_to
            properties[name] = self._described(written.schema, member) if levels else written.schema
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            schema["required"] = [name for name in properties if name in required]
        if shape.get("union"):
            schema |= {"minProperties": 1, "maxProperties": 1}
        schema["additionalProperties"] = _NO_FURTHER_PROPERTIES
        return _Written(schema=schema, refers_to=refers_to)

    def _described(self, schema: dict[str, Any], member: Mapping[str, Any]) -> dict[str, Any]:
        documentation = member.get("documentation") or self._shapes[member["shape"]].get("documentation", "")
        description = first_sentence(documentation, MAX_DESCRIPTION)
        return {"description": description, **schema} if description else schema

    def _list(self, shape: Mapping[str, Any], levels: int) -> _Written:
        items = self._write(shape["member"]["shape"], levels)
        schema = {"type": "array", "items": items.schema, **_bounds(shape, "minItems", "maxItems", trivial=0)}
        return _Written(schema=schema, refers_to=items.refers_to)

    def _map(self, shape: Mapping[str, Any], levels: int) -> _Written:
        values = self._write(shape["value"]["shape"], levels)
        schema: dict[str, Any] = {"type": "object", "additionalProperties": values.schema}
        keys = _enumeration(self._shapes[shape["key"]["shape"]])
        if "enum" in keys:
            schema["propertyNames"] = keys
        schema |= _bounds(shape, "minProperties", "maxProperties", trivial=0)
        return _Written(schema=schema, refers_to=values.refers_to)


def _string(shape: Mapping[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if values := _enumeration(shape):
        return schema | values
    schema |= _bounds(shape, "minLength", "maxLength", trivial=0)
    if is_portable(pattern := shape.get("pattern", "")):
        schema["pattern"] = pattern
    return schema


def _enumeration(shape: Mapping[str, Any]) -> dict[str, Any]:
    values = list(dict.fromkeys(shape.get("enum", ())))
    if not values:
        return {}
    return {"enum": values} if len(values) <= MAX_ENUM else {"examples": values[:3]}


def _bounds(shape: Mapping[str, Any], least: str, most: str, *, trivial: int | None) -> dict[str, Any]:
    """The bounds of a shape under their JSON Schema names; a minimum of `trivial` says nothing."""
    bounds: dict[str, Any] = {}
    if (lower := shape.get("min")) is not None and lower != trivial and lower > -_HUGE:
        bounds[least] = lower
    if (upper := shape.get("max")) is not None and upper < _HUGE:
        bounds[most] = upper
    return bounds


def _recursive_structures(shapes: Mapping[str, Any]) -> Set[str]:
    """The structures that lie on a cycle, or between two cycles: all that must not be written in place.

    What is left after removing, again and again, every shape that holds no other one, and then every shape that no
    other one holds. Each cycle passes a structure: a list or a map of nothing but itself has no finite value.
    """
    holds = {name: set(_held_by(shape)) for name, shape in shapes.items()}
    on_the_way_to_a_cycle = _peel(holds)
    held_in: dict[str, set[str]] = {name: set() for name in on_the_way_to_a_cycle}
    for name in on_the_way_to_a_cycle:
        for held in holds[name] & on_the_way_to_a_cycle:
            held_in[held].add(name)
    return {name for name in _peel(held_in) if shapes[name]["type"] == "structure"}


def _peel(edges: Mapping[str, Set[str]]) -> Set[str]:
    """The nodes from which one can walk forever."""
    before: defaultdict[str, list[str]] = defaultdict(list)
    for node, targets in edges.items():
        for target in targets:
            before[target].append(node)
    ways_out = {node: len(targets) for node, targets in edges.items()}
    ends = [node for node, ways in ways_out.items() if ways == 0]
    while ends:
        end = ends.pop()
        del ways_out[end]
        for node in before[end]:
            ways_out[node] -= 1
            if ways_out[node] == 0:
                ends.append(node)
    return ways_out.keys()


def _held_by(shape: Mapping[str, Any]) -> Iterable[str]:
    for member in shape.get("members", {}).values():
        yield member["shape"]
    for part in ("member", "value"):
        if part in shape:
            yield shape[part]["shape"]
