"""OpenAI's tool arrays: Chat Completions (`function` inside), Responses (flat), and its namespaces.

A namespace is the service of its tools. Tools that OpenAI runs itself (`web_search`, `mcp` …) and custom tools, whose
input is free text, have no input schema of their own and are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from indexer.importing.candidate import Found, found, not_an_object
from indexer.importing.entries import entries
from surface.catalog_rules import shown
from surface.errors import CatalogError, Fault


def read_openai(document: Any, *, file: str, service: str | None) -> Iterator[Found]:
    """The functions of a tool array, a request that holds one, or lines. Raises `CatalogError` for others."""
    return (one for where, value in entries(document, file=file) for one in _entry(value, where, service))


def _entry(value: dict[str, Any] | Fault, where: str, service: str | None) -> Iterator[Found]:
    if isinstance(value, Fault):
        yield value
    elif value.get("type") == "namespace":
        yield from _namespace(value, where)
    elif value.get("type", "function") != "function":
        kind = value["type"]
        named = shown(kind) if isinstance(kind, str) else "no text"
        yield Fault(where=where, problem=f"its type is {named}: only functions have an input schema")
    else:
        yield _function(value, where, service)


def _namespace(value: dict[str, Any], where: str) -> Iterator[Found]:
    try:
        for place, one in entries({"tools": value.get("tools", ())}, file=where):
            yield from _entry(one, place, value.get("name"))
    except CatalogError as error:
        yield from error.faults


def _function(value: dict[str, Any], where: str, service: str | None) -> Found:
    function = value.get("function", value)
    if not isinstance(function, dict):
        return not_an_object(where)
    return found(
        where=where,
        name=function.get("name"),
        description=function.get("description"),
        schema=function.get("parameters"),
        service=service,
    )
