"""The bytes of one file → the surfaces it brings: its container, its format, and the reader of that format.

Rules kept here:

1. The container is what the bytes are: JSON, else JSON lines or YAML by the file's name; gzip was unpacked before.
2. The format is told by what only it has (`detect`), or by the caller, who knows better.
3. A file that is not what it should be is one `CatalogError`; an entry in it that is no tool is that entry's fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, get_args

from indexer.catalog_file import MAX_CATALOG_BYTES, read_catalog
from indexer.importing.anthropic_tools import read_anthropic
from indexer.importing.candidate import Candidate, Found
from indexer.importing.entries import Lines, entries
from indexer.importing.gemini_tools import DECLARATIONS, read_gemini
from indexer.importing.mcp import read_mcp
from indexer.importing.openai_tools import read_openai
from indexer.importing.openapi import read_openapi
from indexer.importing.plain_tools import read_plain
from indexer.importing.room import MAX_ENTRIES, Room
from indexer.importing.yaml_document import NotYamlError, parse_yaml
from indexer.strict_json import CutOffError, NotJsonError, parse_json, parse_lines
from surface.catalog_rules import shown
from surface.errors import CatalogError, Fault

Format = Literal["catalog", "mcp", "openapi", "openai", "anthropic", "gemini", "plain"]
FORMATS: tuple[Format, ...] = get_args(Format)

_LINES = (".jsonl", ".ndjson")
_YAML = (".yaml", ".yml")
_READERS: Mapping[str, Callable[..., Iterator[Found]]] = {
    "mcp": read_mcp,
    "openapi": read_openapi,
    "openai": read_openai,
    "anthropic": read_anthropic,
    "gemini": read_gemini,
    "plain": read_plain,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file to import."""

    file: str
    """Its name, for reports and for its ending."""
    data: bytes
    """Unpacked."""
    service: str | None = None
    """The namespace its tools belong to, where the caller names one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtSurface:
    """What a file brings for one surface."""

    found: tuple[Found, ...]
    always_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What a file brings."""

    file: str
    format: Format
    surfaces: Mapping[str | None, BroughtSurface]
    """By key; None: the surface that the caller imports into."""
    application: str | None = None
    """Of a catalog file."""
    deploy: str | None = None
    refused: tuple[Fault, ...] = field(default=())
    """Of a catalog file: what its own rules refuse."""
    refused_tools: int = 0


def read_source(source: SourceFile, *, room: Room, format: Format | None = None) -> Brought:  # noqa: A002 - the option's name
    """What a file brings, as far as there is room for it.

    Raises `NoRoomError` where there is none, another `CatalogError`, and nothing else, where the file as a whole cannot
    be read.
    """
    if len(source.data) > MAX_CATALOG_BYTES:
        raise CatalogError([Fault(where=source.file, problem=f"is larger than {MAX_CATALOG_BYTES} bytes")])
    document = _document(source)
    chosen = detect(document, file=source.file) if format is None else format
    if chosen == "catalog":
        return _exported(source, room)
    if chosen == "openapi" and not isinstance(document, dict):
        raise CatalogError([Fault(where=source.file, problem="an OpenAPI document is one object")])
    read = _READERS[chosen](document, file=source.file, service=source.service)
    return Brought(
        file=source.file,
        format=chosen,
        surfaces={None: BroughtSurface(found=tuple(room.admitted(read, file=source.file)))},
    )


def detect(document: Any, *, file: str) -> Format:
    """The format of a document, by what only that format has. Raises `CatalogError` where nothing tells."""
    if isinstance(document, dict):
        if "openapi" in document or "swagger" in document:
            return "openapi"
        if "surfaces" in document:
            return "catalog"
        if "jsonrpc" in document or "mcpServers" in document:
            return "mcp"
    for entry in _entries_anywhere(document, file):
        told = _told_by(entry)
        if told is not None:
            return told
    if document in ([], {}):
        raise CatalogError([Fault(where=file, problem="is empty; it holds no tool")])
    raise CatalogError(
        [Fault(where=file, problem=f"its format cannot be told; say --format, one of {', '.join(FORMATS)}")]
    )


def _told_by(entry: Any) -> Format | None:
    if not isinstance(entry, dict):
        return None
    if "inputSchema" in entry:
        return "mcp"
    if "input_schema" in entry:
        return "anthropic"
    if any(key in entry for key in DECLARATIONS) or _is_gemini_function(entry):
        return "gemini"
    if entry.get("type") in ("function", "namespace"):
        return "openai"
    return "plain" if isinstance(entry.get("name"), str) and entry.keys() & {"description", "parameters"} else None


def _is_gemini_function(entry: dict[str, Any]) -> bool:
    parameters = entry.get("parameters")
    kind = parameters.get("type") if isinstance(parameters, dict) else None
    return (
        "parametersJsonSchema" in entry or "parameters_json_schema" in entry or kind in ("OBJECT", "TYPE_UNSPECIFIED")
    )


def _entries_anywhere(document: Any, file: str) -> Iterator[Any]:
    """The entries of the document itself, of its pages, or of the servers it holds, three levels down at most."""
    waiting: list[tuple[Any, int]] = [(document, 0)]
    for value, level in waiting:
        try:
            listed = [one for _, one in islice(entries(value, file=file), MAX_ENTRIES)]
        except CatalogError:
            listed = []
        yield from listed
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if level < 3:
            waiting.extend((one, level + 1) for one in inside if isinstance(one, (dict, list)))


def _document(source: SourceFile) -> Any:
    if not source.data.strip():
        raise CatalogError([Fault(where=source.file, problem="is empty; it holds no tool")])
    name = source.file.lower().removesuffix(".gz")
    if name.endswith(_LINES):
        return Lines(values=tuple(islice(_lines(source), MAX_ENTRIES + 1)))  # one too many tells that there are
    try:
        return parse_json(source.data)
    except NotJsonError as error:
        if not name.endswith(_YAML):
            raise CatalogError([Fault(where=source.file, problem=str(error))]) from None
    try:
        return parse_yaml(source.data)
    except NotYamlError as error:
        raise CatalogError([Fault(where=source.file, problem=str(error))]) from None


def _lines(source: SourceFile) -> Iterator[tuple[int, Any | Fault]]:
    try:
        for number, value in parse_lines(source.data):
            if isinstance(value, NotJsonError):
                yield number, Fault(where=f"{source.file}: line {number}", problem=str(value))
            else:
                yield number, value
    except CutOffError as error:
        raise CatalogError([Fault(where=source.file, problem=str(error))]) from None


def _exported(source: SourceFile, room: Room) -> Brought:
    """A catalog file: nothing in it is rewritten, so its tools keep the digests that the application computes."""
    try:
        read = read_catalog(source.data, skip_invalid=True)
    except CatalogError as error:
        raise CatalogError(
            Fault(where=f"{source.file}: {fault.where}", problem=fault.problem) for fault in error.faults
        ) from None
    surfaces: dict[str | None, BroughtSurface] = {}
    for key, surface in read.catalog.surfaces.items():
        found = (
            Candidate(
                where=f"{source.file}: {shown(key)}/{shown(tool.name)}",
                name=tool.name,
                description=tool.description,
                input_schema=tool.input_schema,
                service=tool.service,
                annotations=tool.annotations,
                fixed=True,
            )
            for tool in surface.tools
        )
        surfaces[key] = BroughtSurface(found=tuple(room.admitted(found, file=source.file)), always_on=surface.always_on)
    return Brought(
        file=source.file,
        format="catalog",
        surfaces=surfaces,
        application=read.catalog.application,
        deploy=read.catalog.deploy,
        refused=tuple(Fault(where=f"{source.file}: {one.where}", problem=one.problem) for one in read.refused),
        refused_tools=read.refused_tools,
    )
