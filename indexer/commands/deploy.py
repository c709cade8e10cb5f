"""`toolsurface deploy`: makes a catalog what is served."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from indexer.adapters.catalog_reader import read_catalog_bytes
from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.progress import shown_progress
from indexer.catalog_file import ReadCatalog, read_catalog
from indexer.deploy import deploy
from indexer.errors import IndexerError
from indexer.report import deploy_json, deploy_lines, refusal_lines
from indexer.tool_lines import read_tool_lines
from models.adapters.onnx import default_embedder
from models.errors import ModelError
from surface.adapters.command_line import DONE, Command, WrongUseError, print_json, say
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
        result = deploy(
            read.catalog,
            embedder=embedder,
            store=DirectoryStore(arguments.store),
            now=partial(datetime.now, UTC),
            progress=progress,
        )
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


DEPLOY = Command(
    name="deploy",
    summary="index a catalog and make it what selectors serve",
    configure=_configure_deploy,
    run=_deploy,
    failures=(CatalogError, IndexerError, ModelError),
)
