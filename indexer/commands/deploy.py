"""`toolsurface deploy`: makes a catalog what is served."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

from indexer.adapters.catalog_reader import STANDARD_INPUT, read_catalog_bytes
from indexer.adapters.patient_store import WAIT_S
from indexer.adapters.progress import shown_progress
from indexer.catalog_file import LeftOut, ReadCatalog, read_catalog
from indexer.commands.arguments import add_max_tools, add_store, add_vectors, store_of, vectors_of
from indexer.commands.attempt import Attempt, SwitchedError
from indexer.commands.exit_codes import CANARY_FAILED, LOST_THE_RACE, SWITCHED
from indexer.commands.numbers import cores, number
from indexer.deploying import deploy_catalog
from indexer.errors import ActivationConflictError, CanaryError, IndexerError
from indexer.report import deploy_json, deploy_lines, refusal_lines
from indexer.tool_lines import read_tool_lines
from models.adapters.choice import chosen_embedder
from models.adapters.model_arguments import add_model
from models.adapters.onnx import usable_cores
from models.errors import ModelError
from surface.adapters.command_line import DONE, Command, WrongUseError, print_json, say, show
from surface.errors import CatalogError

FAILURES = (CatalogError, IndexerError, ModelError)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Indexes a catalog and makes it what selectors serve: all of it or nothing. Exit codes: 0 it is active; 1 it "
        "failed; 2 wrong use; 3 a canary failed; 4 another deploy was faster; 5 it failed or was interrupted once the "
        "switch had begun, and is active or may be, as the last line says; 129 its terminal was closed; 130 "
        "interrupted; 143 ended by SIGTERM. Whatever it is but 0 and 5, this deploy changed nothing that is served."
    )
    parser.add_argument(
        "catalog", type=Path, help="catalog.json or tools.jsonl, packed by gzip or not; - is standard input"
    )
    add_store(parser)
    add_vectors(parser)
    add_model(parser)
    parser.add_argument("--application", metavar="A", help="for .jsonl: the application the tools belong to")
    parser.add_argument("--surface", metavar="S", help="for .jsonl: the surface the tools belong to")
    parser.add_argument("--skip-invalid", action="store_true", help="leave out tools that no catalog may hold")
    parser.add_argument("--canaries", type=Path, metavar="FILE", help="queries that must find their tools, .jsonl")
    parser.add_argument("--dry-run", action="store_true", help="do everything but write to the store")
    parser.add_argument("--rebuild", action="store_true", help="embed every text anew, and carry nothing over")
    add_max_tools(parser)
    parser.add_argument("--threads", type=cores, metavar="N", help="cores to embed with (default: all)")
    parser.add_argument(
        "--cache", type=Path, metavar="FILE", help="where vectors are remembered (default: user's cache)"
    )
    parser.add_argument(
        "--wait",
        type=number(0, 1_000_000, of="seconds"),
        default=WAIT_S,
        metavar="SECONDS",
        help=f"how long to wait for a store that cannot be reached, each time (default: {WAIT_S:g}; 0: not at all)",
    )
    parser.add_argument("--no-cache", action="store_true", help="remember no vectors")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.no_cache and arguments.cache is not None:
        raise WrongUseError("--no-cache, --cache: one or the other")
    if arguments.rebuild and arguments.cache is not None:
        raise WrongUseError("--rebuild, --cache: one or the other; rebuilding recalls no vector")
    attempt = Attempt()
    attempt.accounted_for(partial(_deploy, arguments, attempt), as_json=arguments.json)
    return DONE


def _deploy(arguments: argparse.Namespace, attempt: Attempt) -> None:
    started = time.monotonic()
    read = _read(arguments)
    left_out = LeftOut(refused=read.refused, refused_tools=read.refused_tools)
    catalog = [read.catalog]
    del read
    for line in refusal_lines(left_out):
        say(line)
    store, vectors = store_of(arguments, there=False), vectors_of(arguments)
    embedder = chosen_embedder(
        arguments.model, threads=arguments.threads or usable_cores(), download=arguments.model_download
    )
    with shown_progress() as progress:
        result = deploy_catalog(
            catalog.pop(),  # which lets the deploy let go of it
            store=store,
            vectors=vectors,
            embedder=embedder,
            canaries=arguments.canaries,
            cache=arguments.cache,
            remember=not arguments.no_cache,
            dry_run=arguments.dry_run,
            rebuild=arguments.rebuild,
            threads=arguments.threads,
            max_tools=arguments.max_tools,
            wait_s=arguments.wait,
            progress=progress,
            tell=say,
            switching=partial(attempt.begins, store),
        )
    elapsed = time.monotonic() - started
    if arguments.json:
        print_json(deploy_json(result, left_out, seconds=elapsed))
    else:
        show(deploy_lines(result, left_out, seconds=elapsed))


def _read(arguments: argparse.Namespace) -> ReadCatalog:
    path: Path = arguments.catalog
    named = arguments.application is not None or arguments.surface is not None
    piped = path == STANDARD_INPUT  # which has no ending to tell what it holds
    lines = named if piped else path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    if lines and (arguments.application is None or arguments.surface is None):
        raise WrongUseError(f"{path.name} names no application and surface; add --application A --surface S")
    if named and not lines:
        raise WrongUseError("--application, --surface: a catalog file names its own; leave them out")
    data = read_catalog_bytes(path)
    if not lines:
        return read_catalog(data, skip_invalid=arguments.skip_invalid, max_tools=arguments.max_tools)
    return read_tool_lines(
        data,
        application=arguments.application,
        surface=arguments.surface,
        skip_invalid=arguments.skip_invalid,
        max_tools=arguments.max_tools,
    )


DEPLOY = Command(
    name="deploy",
    summary="index a catalog and make it what selectors serve",
    configure=_configure,
    run=_run,
    failures=FAILURES,
    exit_codes={CanaryError: CANARY_FAILED, ActivationConflictError: LOST_THE_RACE, SwitchedError: SWITCHED},
)
