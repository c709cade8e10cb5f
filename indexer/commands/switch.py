"""`toolsurface activate` and `toolsurface rollback`: another kept release becomes what is served."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from indexer.commands.arguments import add_application, add_store, application_of, now, store_of
from indexer.commands.exit_codes import LOST_THE_RACE
from indexer.errors import ActivationConflictError, IndexerError
from indexer.ledger import Ledger
from indexer.release import Release
from indexer.releases import SHORTEST_PREFIX, kept_release, previous_release, switch
from indexer.table import short
from surface.adapters.command_line import DONE, Command, print_json


def _configure_activate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "release", help=f"its id, or the first {SHORTEST_PREFIX} digits or more; status lists those kept"
    )
    _configure_rollback(parser)


def _configure_rollback(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    add_application(parser)


def _activate(arguments: argparse.Namespace) -> int:
    return _switch(arguments, lambda ledger: kept_release(ledger, arguments.release))


def _rollback(arguments: argparse.Namespace) -> int:
    return _switch(arguments, previous_release)


def _switch(arguments: argparse.Namespace, choose: Callable[[Ledger], Release]) -> int:
    store = store_of(arguments)
    application = application_of(arguments, store)
    ledger = store.ledger(application)
    switched = switch(store, ledger, choose(ledger), now=now)
    release = switched.release
    if arguments.json:
        print_json(
            {
                "application": application,
                "release": release.id,
                "deploy": release.deploy,
                "previous": switched.previous,
                "unchanged": switched.unchanged,
            }
        )
    elif switched.unchanged:
        print(f"{application}: release {short(release.id)} was active already")
    else:
        print(f"{application}: release {short(release.id)} is active (deploy {short(release.deploy)})")
        print(f"  before it: {short(switched.previous)}")
    return DONE


ACTIVATE = Command(
    name="activate",
    summary="make a kept release what selectors serve, after reading all of it",
    configure=_configure_activate,
    run=_activate,
    failures=(IndexerError,),
    exit_codes={ActivationConflictError: LOST_THE_RACE},
)
ROLLBACK = Command(
    name="rollback",
    summary="go back to the release that was active before; twice ends where it began",
    configure=_configure_rollback,
    run=_rollback,
    failures=(IndexerError,),
    exit_codes={ActivationConflictError: LOST_THE_RACE},
)
