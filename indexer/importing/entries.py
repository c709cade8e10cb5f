"""Where the entries of a tool array stand in a document, whoever wrote it down: a bare list, a whole request, lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from indexer.importing.candidate import not_an_object
from surface.errors import CatalogError, Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The values of a file of JSON lines; a line that is no JSON is its fault."""

    values: tuple[tuple[int, Any | Fault], ...]
    """By line number, from 1."""


def entries(document: Any, *, file: str) -> Iterator[tuple[str, dict[str, Any] | Fault]]:
    """The entries of a list, of `{"tools": […]}` or of lines, each with its place; one that is no object is its fault.

    Raises `CatalogError` for other documents.
    """
    for where, value in _values(document, file=file):
        yield where, value if isinstance(value, (dict, Fault)) else not_an_object(where)


def _values(document: Any, *, file: str) -> Iterator[tuple[str, Any]]:
    if isinstance(document, Lines):
        for number, value in document.values:
            yield f"{file}: line {number}", value
        return
    listed = document.get("tools") if isinstance(document, dict) else document
    if isinstance(document, dict) and listed is None:
        listed = [document]  # one tool
    if not isinstance(listed, list):
        raise CatalogError([Fault(where=file, problem="needs a list of tools, or an object with such a list as tools")])
    for at, value in enumerate(listed):
        yield f"{file}: tools[{at}]", value
