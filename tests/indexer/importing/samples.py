"""Documents for the tests of importing, and the one way in which they are imported."""

from __future__ import annotations

import json
from typing import Any

from indexer.catalog_file import CatalogTool
from indexer.importing import Imported, SourceFile, import_catalog
from surface.adapters.json_schema import problem_of


def source(document: Any, file: str = "tools.json", *, service: str | None = None) -> SourceFile:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return SourceFile(file=file, data=data, service=service)


def imported(*documents: Any, **options: Any) -> Imported:
    sources = [one if isinstance(one, SourceFile) else source(one) for one in documents]
    named = {"application": "shop", "surface": "clerk"} | options
    return import_catalog(sources, check_schema=problem_of, **named)


def taken(*documents: Any, **options: Any) -> dict[str, CatalogTool]:
    """The tools by name; every tool of the documents has to be taken."""
    read = imported(*documents, **options)
    assert read.refused == ()
    return {tool.name: tool for tool in read.catalog.surfaces["clerk"].tools}


def refusals(*documents: Any, **options: Any) -> list[str]:
    return [str(fault) for fault in imported(*documents, **options).refused]


def openapi(paths: Any, *, version: str = "3.1.0", schemas: Any = None, **other: Any) -> dict[str, Any]:
    components = {"schemas": schemas} if schemas is not None else {}
    return {
        "openapi": version,
        "info": {"title": "t", "version": "1"},
        "paths": paths,
        "components": components,
    } | other


def operation(name: str = "act", /, **other: Any) -> dict[str, Any]:
    return {"operationId": name, "summary": "Does it.", "responses": {}} | other


def body(schema: Any, *, required: bool = True, kind: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": {kind: {"schema": schema}}}}


def parameter(name: str, place: str = "query", /, **other: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": {"type": "string"}} | other


def mcp_tool(name: str = "search", /, **other: Any) -> dict[str, Any]:
    return {"name": name, "description": "Finds it.", "inputSchema": {"type": "object"}} | other
