"""The catalog: an immutable tool set with its manifest and digests (CAT-1, CAT-3, CAT-4, CAT-5).

Schemas are kept as canonical JSON text, so nothing that a caller reaches can change them; whoever needs the
object gets a fresh one. What a tool set must be is checked in `surface.catalog_rules` and `surface.registry`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from surface.canonical import canonical_bytes, canonical_json
from surface.catalog_rules import duplicate_faults, entry_faults, shown
from surface.errors import CatalogError, Fault
from surface.identity import catalog_digest, is_key, tool_digest
from surface.tool import Service, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """What a model may read of one tool: exactly name, description and input schema."""

    name: str
    description: str
    input_schema_json: str
    """The input schema as canonical JSON."""
    schema_bytes: int
    """UTF-8 length of this entry as canonical JSON: comparable framework evidence, not a token count (CAT-5)."""

    @classmethod
    def of(cls, name: str, description: str, input_schema: Mapping[str, Any]) -> ManifestEntry:
        """The entry of a tool that keeps the catalog rules."""
        entry = {"name": name, "description": description, "input_schema": input_schema}
        return cls(
            name=name,
            description=description,
            input_schema_json=canonical_json(input_schema),
            schema_bytes=len(canonical_bytes(entry)),
        )

    @property
    def input_schema(self) -> dict[str, Any]:
        """The input schema; a fresh copy each time."""
        schema: dict[str, Any] = json.loads(self.input_schema_json)
        return schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The canonical projection of a tool set: its entries in the order of their names."""

    entries: tuple[ManifestEntry, ...]
    digest: str
    """The catalog digest: covers every tool digest."""
    schema_bytes: int
    """Canonical schema bytes of all entries together."""

    def __iter__(self) -> Iterator[ManifestEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTool:
    """A tool with what was derived from it once: its entry and its digest."""

    tool: Tool
    entry: ManifestEntry
    digest: str
    output: TypeAdapter[Any] | None
    """Validates and serialises the tool's output, where it declares a type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """An immutable, validated tool set. Made by `build_catalog`."""

    manifest: Manifest = field(repr=False)
    tools: Mapping[str, CatalogTool] = field(repr=False)
    """By name, in the order of names; read-only."""

    @property
    def digest(self) -> str:
        """The same for the same tools, whatever the order they were given in."""
        return self.manifest.digest

    def __contains__(self, name: object) -> bool:
        return name in self.tools

    def __len__(self) -> int:
        return len(self.tools)


class Projector:
    """Projects tools, each object once: surfaces that share a tool or a service share its entries."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[CatalogTool | None, list[Fault], Tool]] = {}
        self._operations: dict[int, tuple[tuple[Tool, ...], Service]] = {}

    def expand(self, offered: object) -> tuple[list[Tool], list[Fault]]:
        """Runtime tools and the operations of services, in the order given, and what is no tool at all."""
        if isinstance(offered, (str, bytes)) or not isinstance(offered, Iterable):
            return [], [Fault(where="tools", problem="needs a list of tools and services")]
        tools: list[Tool] = []
        faults: list[Fault] = []
        for at, each in enumerate(offered):
            members: tuple[object, ...] = tuple(each.tools) if isinstance(each, Service) else (each,)
            wrong = [problem for problem in map(_no_tool, members) if problem is not None]
            faults.extend(Fault(where=f"tools.{at}", problem=problem) for problem in wrong)
            if isinstance(each, Service) and not wrong:
                tools.extend(self._operations_of(each))
            else:
                tools.extend(one for one in members if isinstance(one, Tool) and _no_tool(one) is None)
        return tools, faults

    def _operations_of(self, service: Service) -> tuple[Tool, ...]:
        if id(service) not in self._operations:
            self._operations[id(service)] = (service.operations(), service)
        return self._operations[id(service)][0]

    def project(self, tool: Tool) -> tuple[CatalogTool | None, list[Fault]]:
        """The tool's projection, or what is wrong with it."""
        known = self._done.get(id(tool))
        if known is None:
            projected, faults = _project(tool)
            # The tool stands in the table too, so that its id is not given to another object meanwhile.
            known = self._done[id(tool)] = (projected, faults, tool)
        return known[0], known[1]


def _no_tool(offered: object) -> str | None:
    """Why something offered as a tool is none at all."""
    if not isinstance(offered, Tool):
        return f"is a {type(offered).__name__}, not a tool; {_mend(offered)}"
    name: object = offered.name
    return None if isinstance(name, str) else "the name must be text"


def _mend(offered: object) -> str:
    if isinstance(offered, (list, tuple, set, frozenset)):
        return "spread what it holds into the list: [*tools]"
    return (
        "decorate a function with @tool of surface; a framework's own tool becomes one with the function of its "
        "adapter: catalog_tools(…) of pydantic_ai, langchain_tool(…) of langchain"
    )


def build_catalog(tools: Iterable[Tool | Service], projector: Projector | None = None) -> Catalog:
    """The catalog of a tool set; raises CatalogError with every fault in it (CAT-2)."""
    catalog, faults = try_catalog(tools, projector or Projector())
    if catalog is None:
        raise CatalogError(faults)
    return catalog


def try_catalog(tools: Iterable[Tool | Service], projector: Projector) -> tuple[Catalog | None, list[Fault]]:
    """The catalog of a tool set, or everything that is wrong with it, in the order of names."""
    expanded, faults = projector.expand(tools)
    given = sorted(expanded, key=lambda tool: tool.name)
    faults.extend(duplicate_faults(tool.name for tool in given))
    projected: dict[str, CatalogTool] = {}
    for tool in given:
        made, problems = projector.project(tool)
        faults.extend(problems)
        if made is not None:
            projected[tool.name] = made
    if faults:
        return None, faults
    entries = tuple(made.entry for made in projected.values())
    manifest = Manifest(
        entries=entries,
        schema_bytes=sum(entry.schema_bytes for entry in entries),
        digest=catalog_digest(made.digest for made in projected.values()),
    )
    return Catalog(manifest=manifest, tools=MappingProxyType(projected)), []


def build_tool_manifest(tools: Iterable[Tool | Service]) -> Manifest:
    """The canonical projection of a tool set; raises CatalogError with every fault in it."""
    return build_catalog(tools).manifest


def _project(tool: Tool) -> tuple[CatalogTool | None, list[Fault]]:
    try:
        schema = tool.input.json_schema
    except Exception as error:  # noqa: BLE001 - whatever a foreign input model raises is a fault of this tool
        return None, [
            Fault(where=shown(tool.name), problem=f"its input model gives no JSON Schema ({type(error).__name__})")
        ]
    faults = entry_faults(tool.name, tool.description, schema)
    if tool.service is not None and not is_key(tool.service):
        # It stands in the search tool's description: it must be a word there, not a sentence.
        faults.append(Fault(where=shown(tool.name), problem="the service's name needs 1-64 of A-Z a-z 0-9 _ . -"))
    if not faults and "type" not in schema:
        # A recursive model is a bare reference at its top; providers want to read there that it is an object.
        schema = {"type": "object", **schema}
    if tool.presenter is not None and tool.output is None:
        faults.append(Fault(where=shown(tool.name), problem="a presenter needs an output type; declare one"))
    if tool.timeout is not None and not tool.timeout > 0:
        faults.append(Fault(where=shown(tool.name), problem="timeout: needs more than 0 seconds, or None"))
    if isinstance(tool.output, str):
        faults.append(Fault(where=shown(tool.name), problem="the output type is a string; give the type itself"))
        return None, faults
    try:
        output = None if tool.output is None else TypeAdapter(tool.output)
    except PydanticUserError as error:
        output = None
        faults.append(
            Fault(where=shown(tool.name), problem=f"its output type cannot be validated ({type(error).__name__})")
        )
    if faults:
        return None, faults
    return (
        CatalogTool(
            tool=tool,
            output=output,
            entry=ManifestEntry.of(tool.name, tool.description, schema),
            digest=tool_digest(name=tool.name, description=tool.description, input_schema=schema, service=tool.service),
        ),
        [],
    )
