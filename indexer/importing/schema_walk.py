"""A walk over every schema inside a schema, and over nothing else: an enum's or a default's value is data, not schema.

The keywords are those of JSON Schema draft 2020-12, and the containers of earlier drafts beside them. A change is made
to a schema before its parts are walked, so a change may bring keywords of an older draft into the form walked here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surface.catalog_rules import MAX_SCHEMA_DEPTH

_ONE = frozenset(
    "additionalItems additionalProperties propertyNames items contains not if then else unevaluatedItems"
    " unevaluatedProperties contentSchema".split()
)
_LIST = frozenset("allOf anyOf oneOf prefixItems".split())
_NAMED = frozenset("properties patternProperties $defs definitions dependentSchemas".split())

Change = Callable[[dict[str, Any]], dict[str, Any]]
"""What becomes of one schema, its parts not looked at; never writes to what it is given."""


class SchemaError(ValueError):
    """A schema cannot be brought into the form of a catalog; the message says why and never quotes a value."""


def rewritten(schema: Any, change: Change, *, room: int = MAX_SCHEMA_DEPTH) -> Any:
    """A copy of `schema` with every schema in it changed; what is no schema stays as it is.

    Raises `SchemaError` where it nests deeper than any catalog may hold, and what `change` raises.
    """
    if not isinstance(schema, dict):
        return schema
    if room < 0:
        raise SchemaError(f"the input schema nests deeper than {MAX_SCHEMA_DEPTH} levels")
    changed = change(schema)
    # Objects of objects cost two levels of a document.
    return {key: _part(key, value, change, room - 1) for key, value in changed.items()}


def _part(key: str, value: Any, change: Change, room: int) -> Any:
    if key in _ONE:
        return rewritten(value, change, room=room)
    if key in _LIST and isinstance(value, list):
        return [rewritten(each, change, room=room - 1) for each in value]
    if key in _NAMED and isinstance(value, dict):
        return {name: rewritten(each, change, room=room - 1) for name, each in value.items()}
    return value
