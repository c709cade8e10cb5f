"""The tools of a catalog by surface, from either form of catalog file, for what is measured and never deployed.

An export keeps the rules of the catalog file. JSON lines are taken under whatever names they have: a tool set from
somewhere else may hold names that no catalog would take.

Not done here: reading files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from indexer.catalog_file import CatalogTool, read_catalog
from indexer.tool_lines import tool_lines_as_they_are
from selector.errors import EvaluationError
from surface.errors import CatalogError

LINE_ENDINGS: Final = (".jsonl", ".ndjson")
ONLY: Final = "catalog"
"""What the one surface of a file of JSON lines is called."""


def surfaces_of(data: bytes, *, file: str) -> Mapping[str, tuple[CatalogTool, ...]]:
    """The tools by surface; `file` is what a person calls the file, and its ending says which form it has.

    Raises EvaluationError with the file and every fault of it: of several catalogs it says which.
    """
    try:
        if file.removesuffix(".gz").endswith(LINE_ENDINGS):
            return {ONLY: tool_lines_as_they_are(data)}
        catalog = read_catalog(data).catalog
    except CatalogError as error:
        raise EvaluationError(f"{file}: {error}") from error
    return {key: surface.tools for key, surface in catalog.surfaces.items()}


def one_surface(
    surfaces: Mapping[str, tuple[CatalogTool, ...]], asked: str | None, *, file: str
) -> tuple[CatalogTool, ...]:
    """The tools of the asked surface, or of the only one; EvaluationError lists what there is to ask for."""
    listed = ", ".join(sorted(surfaces))
    if asked is None and len(surfaces) == 1:
        return next(iter(surfaces.values()))
    if asked is None:
        raise EvaluationError(f"--surface: say which of {file}: {listed}")
    if asked not in surfaces:
        raise EvaluationError(f"--surface: {file} has no {asked}; it has: {listed}")
    return surfaces[asked]
