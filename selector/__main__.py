"""Joins the adapters of selector: `serve`, `rank` and `evaluate`.

``python -m selector evaluate …`` and ``toolsurface evaluate …`` are the same command.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.faiss_index import FaissVectorIndex
from indexer.adapters.lexical_index import ArrayLexicalIndex
from indexer.adapters.progress import shown_progress
from indexer.errors import IndexerError
from indexer.index import open_index
from indexer.tool_lines import tool_lines_as_they_are
from models.adapters.onnx import default_embedder
from models.embedder import Embedder
from models.errors import ModelError
from models.hashing import HashingEmbedder
from selector.adapters.evaluation_files import read_set_file
from selector.adapters.http_api import build_app
from selector.adapters.http_server import address, bind, serve
from selector.errors import SelectorError
from selector.evaluation import DEPTH
from selector.evaluation_run import build_for_evaluation, evaluate, library_of, report_of
from selector.evaluation_set import choose, parse_queries
from selector.library import Change, Library
from selector.ranking import LEGS
from selector.service import Selector
from surface.adapters.command_line import Command, CommandFailedError, WrongUseError, print_json, run, say
from surface.errors import CatalogError, RankerUnavailable
from surface.identity import is_key
from surface.protocol import MAX_LIMIT
from surface.ranking import RankRequest

LOG = logging.getLogger("toolsurface.selector")

open_artefact = partial(open_index, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)

_FAILURES = (IndexerError, ModelError, SelectorError, CatalogError)


def _configure_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, required=True, metavar="DIR", help="the store that deploys publish to")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8080, help="0 takes any free one (default: %(default)s)")
    parser.add_argument("--threads", type=_positive, metavar="N", help="queries computed at once (default: cores, ≤ 4)")
    parser.add_argument(
        "--poll", type=_seconds, default=2.0, metavar="SECONDS", help="between two looks at the store (default: 2)"
    )


def _serve(arguments: argparse.Namespace) -> None:
    store = _store(arguments.store)
    try:
        bound = bind(arguments.host, arguments.port)
    except OSError as error:
        reason = error.strerror or "cannot be listened on"
        raise CommandFailedError(f"--host {arguments.host} --port {arguments.port}: {reason}") from error
    with bound, _executor(arguments.threads) as executor:
        embedder = default_embedder(threads=arguments.threads)
        library = _library(store, embedder)
        app = build_app(
            ranker=Selector(indexes=library, embedder=embedder, executor=executor),
            served=lambda: library.served,
            background=partial(library.follow, every=arguments.poll, tell=_log),
        )
        try:
            # Standard output, and the only line there: whoever asked for port 0 reads the address from it.
            serve(app, bound=bound, ready=lambda: print(f"serving {address(bound)}", flush=True))
        except RuntimeError as error:
            raise CommandFailedError(str(error)) from error


def _configure_rank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("surface", metavar="SURFACE", help="the surface's key")
    parser.add_argument("query", metavar="QUERY", help="what is wanted, in plain words")
    parser.add_argument("--store", type=Path, required=True, metavar="DIR", help="the store that deploys publish to")
    parser.add_argument("--application", metavar="A", help="whose surface (default: the only application there is)")
    parser.add_argument("--limit", type=_limit, default=8, metavar="N", help="names to show (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def _rank(arguments: argparse.Namespace) -> None:
    if not is_key(arguments.surface):
        raise WrongUseError("SURFACE: needs 1-64 characters of A-Z a-z 0-9 _ . -")
    store = _store(arguments.store)
    embedder = default_embedder(threads=1)
    library = _library(store, embedder)
    application = _application(arguments.application, sorted(library.served))
    request = RankRequest(
        application=application,
        surface=arguments.surface,
        query=arguments.query,
        limit=arguments.limit,
        catalog_digest=None,
    )
    with _executor(1) as executor:
        selector = Selector(indexes=library, embedder=embedder, executor=executor)
        try:
            reply = asyncio.run(selector.rank(request))
        except RankerUnavailable as error:
            found = ", ".join(sorted(library.served[application].active)) or "none"
            raise CommandFailedError(f"SURFACE: {error.code}; application {application} serves: {found}") from None
    if arguments.json:
        print_json(reply.model_dump(mode="json"))
        return
    for ranked in reply.ranked:
        print(f"{ranked.score:8.4f}  {ranked.name}")
    if reply.abstained:
        say("nothing in this catalog fits")


def _configure_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--catalog", type=Path, required=True, metavar="FILE", help="tools, .jsonl or .jsonl.gz")
    parser.add_argument("--queries", type=Path, required=True, metavar="FILE", help="judged queries, likewise")
    parser.add_argument("--fold", metavar="NAME", help="only queries of this fold")
    parser.add_argument("--split", metavar="NAME", help="only queries of this split")
    parser.add_argument("--ranker", choices=LEGS, default="hybrid", help="(default: %(default)s)")
    parser.add_argument(
        "--limit", type=_limit, default=DEPTH, metavar="N", help="names per query (default: %(default)s)"
    )
    parser.add_argument("--sample", type=_positive, metavar="N", help="that many queries, the same ones each time")
    parser.add_argument("--threads", type=_positive, metavar="N", help="cores to build with (default: all, ≤ 4)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def _evaluate(arguments: argparse.Namespace) -> None:
    lines = read_set_file(arguments.queries, argument="--queries").split(b"\n")
    queries = choose(
        parse_queries(lines, source=str(arguments.queries)),
        fold=arguments.fold,
        split=arguments.split,
        sample=arguments.sample,
    )
    tools = tool_lines_as_they_are(read_set_file(arguments.catalog, argument="--catalog"))
    # Words need no vectors, and those of a large catalog take minutes.
    words_only = arguments.ranker == "lexical"
    embedder: Embedder = HashingEmbedder(dimension=8) if words_only else default_embedder(threads=arguments.threads)
    with shown_progress() as progress:
        started = time.perf_counter()
        artefact = build_for_evaluation(tools, embedder=embedder, progress=progress)
        library = library_of(artefact, open_artefact=open_artefact)
        built = time.perf_counter() - started
        with _executor(1) as executor:
            selector = Selector(indexes=library, embedder=embedder, executor=executor, leg=arguments.ranker)
            evaluation = asyncio.run(
                evaluate(selector, queries, clock=time.perf_counter, limit=arguments.limit, progress=progress)
            )
    report = {"ranker": arguments.ranker, "tools": len(tools), **report_of(evaluation), "build_s": round(built, 2)}
    if arguments.json:
        print_json(report)
        return
    width = max(len(name) for name in report)
    for name, value in report.items():
        print(f"{name:<{width}}  {value:.3f}" if isinstance(value, float) else f"{name:<{width}}  {value}")


def _store(folder: Path) -> DirectoryStore:
    if not folder.is_dir():
        raise WrongUseError(f"--store: {folder} is no directory; deploy there first, or mend the path")
    return DirectoryStore(folder)


def _library(store: DirectoryStore, embedder: Embedder) -> Library:
    """The library of a store, read once; what cannot be served is told on standard error."""
    library = Library(store=store, open_artefact=open_artefact, model=embedder.manifest.identity)
    for change in library.refresh():
        if change.outcome != "serving":
            say(_line(change))
    return library


def _log(changes: Iterable[Change]) -> None:
    for change in changes:
        level = logging.INFO if change.outcome in {"serving", "gone"} else logging.ERROR
        LOG.log(level, "%s", _line(change))


def _line(change: Change) -> str:
    where = "/".join(part for part in (change.application, change.surface) if part) or "store"
    return f"{change.outcome} {where}: {change.detail}"


def _application(asked: str | None, served: Sequence[str]) -> str:
    listed = ", ".join(served) or "none"
    if asked is None and len(served) == 1:
        return served[0]
    if asked is None:
        raise WrongUseError(f"--application: say which; the store serves: {listed}")
    if asked not in served:
        raise CommandFailedError(f"--application: not in this store, which serves: {listed}")
    return asked


def _executor(threads: int | None) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads or 4, thread_name_prefix="rank")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("needs at least 1")
    return value


def _limit(text: str) -> int:
    value = _positive(text)
    if value > MAX_LIMIT:
        raise argparse.ArgumentTypeError(f"needs at most {MAX_LIMIT}")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65_535:
        raise argparse.ArgumentTypeError("needs 0 to 65535")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.01 <= value <= 86_400:
        raise argparse.ArgumentTypeError("needs 0.01 to 86400 seconds")
    return value


SERVE = Command(
    name="serve",
    summary="run the ranking service over a store, following its active releases",
    configure=_configure_serve,
    run=_serve,
    failures=_FAILURES,
)
RANK = Command(
    name="rank",
    summary="rank a surface's tools for one query, as the service would",
    configure=_configure_rank,
    run=_rank,
    failures=_FAILURES,
)
EVALUATE = Command(
    name="evaluate",
    summary="measure how well a ranker finds the right tools of a catalog",
    configure=_configure_evaluate,
    run=_evaluate,
    failures=_FAILURES,
)

if __name__ == "__main__":
    sys.exit(run([SERVE, RANK, EVALUATE], "python -m selector"))
