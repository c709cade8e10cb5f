"""The catalog file: what an application exports and a deploy ships.

    {version: 1, application, deploy?,
     surfaces: {key: {always_on: [name], tools: [{name, description, input_schema, service?, annotations?}]}}}

Rules kept here:

1. Reading is total: any bytes give a catalog, or one `CatalogError` that lists every fault.
2. A tool keeps its name or is refused; nothing is ever renamed, shortened or mended.
3. With `skip_invalid` the refused tools are left out and listed. Of several tools with one name every copy is
   refused, for none of them is the right one. An always-on tool that is refused stays an error.

Not done here: opening files (`adapters/catalog_reader.py`), other forms (`tool_lines.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, StringConstraints, ValidationError

from indexer.catalog_size import refuse_too_many
from indexer.collector import collecting_later
from indexer.strict_json import NotJsonError, parse_json
from surface.canonical import canonical_bytes, digest
from surface.catalog_rules import duplicate_faults, entry_faults, shown
from surface.errors import CatalogError, Fault
from surface.identity import catalog_digest, is_key, tool_digest

MAX_CATALOG_BYTES = 512 * 1024 * 1024
"""The most a catalog may weigh, unpacked: about twenty times the largest real one (20,000 AWS operations)."""

Line = Annotated[str, StringConstraints(strict=True, pattern=r"^[\x20-\x7e]{1,128}$")]
"""1-128 characters of printable ASCII."""


class _FileModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CatalogTool(_FileModel):
    """One tool, as its author wrote it. Nobody writes to its schema: its digest is made once."""

    __slots__ = ("_digest",)  # no field, so a copy that is changed has none, and every tool's dictionary stays small

    name: StrictStr
    description: StrictStr
    input_schema: dict[str, Any]
    service: StrictStr | None = None
    annotations: dict[str, Any] | None = None
    """Kept for people and other programs; ranking does not read them."""

    @property
    def digest(self) -> str:
        """CAT-4. Raises TypeError, ValueError or RecursionError where the tool is nothing that JSON can hold."""
        made: str | None = getattr(self, "_digest", None)
        if made is None:
            made = tool_digest(
                name=self.name, description=self.description, input_schema=self.input_schema, service=self.service
            )
            object.__setattr__(self, "_digest", made)
        return made


class SurfaceCatalog(_FileModel):
    """The tools of one surface."""

    always_on: tuple[StrictStr, ...] = ()
    """Names of tools that are advertised in every step."""
    tools: tuple[CatalogTool, ...]


class Catalog(_FileModel):
    """Every surface of one application, at one deploy."""

    version: Literal[1] = 1
    application: StrictStr
    deploy: Line
    """What the application calls this deploy: a commit, a build number; else named by what it holds."""
    surfaces: Annotated[Mapping[str, SurfaceCatalog], AfterValidator(MappingProxyType)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What was left out of a catalog."""

    refused: tuple[Fault, ...] = ()
    """Why tools were left out, in the order of the file; empty unless `skip_invalid` was asked for."""
    refused_tools: int = 0
    """How many tools were left out; one tool may have several faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCatalog(LeftOut):
    """A catalog, and what was left out of it."""

    catalog: Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTools:
    """The tools of one surface, sorted into those that may stand and the faults of the others."""

    tools: tuple[CatalogTool, ...]
    faults: tuple[Fault, ...]
    refused: int
    """How many tools the faults are about."""


class _Frame(_FileModel):
    """The file without a look at its tools, so that one odd tool does not hide the others."""

    version: Literal[1]
    application: StrictStr
    deploy: Line | None = None
    surfaces: dict[StrictStr, _SurfaceFrame] = Field(min_length=1)


class _SurfaceFrame(_FileModel):
    always_on: list[StrictStr] = []
    tools: list[Any]


def read_catalog(data: bytes, *, skip_invalid: bool = False, max_tools: int | None = None) -> ReadCatalog:
    """The catalog that `data` holds, of at most `max_tools` tools. Raises `CatalogError`, and nothing else, with every
    fault there is.
    """
    if len(data) > MAX_CATALOG_BYTES:
        raise CatalogError([Fault(where="catalog", problem=f"is larger than {MAX_CATALOG_BYTES} bytes")])
    with collecting_later():
        return _read(data, skip_invalid=skip_invalid, max_tools=max_tools)


def _read(data: bytes, *, skip_invalid: bool, max_tools: int | None) -> ReadCatalog:
    try:
        given = parse_json(data)
        if not isinstance(given, dict) or not given.keys() & {"application", "surfaces"}:  # some other file of tools
            problem = "needs one object with version, application and surfaces; `toolsurface import` makes one"
            raise CatalogError([Fault(where="catalog", problem=problem)])
        frame = _Frame.model_validate(given)
    except NotJsonError as error:
        raise CatalogError([Fault(where="catalog", problem=str(error))]) from None
    except ValidationError as error:
        raise CatalogError(model_faults(error, where="catalog")) from None
    refuse_too_many(sum(len(surface.tools) for surface in frame.surfaces.values()), most=max_tools)
    faults = key_faults(application=frame.application, surfaces=frame.surfaces)
    refused: list[Fault] = []
    refused_tools = 0
    surfaces: dict[str, SurfaceCatalog] = {}
    for key, surface in frame.surfaces.items():
        checked = check_tools(surface.tools, surface=shown(key))
        (refused if skip_invalid else faults).extend(checked.faults)
        refused_tools += checked.refused
        faults.extend(_always_on_faults(shown(key), surface, checked, skip_invalid=skip_invalid))
        if skip_invalid and surface.tools and not checked.tools:
            faults.append(Fault(where=shown(key), problem="every tool of this surface is refused"))
            faults.extend(checked.faults)
        surfaces[key] = SurfaceCatalog(always_on=tuple(surface.always_on), tools=checked.tools)
    if faults:
        raise CatalogError(faults)
    deploy = frame.deploy if frame.deploy is not None else content_name(surfaces)
    catalog = Catalog(application=frame.application, deploy=deploy, surfaces=surfaces)
    return ReadCatalog(catalog=catalog, refused=tuple(refused), refused_tools=refused_tools)


def content_name(surfaces: Mapping[str, SurfaceCatalog]) -> str:
    """The name of a deploy that has none: the digest of its surfaces, so the same content has the same name."""
    return digest({key: catalog_digest(tool.digest for tool in surface.tools) for key, surface in surfaces.items()})


def check_tools(values: Sequence[Any], *, surface: str) -> CheckedTools:
    """Which of these JSON values may stand in a surface as tools, and what is wrong with the others.

    `surface` is its key as errors show it.
    """
    read = [read_tool(value, where=f"{surface}/{_place(value, at)}") for at, value in enumerate(values)]
    return check_read(read, surface=surface)


def read_tool(value: Any, *, where: str) -> CatalogTool | tuple[Fault, ...]:
    """One JSON value as a tool, before the catalog rules; or why it is none."""
    try:
        return CatalogTool.model_validate(value)
    except ValidationError as error:
        return model_faults(error, where=where)


def check_read(read: Sequence[CatalogTool | tuple[Fault, ...]], *, surface: str) -> CheckedTools:
    """The catalog rules over tools that were read already, or the faults that kept them from being read."""
    names = Counter(tool.name for tool in read if isinstance(tool, CatalogTool))
    kept: list[CatalogTool] = []
    faults: list[Fault] = []
    refused = 0
    for tool in read:
        found = list(tool) if isinstance(tool, tuple) else _tool_faults(tool, surface=surface)
        faults.extend(found)
        if found or (isinstance(tool, CatalogTool) and names[tool.name] > 1):
            refused += 1
        elif isinstance(tool, CatalogTool):
            kept.append(tool)
    faults.extend(_inside(surface, fault) for fault in duplicate_faults(names.elements()))
    return CheckedTools(tools=tuple(kept), faults=tuple(faults), refused=refused)


def key_faults(*, application: str, surfaces: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with the names of an application and its surfaces."""
    asked = [("application", application), *(("surface", key) for key in surfaces)]
    return [
        Fault(where=f"{kind} {shown(key)}", problem="needs 1-64 characters of A-Z a-z 0-9 _ . -")
        for kind, key in asked
        if not is_key(key)
    ]


def model_faults(error: ValidationError, *, where: str) -> tuple[Fault, ...]:
    """One fault for each complaint; the place and the rule, never the value that broke it."""
    return tuple(
        Fault(where=".".join([where, *(shown(str(step)) for step in one["loc"])]), problem=one["msg"])
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    )


def json_faults(value: Any, *, where: str, field: str) -> list[Fault]:
    """Whether a field beside the schema can be written as canonical JSON."""
    try:
        canonical_bytes(value)
    except (TypeError, ValueError, RecursionError):
        return [Fault(where=where, problem=f"{field} is not JSON (a lone surrogate, an infinity, or nested too deep)")]
    return []


def _place(value: Any, at: int) -> str:
    name = value.get("name") if isinstance(value, dict) else None
    return shown(name) if isinstance(name, str) else f"tools[{at}]"


def _tool_faults(tool: CatalogTool, *, surface: str) -> list[Fault]:
    where = f"{surface}/{shown(tool.name)}"
    try:
        written = bool(tool.digest)
    except (TypeError, ValueError, RecursionError):
        written = False
    found = entry_faults(tool.name, tool.description, tool.input_schema, written=written)
    faults = [_inside(surface, fault) for fault in found]
    if not written:
        faults += json_faults(tool.service, where=where, field="the service")
    if tool.annotations is not None:
        faults += json_faults(tool.annotations, where=where, field="the annotations")
    return faults


def _always_on_faults(key: str, surface: _SurfaceFrame, checked: CheckedTools, *, skip_invalid: bool) -> list[Fault]:
    kept = {tool.name for tool in checked.tools}
    named = [value["name"] for value in surface.tools if isinstance(value, dict) and "name" in value]
    declared = {name for name in named if isinstance(name, str)}
    faults: list[Fault] = []
    for name, count in Counter(surface.always_on).items():
        where = f"{key}/{shown(name)}"
        if count > 1:
            faults.append(Fault(where=where, problem="stands more than once in always_on; keep one"))
        if name not in declared:
            faults.append(Fault(where=where, problem="is always on, and the surface has no such tool"))
        elif skip_invalid and name not in kept:
            faults.append(Fault(where=where, problem="is always on, so it cannot be skipped; mend the tool"))
            faults.extend(fault for fault in checked.faults if fault.where == where)
    return faults


def _inside(surface: str, fault: Fault) -> Fault:
    return Fault(where=f"{surface}/{fault.where}", problem=fault.problem)
