"""The finite registry of surfaces that an application owns, all checked at construction (CAT-2, CAT-6).

`Surface` is what an application declares; `CheckedSurface` is the same with everything that follows from it. One
error lists every fault of every surface.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from surface.catalog import Catalog, ManifestEntry, Projector, try_catalog
from surface.catalog_rules import shown
from surface.errors import CatalogError, ConfigurationError, Fault, UnknownSurfaceError
from surface.identity import is_key, is_tool_name
from surface.limits import Limits
from surface.search_tool import search_entry
from surface.tool import Service, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """One identity's view: a key, its tools, and the names that every step advertises."""

    key: str
    tools: Sequence[Tool | Service]
    always_on: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSurface:
    """A surface that keeps every rule, with its catalog and its search tool."""

    key: str
    catalog: Catalog
    always_on: tuple[str, ...]
    search: ManifestEntry

    def entry(self, name: str) -> ManifestEntry:
        """The manifest entry of a tool of this surface, or of its search tool."""
        return self.search if name == self.search.name else self.catalog.tools[name].entry

    def weight(self, name: str) -> int:
        """The canonical schema bytes of a tool of this surface, or of its search tool."""
        return self.entry(name).schema_bytes

    @property
    def base(self) -> tuple[str, ...]:
        """What every step advertises first: the search tool, then the always-on tools."""
        return (self.search.name, *self.always_on)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceRegistry:
    """Every surface of one application. Made by `build_registry`."""

    application: str
    surfaces: Mapping[str, CheckedSurface]
    """By key; read-only."""
    limits: Limits

    def surface(self, key: str) -> CheckedSurface:
        """The surface of a key; raises UnknownSurfaceError with the keys there are, ConfigurationError for no text."""
        given: object = key
        if type(given) is not str:
            raise ConfigurationError(
                f"surface: needs the key of a surface as text, not {type(given).__name__}; a callable has to return it"
            )
        try:
            return self.surfaces[key]
        except KeyError:
            known = ", ".join(self.surfaces)
            raise UnknownSurfaceError(f"surface: no {shown(key)} in {self.application}; there are {known}") from None


def build_registry(
    application: str, surfaces: Sequence[Surface], *, limits: Limits, search_tool: str
) -> SurfaceRegistry:
    """The registry of an application; raises CatalogError with every fault of every surface."""
    faults = _key_faults(application, surfaces, search_tool)
    projector = Projector()
    checked: dict[str, CheckedSurface] = {}
    for surface in _declared(surfaces):
        made, problems = _check(surface, projector, limits, search_tool)
        where = shown(str(surface.key))
        faults.extend(Fault(where=f"{where}/{fault.where}", problem=fault.problem) for fault in problems)
        if made is not None:
            checked[surface.key] = made
    if faults:
        raise CatalogError(faults)
    return SurfaceRegistry(application=application, surfaces=MappingProxyType(checked), limits=limits)


def _declared(surfaces: object) -> list[Surface]:
    """What is a Surface of what was offered; the rest is among the faults already."""
    return [each for each in surfaces if isinstance(each, Surface)] if isinstance(surfaces, Sequence) else []


def _key_faults(application: str, surfaces: Sequence[Surface], search_tool: str) -> list[Fault]:
    """What is wrong with the names of the registry itself."""
    faults: list[Fault] = []
    if not is_key(application):
        faults.append(Fault(where="application", problem="needs 1-64 characters of A-Z a-z 0-9 _ . -"))
    if not is_tool_name(search_tool):
        faults.append(Fault(where="search_tool", problem="needs 1-128 characters of A-Z a-z 0-9 _ . -"))
    declared = _declared(surfaces)
    if len(declared) != len(surfaces):
        faults.append(Fault(where="surfaces", problem="needs a list of Surface values"))
    elif not declared:
        faults.append(Fault(where="surfaces", problem="an application needs at least one surface"))
    for surface in declared:
        if not is_key(surface.key):
            where = f"surface {shown(str(surface.key))}"
            faults.append(Fault(where=where, problem="the key needs 1-64 of A-Z a-z 0-9 _ . -"))
    for key, count in sorted(Counter(str(surface.key) for surface in declared).items()):
        if count > 1:
            faults.append(Fault(where=f"surface {shown(key)}", problem=f"{count} surfaces have this key"))
    return faults


def _check(
    surface: Surface, projector: Projector, limits: Limits, search_tool: str
) -> tuple[CheckedSurface | None, list[Fault]]:
    catalog, faults = try_catalog(surface.tools, projector)
    names = {tool.name for tool in projector.expand(surface.tools)[0]}
    if search_tool in names:
        faults.append(Fault(where=search_tool, problem="the search tool has this name; rename one of them"))
    if isinstance(surface.always_on, str):
        return None, [*faults, Fault(where="always_on", problem="needs a list of names, not one string")]
    for name, count in Counter(map(str, surface.always_on)).items():
        if name not in names:
            faults.append(Fault(where=f"always_on {shown(name)}", problem="no tool of this surface has this name"))
        if count > 1:
            faults.append(Fault(where=f"always_on {shown(name)}", problem=f"stands {count} times; once is enough"))
    if catalog is None or faults:
        return None, faults
    made = CheckedSurface(
        key=surface.key,
        catalog=catalog,
        always_on=tuple(surface.always_on),
        search=search_entry(search_tool, catalog),
    )
    schema_bytes = sum(made.weight(name) for name in made.base)
    if len(made.base) > limits.max_active_tools:
        faults.append(
            Fault(
                where="always_on",
                problem=f"{len(made.base)} tools with the search tool, over limits.max_active_tools = "
                f"{limits.max_active_tools}",
            )
        )
    if schema_bytes > limits.max_schema_bytes:
        faults.append(
            Fault(
                where="always_on",
                problem=f"{schema_bytes} schema bytes with the search tool, over limits.max_schema_bytes = "
                f"{limits.max_schema_bytes}",
            )
        )
    return (None, faults) if faults else (made, [])
