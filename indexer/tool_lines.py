"""Tools as JSON lines, one `{"name", "description", "parameters"?, "server"?}` a line: how tool sets are passed around.

`server` becomes the service; a tool without parameters takes an empty object; other fields are not read.
The rules are those of the catalog file. `tool_lines_as_they_are` keeps only the ones ranking cannot do without, so
that a ranker can be judged on a tool set whose names no catalog would take; what it returns is never deployed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from indexer.catalog_file import (
    MAX_CATALOG_BYTES,
    Catalog,
    CatalogTool,
    ReadCatalog,
    SurfaceCatalog,
    check_read,
    content_name,
    json_faults,
    key_faults,
    read_tool,
)
from indexer.catalog_size import refuse_too_many
from indexer.strict_json import CutOffError, NotJsonError, parse_lines
from surface.catalog_rules import duplicate_faults, shown
from surface.errors import CatalogError, Fault


def read_tool_lines(
    data: bytes, *, application: str, surface: str, skip_invalid: bool = False, max_tools: int | None = None
) -> ReadCatalog:
    """The lines as the one surface of an application; the deploy is named by what it holds.

    At most `max_tools` tools. Raises `CatalogError`, and nothing else, with every fault there is.
    """
    _refuse_large(data)
    faults = key_faults(application=application, surfaces={surface: None})
    where = shown(surface)
    read: list[CatalogTool | tuple[Fault, ...]] = []
    for one in _read_lines(data, surface=where):
        read.append(one)
        refuse_too_many(len(read), most=max_tools)  # the others are not read
    checked = check_read(read, surface=where)
    if not skip_invalid:
        faults.extend(checked.faults)
    elif checked.faults and not checked.tools:
        faults.extend((Fault(where=where, problem="every tool of this surface is refused"), *checked.faults))
    if not faults and not checked.tools:
        # An export may hold an empty surface on purpose; a file of no lines is a pipeline that broke.
        faults.append(Fault(where=where, problem="the file holds no tool"))
    if faults:
        raise CatalogError(faults)
    surfaces = {surface: SurfaceCatalog(tools=checked.tools)}
    catalog = Catalog(application=application, deploy=content_name(surfaces), surfaces=surfaces)
    return ReadCatalog(
        catalog=catalog,
        refused=checked.faults if skip_invalid else (),
        refused_tools=checked.refused if skip_invalid else 0,
    )


def tool_lines_as_they_are(data: bytes) -> tuple[CatalogTool, ...]:
    """The lines as tools under the names they have, for evaluation only.

    Raises `CatalogError` where a line is no tool, a name stands twice, or a tool cannot be digested.
    """
    _refuse_large(data)
    faults: list[Fault] = []
    tools: list[CatalogTool] = []
    for read in _read_lines(data, surface="lines"):
        if isinstance(read, tuple):
            faults.extend(read)
            continue
        tools.append(read)
        faults.extend(json_faults(read.model_dump(), where=f"lines/{shown(read.name)}", field="the tool"))
    faults.extend(duplicate_faults(tool.name for tool in tools))
    if faults:
        raise CatalogError(faults)
    return tuple(tools)


def _read_lines(data: bytes, *, surface: str) -> Iterator[CatalogTool | tuple[Fault, ...]]:
    try:
        for number, value in parse_lines(data):
            yield _read_line(value, surface=surface, number=number)
    except CutOffError as error:
        raise CatalogError([Fault(where="catalog", problem=str(error))]) from None


def _read_line(value: Any | NotJsonError, *, surface: str, number: int) -> CatalogTool | tuple[Fault, ...]:
    where = f"{surface}/line {number}"
    if isinstance(value, NotJsonError):
        return (Fault(where=where, problem=str(value)),)
    if not isinstance(value, dict):
        return (Fault(where=where, problem="is not a JSON object"),)
    if isinstance(value.get("name"), str):
        where = f"{surface}/{shown(value['name'])}"
    tool: dict[str, Any] = {key: value[key] for key in ("name", "description") if key in value}
    parameters = value.get("parameters")
    tool["input_schema"] = {"type": "object", "properties": {}} if parameters is None else parameters
    tool["service"] = value.get("server")
    return read_tool(tool, where=where)


def _refuse_large(data: bytes) -> None:
    if len(data) > MAX_CATALOG_BYTES:
        raise CatalogError([Fault(where="catalog", problem=f"is larger than {MAX_CATALOG_BYTES} bytes")])
