"""`toolsurface activate` and `toolsurface rollback`: another kept release becomes what is served."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from indexer.commands.arguments import (
    add_application,
    add_store,
    add_vectors,
    application_of,
    now,
    refuse_no_release,
    store_of,
    vectors_of,
)
from indexer.commands.attempt import Attempt, SwitchedError
from indexer.commands.exit_codes import LOST_THE_RACE, SWITCHED
from indexer.errors import ActivationConflictError, IndexerError
from indexer.ledger import Ledger
from indexer.release import Release
from indexer.releases import SHORTEST_PREFIX, Switched, kept_release, previous_release, switch
from indexer.table import short
from surface.adapters.command_line import DONE, Command, print_json, show

_FAILURES = (IndexerError,)
_EXIT_CODES = {ActivationConflictError: LOST_THE_RACE, SwitchedError: SWITCHED}


def _configure_activate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "release", help=f"its id, or the first {SHORTEST_PREFIX} digits or more; status lists those kept"
    )
    _configure_rollback(parser)


def _configure_rollback(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    add_vectors(parser)
    add_application(parser)


def _activate(arguments: argparse.Namespace) -> int:
    refuse_no_release(arguments.release, option="RELEASE")
    return _switch(arguments, lambda ledger: kept_release(ledger, arguments.release))


def _rollback(arguments: argparse.Namespace) -> int:
    return _switch(arguments, previous_release)


def _switch(arguments: argparse.Namespace, choose: Callable[[Ledger], Release]) -> int:
    attempt = Attempt()

    def switches() -> None:
        store, vectors = store_of(arguments), vectors_of(arguments)
        application = application_of(arguments, store)
        ledger = store.ledger(application)
        release = choose(ledger)
        begins = partial(attempt.begins, store)
        switched = switch(store, ledger, release, now=now, vectors=vectors, switching=begins)
        _tell(application, switched, as_json=arguments.json)

    attempt.accounted_for(switches, as_json=arguments.json)
    return DONE


def _tell(application: str, switched: Switched, *, as_json: bool) -> None:
    release = switched.release
    if as_json:
        print_json(
            {
                "outcome": "unchanged" if switched.unchanged else "activated",
                "application": application,
                "release": release.id,
                "deploy": release.deploy,
                "previous": switched.previous,
                "unchanged": switched.unchanged,
            }
        )
    elif switched.unchanged:
        show([f"{application}: release {short(release.id)} was active already"])
    else:
        show(
            [
                f"{application}: release {short(release.id)} is active (deploy {short(release.deploy)})",
                f"  before it: {short(switched.previous)}",
            ]
        )


ACTIVATE = Command(
    name="activate",
    summary="make a kept release what selectors serve, after reading all of it",
    configure=_configure_activate,
    run=_activate,
    failures=_FAILURES,
    exit_codes=_EXIT_CODES,
)
ROLLBACK = Command(
    name="rollback",
    summary="go back to the release that was active before; twice ends where it began",
    configure=_configure_rollback,
    run=_rollback,
    failures=_FAILURES,
    exit_codes=_EXIT_CODES,
)
