"""What a tool must be to stand in a catalog, whoever offers it: the application's own code or a file (CAT-2).

Pure checks that return faults instead of raising, so that whoever asks can list all of them in one error.
A name is never mended: a refused tool stays refused until its author renames it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from surface.canonical import canonical_bytes
from surface.errors import Fault
from surface.identity import TOOL_NAME, is_tool_name

MAX_SCHEMA_DEPTH = 100
"""How deep an input schema may nest: far beyond any real one, far before any parser's stack."""

_SHOWN = 200
_LEAVES = frozenset((str, int, float, bool, type(None)))
"""Types of nearly all values: to look them up costs a fraction of asking what they are."""


def entry_faults(name: str, description: object, input_schema: Any, *, written: bool = False) -> list[Fault]:
    """Everything that is wrong with what a model or a ranker reads of one tool.

    `written`: canonical JSON was made of all of it, so that it can hold it is known.
    """
    where = shown(name)
    faults: list[Fault] = []
    if not is_tool_name(name):
        faults.append(Fault(where=where, problem=f"the name must match {TOOL_NAME.pattern}; rename the tool"))
    if not isinstance(description, str):
        faults.append(Fault(where=where, problem="the description must be text"))
    elif not written and not (_is_text(name) and _is_text(description)):
        faults.append(Fault(where=where, problem="name or description is not valid Unicode (a lone surrogate)"))
    faults.extend(Fault(where=where, problem=problem) for problem in _schema_problems(input_schema, written=written))
    return faults


def duplicate_faults(names: Iterable[str]) -> list[Fault]:
    """One fault for each name that stands more than once."""
    return [
        Fault(where=shown(name), problem=f"{count} tools have this name; names must be unique")
        for name, count in sorted(Counter(names).items())
        if count > 1
    ]


def shown(name: str) -> str:
    """A name as an error shows it: quoted where it is odd, cut to 200 characters, never a control character."""
    cut = name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…"
    return cut if cut and cut.isprintable() and cut.strip() == cut else ascii(cut)


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _schema_problems(schema: Any, *, written: bool) -> list[str]:
    if not isinstance(schema, Mapping):
        return ["the input schema must be a JSON object"]
    if _too_deep(schema):
        return [f"the input schema nests deeper than {MAX_SCHEMA_DEPTH} levels"]
    problems: list[str] = []
    try:
        if not written:
            canonical_bytes(schema)
    except (TypeError, ValueError):
        problems.append("the input schema is not JSON (a NaN, a lone surrogate, or a value JSON cannot hold)")
    if not describes_object(schema):
        problems.append('the input must be an object: the schema needs "type": "object"')
    return problems


def describes_object(schema: Mapping[str, Any]) -> bool:
    """Whether a schema admits objects only, as far as its own top level (and a `$ref` into `$defs`) says."""
    seen: set[str] = set()
    while isinstance(reference := schema.get("$ref"), str) and reference.startswith("#/$defs/"):
        definitions = schema.get("$defs", {})
        target = definitions.get(reference.removeprefix("#/$defs/")) if isinstance(definitions, Mapping) else None
        if reference in seen or not isinstance(target, Mapping):
            return False
        seen.add(reference)
        schema = {"$defs": definitions, **target}
    return schema.get("type") == "object"


def _too_deep(value: Any) -> bool:
    level = [value]  # what may have something inside
    for _ in range(MAX_SCHEMA_DEPTH - 1):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, (dict, Mapping)) else node)
            if type(child) not in _LEAVES and isinstance(child, (dict, list, tuple, Mapping))
        ]
        if not level:
            return False
    return any(level)
