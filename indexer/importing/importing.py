"""Files of any known format → one catalog, and a report of what was taken, renamed and refused.

Rules kept here:

1. A file that cannot be read as a whole ends the import, with every such file named; a tool that cannot be taken does
   not: it is refused, and the report says why.
2. A tool keeps its name or is refused, and its arguments keep theirs, unless renaming was asked for. Of several tools
   with one name in a surface every copy is refused, for none of them is the right one.
3. Every schema that enters is draft 2020-12 and compiles; only a catalog file's own are taken as they are.
4. What all files bring together has a ceiling, and one error says when it is passed (`room.py`).
5. The same files give the same catalog.

Not done here: opening files, writing the catalog (`indexer/commands/import_files.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from indexer.catalog_file import Catalog, CatalogTool, SurfaceCatalog, content_name, json_faults, key_faults
from indexer.importing.argument_names import rename_arguments
from indexer.importing.candidate import Candidate
from indexer.importing.openapi_schema import MAX_INPUT_SCHEMA_BYTES
from indexer.importing.renaming import Renamed, rename
from indexer.importing.room import NoRoomError, Room
from indexer.importing.source import Brought, Format, SourceFile, read_source
from indexer.progress import Progress, silent
from surface.canonical import canonical_bytes
from surface.catalog_rules import entry_faults, shown
from surface.errors import CatalogError, Fault
from surface.identity import is_deploy, is_key, is_tool_name

SchemaCheck = Callable[[Mapping[str, Any]], str | None]
"""What is wrong with an input schema as JSON Schema draft 2020-12, in one sentence; None where it compiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What one file gave."""

    file: str
    format: Format
    taken: int
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A catalog, and how it came about."""

    catalog: Catalog
    files: tuple[ImportedFile, ...]
    renamed: tuple[Renamed, ...]
    renamed_services: Mapping[str, str | None]
    """By the name in the files, of tools that were taken; None where nothing of it could stay."""
    refused: tuple[Fault, ...]
    """Why tools were left out; one tool may have several faults."""

    @property
    def taken(self) -> int:
        """How many tools the catalog holds."""
        return sum(len(surface.tools) for surface in self.catalog.surfaces.values())

    @property
    def refused_tools(self) -> int:
        """How many tools were left out."""
        return sum(one.refused for one in self.files)


def import_catalog(
    sources: Sequence[SourceFile],
    *,
    check_schema: SchemaCheck,
    application: str | None = None,
    surface: str | None = None,
    deploy: str | None = None,
    format: Format | None = None,  # noqa: A002 - the option's name
    rename_tools: bool = False,
    progress: Progress = silent,
) -> Imported:
    """One catalog of all the files' tools.

    `application` and `surface` are needed unless every file is a catalog file; `deploy` names the result, else its
    content does; `format` is that of every file, else each tells its own. Raises `CatalogError`, with every fault
    there is, where a file cannot be read, a name is missing or an always-on tool is refused. Where every tool is
    refused the catalog is empty, and not worth writing.
    """
    brought = _read_all(sources, format=format, surface=surface, progress=progress)
    named = _application(brought, application)
    importer = _Importer(brought, check_schema=check_schema, rename_tools=rename_tools, surface=surface)
    keys = sorted({key if key is not None else surface or "" for one in brought for key in one.surfaces})
    surfaces: dict[str, SurfaceCatalog] = {}
    for at, key in enumerate(keys):
        progress("checking", at, len(keys))
        surfaces[key] = importer.surface(key)
    progress("checking", len(keys), len(keys))
    faults = [*key_faults(application=named, surfaces=surfaces), *importer.always_on_faults]
    if deploy is not None and not is_deploy(deploy):
        faults.append(Fault(where="deploy", problem="needs 1-128 characters of printable ASCII"))
    if faults:
        raise CatalogError(faults)
    only = brought[0].deploy if len(brought) == 1 else None
    if deploy is None:
        deploy = only if only is not None else content_name(surfaces)
    catalog = Catalog(application=named, deploy=deploy, surfaces=surfaces)
    return Imported(
        catalog=catalog,
        files=importer.files(),
        renamed=importer.renamed,
        renamed_services=importer.renamed_services,
        refused=importer.refused,
    )


def _read_all(
    sources: Sequence[SourceFile],
    *,
    format: Format | None,  # noqa: A002 - the option's name
    surface: str | None,
    progress: Progress,
) -> list[Brought]:
    read: list[Brought] = []
    faults: list[Fault] = []
    room = Room()
    for at, source in enumerate(sources):
        progress("reading", at, len(sources))
        try:
            one = read_source(source, room=room, format=format)
        except NoRoomError:
            raise
        except CatalogError as error:
            faults.extend(error.faults)
            continue
        read.append(one)
        if surface is None and None in one.surfaces:
            faults.append(Fault(where=source.file, problem="names no surface; say which one, with --surface S"))
    progress("reading", len(sources), len(sources))
    if not sources:
        faults.append(Fault(where="import", problem="no file was given"))
    if faults:
        raise CatalogError(faults)
    return read


def _application(brought: Sequence[Brought], asked: str | None) -> str:
    named = sorted({one.application for one in brought if one.application is not None})
    if asked is None and len(named) == 1:
        return named[0]
    if asked is None:
        told = f"the files name {', '.join(map(shown, named))}" if named else "no file names one"
        raise CatalogError([Fault(where="application", problem=f"{told}; say which one, with --application A")])
    others = [name for name in named if name != asked]
    if others:
        problem = f"a file is a catalog of {shown(others[0])}; import into that application, or leave the file out"
        raise CatalogError([Fault(where=f"application {shown(asked)}", problem=problem)])
    return asked


class _Importer:
    """Fills one surface after the other and keeps the account."""

    def __init__(
        self, brought: Sequence[Brought], *, check_schema: SchemaCheck, rename_tools: bool, surface: str | None
    ) -> None:
        self._brought = brought
        self._check_schema = check_schema
        self._rename = rename_tools
        self._into = surface
        self._taken: Counter[int] = Counter()
        self._left: Counter[int] = Counter({at: one.refused_tools for at, one in enumerate(brought)})
        # Each with its file and its place there, to be told in their order whatever they were refused for.
        self._refused = [((at, -1), fault) for at, one in enumerate(brought) for fault in one.refused]
        self._places = [count() for _ in brought]
        self._renamed: list[Renamed] = []
        self._services: list[tuple[str, str, str | None]] = []
        """Where a tool stands, its service there and here, where that is another."""
        self.always_on_faults: list[Fault] = []

    def files(self) -> tuple[ImportedFile, ...]:
        """The account, file by file."""
        return tuple(
            ImportedFile(file=one.file, format=one.format, taken=self._taken[at], refused=self._left[at])
            for at, one in enumerate(self._brought)
        )

    @property
    def refused(self) -> tuple[Fault, ...]:
        """What was left out and why, in the order of the files and of what stands in them."""
        return tuple(fault for _, fault in sorted(self._refused, key=lambda one: one[0]))

    @property
    def renamed(self) -> tuple[Renamed, ...]:
        """The tools that were taken under another name, then their arguments that were."""
        refused = {fault.where for fault in self.refused}
        return tuple(one for one in self._renamed if one.where not in refused)

    @property
    def renamed_services(self) -> Mapping[str, str | None]:
        """The services under other names, in the order of the files."""
        refused = {fault.where for fault in self.refused}
        return {old: new for where, old, new in self._services if where not in refused}

    def surface(self, key: str) -> SurfaceCatalog:
        """The surface of this key, from all that the files bring for it."""
        origins: list[tuple[int, int]] = []
        candidates: list[Candidate] = []
        always_on: dict[str, None] = {}
        for at, one in enumerate(self._brought):
            for named, brought in one.surfaces.items():
                if (named if named is not None else self._into) != key:
                    continue
                always_on |= dict.fromkeys(brought.always_on)
                for each in brought.found:
                    origin = (at, next(self._places[at]))
                    if isinstance(each, Fault):
                        self._refuse(origin, [each])
                    else:
                        origins.append(origin)
                        candidates.append(each)
        if self._rename:
            given = candidates
            candidates, renamed = rename(candidates)
            self._renamed.extend(renamed)
            self._services.extend(
                (one.where, one.service, new.service)
                for one, new in zip(given, candidates, strict=True)
                if one.service is not None and one.service != new.service
            )
        tools = self._tools(origins, candidates)
        names = {tool.name for tool in tools}
        self.always_on_faults.extend(
            Fault(where=f"{shown(key)}/{shown(name)}", problem="is always on, so it cannot be left out; mend the tool")
            for name in always_on
            if name not in names
        )
        return SurfaceCatalog(always_on=tuple(always_on), tools=tools)

    def _tools(self, origins: Sequence[tuple[int, int]], candidates: Sequence[Candidate]) -> tuple[CatalogTool, ...]:
        counts = Counter(one.name for one in candidates)
        kept: list[CatalogTool] = []
        for origin, one in zip(origins, candidates, strict=True):
            faults = [*self._faults(one), *_same_name(one, counts[one.name], renaming=self._rename)]
            if faults:
                self._refuse(origin, faults)
                continue
            self._taken[origin[0]] += 1
            tool = self._with_arguments(one)
            kept.append(
                CatalogTool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.input_schema,
                    service=tool.service,
                    annotations=tool.annotations,
                )
            )
        return tuple(sorted(kept, key=lambda tool: tool.name))

    def _with_arguments(self, one: Candidate) -> Candidate:
        if not self._rename:
            return one
        tool, renamed = rename_arguments(one)
        self._renamed.extend(renamed)
        return tool

    def _faults(self, one: Candidate) -> list[Fault]:
        problems = [fault.problem for fault in entry_faults(one.name, one.description, one.input_schema)]
        if problems and not one.fixed and not self._rename and not is_tool_name(one.name):
            problems[0] += ", or say --rename"
        problems += [fault.problem for fault in json_faults(one.annotations, where="", field="the annotations")]
        if not one.fixed and not problems:
            problems += self._problems_of_imported(one)
        return [Fault(where=one.where, problem=problem) for problem in problems]

    def _problems_of_imported(self, one: Candidate) -> Iterable[str]:
        if one.service is not None and not is_key(one.service):
            yield (
                f"the service {shown(one.service)} needs 1-64 of A-Z a-z 0-9 _ . -; say --rename, or, of a file of one"
                " service, SERVICE=FILE"
            )
        if len(canonical_bytes(one.input_schema)) > MAX_INPUT_SCHEMA_BYTES:
            yield f"the input schema weighs more than {MAX_INPUT_SCHEMA_BYTES} bytes"
            return
        problem = self._check_schema(one.input_schema)
        if problem is not None:
            yield problem

    def _refuse(self, origin: tuple[int, int], faults: Sequence[Fault]) -> None:
        self._left[origin[0]] += 1
        self._refused.extend((origin, fault) for fault in faults)


def _same_name(one: Candidate, count: int, *, renaming: bool) -> Iterable[Fault]:
    if count > 1:
        fix = "they are the same in everything; keep one" if renaming else "rename them, or say --rename"
        yield Fault(where=one.where, problem=f"{count} tools of the surface have this name; {fix}")
