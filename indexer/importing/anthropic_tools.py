"""Anthropic's tool arrays. Tools that Anthropic defines (`web_search_…`, `bash_…`) or a server brings are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from indexer.importing.candidate import Found, found
from indexer.importing.entries import entries
from surface.catalog_rules import shown
from surface.errors import Fault


def read_anthropic(document: Any, *, file: str, service: str | None) -> Iterator[Found]:
    """The client's tools of an array, a request that holds one, or lines. Raises `CatalogError` for others."""
    return (_tool(value, where, service) for where, value in entries(document, file=file))


def _tool(value: dict[str, Any] | Fault, where: str, service: str | None) -> Found:
    if isinstance(value, Fault):
        return value
    kind = value.get("type")
    if kind not in (None, "custom"):
        named = shown(kind) if isinstance(kind, str) else "no text"
        return Fault(where=where, problem=f"its type is {named}: only custom tools have an input schema")
    return found(
        where=where,
        name=value.get("name"),
        description=value.get("description"),
        schema=value.get("input_schema"),
        service=service,
    )
