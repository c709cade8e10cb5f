"""The indexer's commands: `deploy` makes a catalog what is served, `status` says what is.

The pieces are joined here and nowhere else. `toolsurface deploy …` and `python -m indexer deploy …` are the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from indexer.adapters.catalog_reader import read_catalog_bytes
from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.progress import shown_progress
from indexer.catalog_file import ReadCatalog, read_catalog
from indexer.contents import read_contents
from indexer.deploy import deploy
from indexer.errors import ArtefactError, IndexerError, StoreError
from indexer.ports import ArtefactStore
from indexer.release import ReleasedSurface
from indexer.report import (
    ApplicationHealth,
    SurfaceHealth,
    deploy_json,
    deploy_lines,
    refusal_lines,
    status_json,
    status_lines,
)
from indexer.tool_lines import read_tool_lines
from models.adapters.onnx import default_embedder
from models.errors import ModelError
from surface.adapters.command_line import DONE, FAILED, Command, WrongUseError, print_json, run, say
from surface.errors import CatalogError


def _configure_deploy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("catalog", type=Path, help="catalog.json or tools.jsonl, packed by gzip or not")
    parser.add_argument("--store", type=Path, required=True, metavar="DIR", help="the directory that selectors read")
    parser.add_argument("--application", metavar="A", help="for .jsonl: the application the tools belong to")
    parser.add_argument("--surface", metavar="S", help="for .jsonl: the surface the tools belong to")
    parser.add_argument("--skip-invalid", action="store_true", help="leave out tools that no catalog may hold")
    parser.add_argument("--threads", type=int, metavar="N", help="texts embedded at a time (default: usable cores, 4)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines for people")


def _deploy(arguments: argparse.Namespace) -> int:
    if arguments.threads is not None and arguments.threads < 1:
        raise WrongUseError("--threads: needs 1 or more")
    started = time.monotonic()
    read = _read(arguments)
    for line in refusal_lines(read):
        say(line)
    embedder = default_embedder(threads=arguments.threads)
    with shown_progress() as progress:
        result = deploy(read.catalog, embedder=embedder, store=DirectoryStore(arguments.store), progress=progress)
    seconds = time.monotonic() - started
    if arguments.json:
        print_json(deploy_json(result, read, seconds=seconds))
    else:
        print("\n".join(deploy_lines(result, read, seconds=seconds)))
    return DONE


def _read(arguments: argparse.Namespace) -> ReadCatalog:
    path: Path = arguments.catalog
    lines = path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    named = arguments.application is not None or arguments.surface is not None
    if lines and (arguments.application is None or arguments.surface is None):
        raise WrongUseError(f"{path.name} names no application and surface; add --application A --surface S")
    if named and not lines:
        raise WrongUseError("--application, --surface: a catalog file names its own; leave them out")
    data = read_catalog_bytes(path)
    if not lines:
        return read_catalog(data, skip_invalid=arguments.skip_invalid)
    return read_tool_lines(
        data, application=arguments.application, surface=arguments.surface, skip_invalid=arguments.skip_invalid
    )


def _configure_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, required=True, metavar="DIR", help="the directory that selectors read")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines for people")


def _status(arguments: argparse.Namespace) -> int:
    if not arguments.store.is_dir():
        raise WrongUseError(f"--store: {arguments.store} is no directory; deploy makes it")
    store = DirectoryStore(arguments.store)
    applications = [_application_health(store, name) for name in store.applications()]
    if arguments.json:
        print_json(status_json(applications))
    else:
        print("\n".join(status_lines(applications)))
    return DONE if all(one.sound for one in applications) else FAILED


def _application_health(store: ArtefactStore, application: str) -> ApplicationHealth:
    try:
        release = store.active(application)
    except (ArtefactError, StoreError) as error:
        return ApplicationHealth(application=application, release=None, problem=str(error))
    if release is None:
        return ApplicationHealth(application=application, release=None, problem="has no active release any more")
    surfaces = tuple(
        _surface_health(store, application, key, released) for key, released in sorted(release.surfaces.items())
    )
    return ApplicationHealth(application=application, release=release, surfaces=surfaces)


def _surface_health(store: ArtefactStore, application: str, surface: str, released: ReleasedSurface) -> SurfaceHealth:
    try:
        artefact = store.load(application, surface, released.version)
        read_contents(artefact)
    except (ArtefactError, StoreError) as error:
        return SurfaceHealth(surface=surface, version=released.version, problem=str(error))
    manifest = artefact.manifest
    return SurfaceHealth(surface=surface, version=released.version, tools=manifest.tools, model=manifest.model)


DEPLOY = Command(
    name="deploy",
    summary="index a catalog and make it what selectors serve",
    configure=_configure_deploy,
    run=_deploy,
    failures=(CatalogError, IndexerError, ModelError),
)
STATUS = Command(
    name="status",
    summary="show what a store serves, and whether all of it is sound",
    configure=_configure_status,
    run=_status,
    failures=(IndexerError,),
)


if __name__ == "__main__":
    sys.exit(run((DEPLOY, STATUS), "python -m indexer"))
