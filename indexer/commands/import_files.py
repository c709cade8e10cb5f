"""`toolsurface import`: files of other formats become a catalog file. Nothing is deployed here, and nothing fetched."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from indexer.adapters.catalog_reader import STANDARD_INPUT, read_catalog_bytes
from indexer.adapters.progress import shown_progress
from indexer.catalog_file import MAX_CATALOG_BYTES
from indexer.errors import FileTooLargeError, IndexerError
from indexer.importing.importing import Imported, import_catalog
from indexer.importing.report import catalog_json, import_json, import_lines
from indexer.importing.source import FORMATS, SourceFile
from surface.adapters.command_line import Command, CommandFailedError, WrongUseError, print_json, show
from surface.adapters.json_schema import problem_of
from surface.adapters.output_file import is_standard_output, write_result
from surface.catalog_rules import shown
from surface.errors import CatalogError
from surface.identity import is_key

_HELP = {
    "sources": "catalog.json, MCP tools/list results, OpenAPI 3 (JSON or YAML), a provider's tool array, or .jsonl;"
    " gzipped or not; - is standard input. SERVICE=FILE names the namespace of its tools",
    "output": "where the catalog goes; - is standard output, and then the report goes to standard error",
    "format": "what every file is (default: each file tells)",
    "rename": "give valid, unique names to tools that have none, and to arguments of OpenAPI operations",
    "strict": "write nothing and fail if any tool is refused",
}


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="[SERVICE=]FILE", help=_HELP["sources"])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=_HELP["output"])
    parser.add_argument("--application", metavar="A", help="whose tools (default: what a catalog file among them says)")
    parser.add_argument("--surface", metavar="S", help="the surface they belong to; catalog files name their own")
    parser.add_argument("--deploy", metavar="NAME", help="what to call this deploy, such as a commit")
    parser.add_argument("--format", choices=FORMATS, help=_HELP["format"])
    parser.add_argument("--rename", action="store_true", help=_HELP["rename"])
    parser.add_argument("--strict", action="store_true", help=_HELP["strict"])
    parser.add_argument("--json", action="store_true", help="the report as one JSON object on standard output")


def _import(arguments: argparse.Namespace) -> None:
    piped = is_standard_output(arguments.output)
    if piped and arguments.json:
        raise WrongUseError("-o -, --json: both are for standard output; name a file, or leave --json out")
    sources = _sources(arguments.sources, output=arguments.output)
    with shown_progress() as progress:
        imported = import_catalog(
            sources,
            check_schema=problem_of,
            application=arguments.application,
            surface=arguments.surface,
            deploy=arguments.deploy,
            format=arguments.format,
            rename_tools=arguments.rename,
            progress=progress,
        )
    failure = _failure(imported, strict=arguments.strict)
    if failure is None:
        _write(arguments.output, imported)
    place = "standard output" if piped else str(arguments.output)
    written = place if failure is None else None
    if arguments.json:
        print_json(import_json(imported, written=written))
    else:
        show(import_lines(imported, written=written), aside=piped)
    if failure is not None:
        raise CommandFailedError(failure)


def _failure(imported: Imported, *, strict: bool) -> str | None:
    """Why nothing is written, or None."""
    if not imported.taken:
        return "no tool could be taken"
    return "--strict, and tools were refused" if strict and imported.refused_tools else None


def _sources(written: Sequence[str], *, output: Path) -> list[SourceFile]:
    """The files, which are held together, so together they are no larger than one may be."""
    sources: list[SourceFile] = []
    room = MAX_CATALOG_BYTES
    named = [_named(one) for one in written]
    if [path for _, path in named].count(STANDARD_INPUT) > 1:
        raise WrongUseError("FILE -: standard input can be read once; name the other files")
    for service, path in named:
        if not is_standard_output(output) and output.exists() and path.exists() and output.samefile(path):
            raise WrongUseError(f"-o {output}: is one of the files to import; name another one")
        file = "standard input" if path == STANDARD_INPUT else path.name
        sources.append(SourceFile(file=file, data=_read(path, ceiling=room), service=service))
        room -= len(sources[-1].data)
    return sources


def _named(written: str) -> tuple[str | None, Path]:
    """The service and the file that `[SERVICE=]FILE` names; raises WrongUseError where no service has such a name."""
    if "=" not in written or Path(written).exists():
        return None, Path(written)
    service, _, path = written.partition("=")
    if "=" in path and not Path(path).exists():  # the end is the file, so all before it was meant for the service
        service, _, path = written.rpartition("=")
    if not is_key(service):
        raise WrongUseError(
            f"SERVICE=FILE: the service {shown(service)} needs 1-64 of A-Z a-z 0-9 _ . -; there is no file {written}"
        )
    return service, Path(path)


def _read(path: Path, *, ceiling: int) -> bytes:
    try:
        return read_catalog_bytes(path, ceiling=ceiling)
    except FileTooLargeError:
        raise CommandFailedError(
            f"{path}: with it the files are larger than {MAX_CATALOG_BYTES:,} bytes together; import less at a time"
        ) from None


def _write(path: Path, imported: Imported) -> None:
    encoder = json.JSONEncoder(ensure_ascii=False, sort_keys=True, indent=1)
    data = bytearray()
    for part in encoder.iterencode(catalog_json(imported.catalog)):
        data += part.encode("utf-8")
        if len(data) >= MAX_CATALOG_BYTES:  # blanks before each line can outweigh what stands in it
            raise CommandFailedError(f"{path}: would be larger than a deploy reads; import less at a time")
    write_result(path, bytes(data) + b"\n")


IMPORT = Command(
    name="import",
    summary="make a catalog file of MCP, OpenAPI and provider tool files",
    configure=_configure,
    run=_import,
    failures=(CatalogError, IndexerError),
)
