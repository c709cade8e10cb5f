"""Tools as `{"name", "description", "parameters"?, "server"?}`: how tool sets are passed around, mostly as lines.

`server` is the service, unless the file was given one; other fields are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from indexer.importing.candidate import Found, found
from indexer.importing.entries import entries
from surface.errors import Fault


def read_plain(document: Any, *, file: str, service: str | None) -> Iterator[Found]:
    """The tools of a list or of lines. Raises `CatalogError` for others."""
    return (_tool(value, where, service) for where, value in entries(document, file=file))


def _tool(value: dict[str, Any] | Fault, where: str, service: str | None) -> Found:
    if isinstance(value, Fault):
        return value
    return found(
        where=where,
        name=value.get("name"),
        description=value.get("description"),
        schema=value.get("parameters"),
        service=value.get("server") if service is None else service,
    )
