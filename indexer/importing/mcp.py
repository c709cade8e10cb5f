"""Results of MCP's `tools/list`: of one server, or of many by name; a server's name is the service of its tools.

    {"tools": […]}                       one result
    {"jsonrpc": "2.0", "result": {…}}    the same, as it came over the wire
    [result, result]                     the pages of one server
    [tool, …]                            its tools alone
    {"github": result, "slack": …}       many servers, each with any of the above

Not done here: asking a server. The hints of a server are kept as annotations and believed by nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from indexer.importing.candidate import Found, found
from indexer.importing.entries import Lines, entries
from surface.catalog_rules import shown
from surface.errors import CatalogError, Fault

_HINTS = {
    "readOnlyHint": "read_only",
    "idempotentHint": "idempotent",
    "destructiveHint": "destructive",
    "openWorldHint": "open_world",
}


def read_mcp(document: Any, *, file: str, service: str | None) -> Iterator[Found]:
    """The tools of one server or many. Raises `CatalogError` where the document is neither."""
    if isinstance(document, dict) and not is_result(document) and "name" not in document:
        _refuse_no_servers(document, file)
        return _servers(document, file=file)
    return _server(document, file=file, service=service)


def _refuse_no_servers(document: dict[str, Any], file: str) -> None:
    problem = None
    if "mcpServers" in document:
        problem = "is a client's configuration and holds no tools; save what each server answers to tools/list"
    elif "jsonrpc" in document:
        problem = "is an answer without tools; save what the server answers to tools/list"
    elif not document:
        problem = "holds no server and no tool"
    if problem is not None:
        raise CatalogError([Fault(where=file, problem=problem)])


def _servers(document: dict[str, Any], *, file: str) -> Iterator[Found]:
    faults: list[Fault] = []
    for server, result in document.items():
        try:
            yield from _server(result, file=f"{file}: {shown(server)}", service=server)
        except CatalogError as error:
            faults.extend(error.faults)
    if faults:
        raise CatalogError(faults)


def is_result(value: Any) -> bool:
    """Whether a value is a result of `tools/list`, with or without its envelope."""
    if isinstance(value, dict) and "result" in value:
        value = value["result"]
    return isinstance(value, dict) and isinstance(value.get("tools"), list)


def _server(document: Any, *, file: str, service: str | None) -> Iterator[Found]:
    pages = document if isinstance(document, list) and document and all(map(is_result, document)) else [document]
    for at, page in enumerate(pages):
        place = file if len(pages) == 1 else f"{file}: page {at + 1}"
        yield from (_tool(value, where=where, service=service) for where, value in _entries(page, file=place))
    if isinstance(pages[-1], dict) and _unwrapped(pages[-1]).get("nextCursor"):
        # A catalog that silently lacks the rest of a server's tools is worse than none.
        problem = "the last page has a nextCursor: the rest of the server's tools is missing; save every page"
        raise CatalogError([Fault(where=file, problem=problem)])


def _entries(page: Any, *, file: str) -> Iterator[tuple[str, dict[str, Any] | Fault]]:
    if isinstance(page, Lines):
        return entries(page, file=file)
    unwrapped = _unwrapped(page) if isinstance(page, dict) else page
    return entries(unwrapped, file=file)


def _unwrapped(page: dict[str, Any]) -> dict[str, Any]:
    result = page.get("result")
    return result if isinstance(result, dict) else page


def _tool(value: dict[str, Any] | Fault, *, where: str, service: str | None) -> Found:
    if isinstance(value, Fault):
        return value
    written = value.get("annotations")
    hints: dict[str, Any] = written if isinstance(written, dict) else {}
    title = value.get("title", hints.get("title"))
    annotations: dict[str, Any] = {ours: hints[theirs] for theirs, ours in _HINTS.items() if theirs in hints}
    if isinstance(title, str) and title:
        annotations["title"] = title
    return found(
        where=where,
        name=value.get("name"),
        description=value.get("description", title),
        schema=value.get("inputSchema"),
        service=service,
        annotations=annotations,
    )
