"""What a reader finds in a document: tools that may enter a catalog, and entries that cannot, each with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from indexer.importing.drafts import to_2020_12
from indexer.importing.schema_walk import SchemaError
from surface.catalog_rules import shown
from surface.errors import Fault

Schema: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One tool as a document describes it, its schema in draft 2020-12; the catalog rules are not looked at yet."""

    where: str
    """The file, and the place in it, as the report names them."""
    name: str
    description: str
    input_schema: Schema
    service: str | None = None
    annotations: dict[str, Any] | None = None
    fixed: bool = False
    """Whether it comes from an application's own export, whose names are those of its code: never renamed."""


Found: TypeAlias = Candidate | Fault
NO_ARGUMENTS: Schema = {"type": "object", "properties": {}}


def found(
    *,
    where: str,
    name: Any,
    description: Any,
    schema: Any,
    service: Any = None,
    annotations: dict[str, Any] | None = None,
    convert: Callable[[Schema], Schema] = to_2020_12,
) -> Found:
    """A tool from the JSON values of its fields, or the fault that keeps it from being one.

    No description is an empty one, no schema takes no arguments. `convert` brings the schema into draft 2020-12.
    """
    if not isinstance(name, str) or not name:
        return Fault(where=where, problem="name: must be text; every tool needs one")
    where = f"{where} {shown(name)}"
    if description is None:
        description = ""
    if not isinstance(description, str):
        return Fault(where=where, problem="description: must be text")
    if service is not None and not isinstance(service, str):
        return Fault(where=where, problem="the service's name must be text")
    if schema is None:
        schema = NO_ARGUMENTS
    if not isinstance(schema, dict):
        return Fault(where=where, problem="the input schema must be a JSON object")
    try:
        converted = convert(schema)
    except SchemaError as error:
        return Fault(where=where, problem=str(error))
    return Candidate(
        where=where,
        name=name,
        description=description,
        input_schema=converted,
        service=service,
        annotations=annotations or None,
    )


def not_an_object(where: str) -> Fault:
    """The fault of an entry that is no JSON object."""
    return Fault(where=where, problem="is not a JSON object, so it is no tool")
