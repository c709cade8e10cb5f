"""`toolsurface rank`: one query, ranked as the service would."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from indexer.commands.arguments import add_store_location, store_of
from models.adapters.choice import chosen_embedder
from models.adapters.model_arguments import add_model
from selector.commands.opening import FAILURES, add_strictness, library_over, limit, ranking_threads
from selector.service import Selector
from surface.adapters.command_line import Command, CommandFailedError, WrongUseError, print_json, say, show
from surface.catalog_rules import shown
from surface.errors import RankerUnavailable
from surface.identity import is_key
from surface.ranking import RankRequest


def _configure_rank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("surface", metavar="SURFACE", help="the surface's key")
    parser.add_argument("query", metavar="QUERY", help="what is wanted, in plain words")
    add_store_location(parser)
    add_model(parser)
    add_strictness(parser)
    parser.add_argument("--application", metavar="A", help="whose surface (default: the only application there is)")
    parser.add_argument("--limit", type=limit, default=8, metavar="N", help="names to show (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def _rank(arguments: argparse.Namespace) -> None:
    if not is_key(arguments.surface):
        raise WrongUseError("SURFACE: needs 1-64 characters of A-Z a-z 0-9 _ . -")
    if not arguments.query.strip():
        raise WrongUseError("QUERY: is blank; say in a few words what is wanted")
    store = store_of(arguments)
    embedder = chosen_embedder(arguments.model, threads=1, download=arguments.model_download)
    library = library_over(store, embedder)
    application = _application(arguments.application, sorted(library.served))
    request = RankRequest(
        application=application,
        surface=arguments.surface,
        query=arguments.query,
        limit=arguments.limit,
        catalog_digest=None,
    )
    with ranking_threads(1) as threads:
        selector = Selector(indexes=library, embedder=embedder, executor=threads, strictness=arguments.strictness)
        try:
            reply = asyncio.run(selector.rank(request))
        except RankerUnavailable as error:
            found = ", ".join(sorted(library.served[application].active)) or "none"
            raise CommandFailedError(f"SURFACE: {error.code}; application {application} serves: {found}") from None
    if arguments.json:
        print_json(reply.model_dump(mode="json"))
        return
    show(f"{ranked.score:8.4f}  {shown(ranked.name)}" for ranked in reply.ranked)
    if reply.abstained:
        say("nothing in this catalog fits")


def _application(asked: str | None, served: Sequence[str]) -> str:
    listed = ", ".join(served) or "none"
    if asked is None and len(served) == 1:
        return served[0]
    if asked is None:
        raise WrongUseError(f"--application: say which; the store serves: {listed}")
    if asked not in served:
        raise CommandFailedError(f"--application: not in this store, which serves: {listed}")
    return asked


RANK = Command(
    name="rank",
    summary="rank a surface's tools for one query, as the service would",
    configure=_configure_rank,
    run=_rank,
    failures=FAILURES,
)
