"""What an import says about its work, to a person or a program; and the catalog file that it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from indexer.catalog_file import Catalog, CatalogTool
from indexer.importing.importing import Imported
from surface.canonical import canonical_bytes
from surface.catalog_rules import shown
from surface.limits import Limits
from surface.provider_inputs import EVERY_PROVIDER

SHOWN = 20
"""Renamed or refused tools that a person is shown; --json lists all."""


def import_lines(imported: Imported, *, written: str | None) -> list[str]:
    """A finished import, for a person. `written` is the file, or None where nothing was written."""
    lines = [f"{one.file} ({one.format}): {_tools(one.taken)}{_refused(one.refused)}" for one in imported.files]
    services = [f"service {shown(old)} → {new or 'none'}" for old, new in imported.renamed_services.items()]
    lines += _some("renamed", [*services, *(f"{one.where} → {one.new}" for one in imported.renamed)])
    lines += _some("refused", [str(fault) for fault in imported.refused])
    lines += [f"note: {note}" for note in notes(imported.catalog)]
    catalog = imported.catalog
    held = ", ".join(f"{key} {_tools(len(surface.tools))}" for key, surface in catalog.surfaces.items())
    done = f"wrote {catalog.application} to {written}" if written is not None else "nothing was written"
    return [*lines, f"{done}: {held}"]


def import_json(imported: Imported, *, written: str | None) -> dict[str, Any]:
    """A finished import, for a program."""
    catalog = imported.catalog
    return {
        "file": written,
        "application": catalog.application,
        "deploy": catalog.deploy,
        "surfaces": {key: len(surface.tools) for key, surface in catalog.surfaces.items()},
        "files": [asdict(one) for one in imported.files],
        "taken": imported.taken,
        "renamed": [asdict(one) for one in imported.renamed],
        "renamed_services": dict(imported.renamed_services),
        "refused_tools": imported.refused_tools,
        "refused": [asdict(fault) for fault in imported.refused],
        "notes": notes(catalog),
    }


def notes(catalog: Catalog) -> list[str]:
    """What the catalog holds that ranking or a step will not make much of."""
    tools = [tool for surface in catalog.surfaces.values() for tool in surface.tools]
    silent = sum(not tool.description.strip() for tool in tools)
    ceiling = Limits().max_schema_bytes
    heavy = [tool.name for tool in tools if _weight(tool) > ceiling]
    said: list[str] = []
    if silent:
        said.append(f"{_tools(silent)} without a description: ranking has only the name and the parameters")
    if heavy:
        named = _first(sorted(heavy))
        said.append(f"{_tools(len(heavy))} over the default max_schema_bytes, never selectable under it: {named}")
    odd = _refused_for(tools, lambda schema: EVERY_PROVIDER.refused_names(schema)[:3])
    if odd:
        said.append(
            f"{_tools(len(odd))} with arguments whose names Anthropic's API refuses, and the whole request with them "
            f"(it takes 1-64 of A-Za-z0-9_.-): {_first(odd)}; --rename gives those of OpenAPI operations others"
        )
    whole = _refused_for(tools, EVERY_PROVIDER.refused_keywords)
    if whole:
        said.append(
            f"{_tools(len(whole))} with keywords at the top of the input schema that OpenAI's or Anthropic's API "
            f"refuses, and the whole request with them: {_first(whole)}"
        )
    return said


def _refused_for(tools: Iterable[CatalogTool], reasons: Callable[[Mapping[str, Any]], Sequence[str]]) -> list[str]:
    """The tools whose input schema has such, each with what it has."""
    found = [(tool.name, reasons(tool.input_schema)) for tool in tools]
    return [f"{name} ({', '.join(map(shown, of_it))})" for name, of_it in found if of_it]


def _first(named: Sequence[str]) -> str:
    return ", ".join(named[:3]) + (" …" if len(named) > 3 else "")


def catalog_json(catalog: Catalog) -> dict[str, Any]:
    """The catalog file, as an application's own export writes it."""
    return {
        "version": catalog.version,
        "application": catalog.application,
        "deploy": catalog.deploy,
        "surfaces": {
            key: {"always_on": list(surface.always_on), "tools": [_tool_json(tool) for tool in surface.tools]}
            for key, surface in catalog.surfaces.items()
        },
    }


def _tool_json(tool: CatalogTool) -> dict[str, Any]:
    # Field by field: leaving out every None would reach into the schemas, where a null means something.
    written = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    optional = {"service": tool.service, "annotations": tool.annotations}
    return written | {name: value for name, value in optional.items() if value is not None}


def _weight(tool: CatalogTool) -> int:
    return len(canonical_bytes({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}))


def _some(kind: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    more = [f"  … and {len(lines) - SHOWN} more; --json lists all of them"] if len(lines) > SHOWN else []
    return [f"{kind}:", *(f"  - {line}" for line in lines[:SHOWN]), *more]


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count:,} tools"


def _refused(count: int) -> str:
    return f", {count:,} refused" if count else ""
