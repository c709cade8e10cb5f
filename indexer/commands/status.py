"""`toolsurface status`: what a store serves, and whether all of it is sound."""

from __future__ import annotations

import argparse

from indexer.commands.arguments import add_store, store_of
from indexer.errors import IndexerError
from indexer.health import health_json, health_lines, health_of
from surface.adapters.command_line import DONE, FAILED, Command, print_json


def _run(arguments: argparse.Namespace) -> int:
    store = store_of(arguments)
    applications = [health_of(store, name) for name in store.applications()]
    if arguments.json:
        print_json(health_json(applications))
    else:
        print("\n".join(health_lines(applications)))
    return DONE if all(one.sound for one in applications) else FAILED


STATUS = Command(
    name="status",
    summary="show what a store serves, and whether all of it is sound",
    configure=add_store,
    run=_run,
    failures=(IndexerError,),
)
