"""`toolsurface status`: what a store serves, and whether all of it is sound."""

from __future__ import annotations

import argparse

from indexer.commands.arguments import add_application, add_store, refuse_no_application, refuse_unsound, store_of
from indexer.errors import IndexerError
from indexer.health import health_json, health_lines, healths_of
from surface.adapters.command_line import DONE, Command, print_json, show


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Shows what a store serves, and reads all of it. Exit code 1 where something is not sound; with --application "
        "also where nothing of that application is active, as a monitor wants to know."
    )
    add_store(parser)
    add_application(parser, default="all there are")


def _run(arguments: argparse.Namespace) -> int:
    refuse_no_application(arguments.application)
    store = store_of(arguments)
    applications = healths_of(store, None if arguments.application is None else [arguments.application])
    if arguments.json:
        print_json(health_json(applications))
    else:
        show(health_lines(applications))
    refuse_unsound(applications)
    return DONE


STATUS = Command(
    name="status",
    summary="show what a store serves, and whether all of it is sound",
    configure=_configure,
    run=_run,
    failures=(IndexerError,),
)
