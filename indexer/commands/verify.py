"""`toolsurface verify`: reads everything that is kept and proves it, against the catalog too where one is given."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from indexer.adapters.catalog_reader import read_catalog_bytes
from indexer.adapters.progress import shown_progress
from indexer.audit import audit
from indexer.calibration import Yardstick
from indexer.catalog_file import Catalog, read_catalog
from indexer.commands.arguments import (
    add_application,
    add_max_tools,
    add_store,
    application_of,
    refuse_no_application,
    refuse_unsound,
    store_of,
)
from indexer.commands.numbers import several
from indexer.document import documents_of
from indexer.errors import IndexerError
from indexer.health import ApplicationHealth, health_json, health_lines, healths_of
from indexer.ports import ArtefactStore
from indexer.progress import Progress
from indexer.releases import sound_version
from models.adapters.choice import chosen_embedder
from models.adapters.model_arguments import add_model
from models.adapters.onnx import usable_cores
from models.embedder import Embedder
from models.errors import ModelError
from surface.adapters.command_line import DONE, Command, CommandFailedError, WrongUseError, print_json, show
from surface.errors import CatalogError


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Reads every kept release and proves it: each byte against its sha256, each count, each digest. With --catalog "
        "the active release is also made again from the catalog and compared. Exit code 1 where anything is wrong."
    )
    add_store(parser)
    add_application(parser)
    parser.add_argument(
        "--catalog", type=Path, metavar="FILE", help="what the active release came from; - is standard input"
    )
    parser.add_argument("--sample", type=several, metavar="N", help="vectors to make again, per surface (default: all)")
    add_max_tools(parser)
    add_model(parser)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.sample is not None and arguments.catalog is None:
        raise WrongUseError("--sample: goes with --catalog")
    if (arguments.model is not None or arguments.model_download) and arguments.catalog is None:
        raise WrongUseError("--model: goes with --catalog; no vector is made again without one")
    refuse_no_application(arguments.application)
    store = store_of(arguments)
    catalog = _catalog(arguments) if arguments.catalog is not None else None
    applications: list[str] | None
    if catalog is not None:
        if arguments.application not in (None, catalog.application):
            raise WrongUseError(f"--application: the catalog is one of {catalog.application}; leave the option out")
        applications = [catalog.application]
    elif arguments.application is not None:
        applications = [application_of(arguments, store)]
    else:
        applications = None
    # Before the long work, so that a model that is not there is told at once.
    embedder = _embedder(arguments) if catalog is not None else None
    healths = healths_of(store, applications, all_releases=True)
    with shown_progress() as progress:
        compared = (
            _compared(store, catalog, healths[0], embedder=embedder, sample=arguments.sample, progress=progress)
            if catalog is not None and embedder is not None
            else []
        )
    if arguments.json:
        print_json({**health_json(healths), "compared": compared})
    else:
        show([*health_lines(healths), *_lines(compared)])
    refuse_unsound(healths)
    if any(one["problems"] for one in compared):
        raise CommandFailedError(
            "the active release is not what the catalog makes (standard output says where); "
            "deploy --rebuild makes all of it anew"
        )
    return DONE


def _catalog(arguments: argparse.Namespace) -> Catalog:
    return read_catalog(read_catalog_bytes(arguments.catalog), max_tools=arguments.max_tools).catalog


def _embedder(arguments: argparse.Namespace) -> Embedder:
    return chosen_embedder(arguments.model, threads=usable_cores(), download=arguments.model_download)


def _compared(
    store: ArtefactStore,
    catalog: Catalog,
    health: ApplicationHealth,
    *,
    embedder: Embedder,
    sample: int | None,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Each surface of the active release against the catalog."""
    if not health.releases or not health.releases[0].sound:
        return []
    active = health.releases[0].release
    compared = [
        {"surface": key, "vectors": 0, "problems": ["stands in only one of the catalog and the release"]}
        for key in sorted(catalog.surfaces.keys() ^ active.surfaces.keys())
    ]
    yardstick = Yardstick(embedder)
    for key in sorted(catalog.surfaces.keys() & active.surfaces.keys()):
        artefact, contents = sound_version(store, active, key)
        documents = documents_of(catalog.surfaces[key].tools)
        found = audit(
            artefact.manifest,
            contents,
            documents,
            embedder=embedder,
            yardstick=yardstick,
            sample=sample,
            progress=progress,
        )
        compared.append({"surface": key, "vectors": found.vectors, "problems": list(found.problems)})
    return compared


def _lines(compared: list[dict[str, Any]]) -> list[str]:
    lines: list[str] = []
    for one in compared:
        if one["problems"]:
            lines += [f"  ! {one['surface']}: {problem}" for problem in one["problems"]]
        else:
            lines.append(f"  {one['surface']} is what the catalog makes; {one['vectors']:,} vectors made again")
    return lines


VERIFY = Command(
    name="verify",
    summary="prove everything that a store keeps, byte by byte",
    configure=_configure,
    run=_run,
    failures=(CatalogError, IndexerError, ModelError),
)
