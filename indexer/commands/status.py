"""`toolsurface status`: what a store serves, and whether all of it is sound."""

from __future__ import annotations

import argparse
from pathlib import Path

from indexer.adapters.directory_store import DirectoryStore
from indexer.contents import read_contents
from indexer.errors import ArtefactError, IndexerError, StoreError
from indexer.ports import ArtefactStore
from indexer.release import ReleasedSurface
from indexer.report import ApplicationHealth, SurfaceHealth, status_json, status_lines
from surface.adapters.command_line import DONE, FAILED, Command, WrongUseError, print_json


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


STATUS = Command(
    name="status",
    summary="show what a store serves, and whether all of it is sound",
    configure=_configure_status,
    run=_status,
    failures=(IndexerError,),
)
