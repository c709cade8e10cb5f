"""`toolsurface watch`: tells every activation as it happens."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from indexer.commands.arguments import (
    add_application,
    add_store,
    refuse_no_application,
    refuse_no_release,
    store_of,
)
from indexer.commands.numbers import number
from indexer.errors import IndexerError
from indexer.ledger import Activation
from indexer.ports import ArtefactStore
from indexer.table import short
from indexer.watching import Watching
from surface.adapters.command_line import DONE, Command, CommandFailedError, print_json, say, show

LOOK_S = 2.0
"""Between two looks at the store where it gives no hint."""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Tells what is active, and every activation from then on, a line each, until it is interrupted. It follows the "
        "store; whether a replica serves it already is what the replica's /health/ready says."
    )
    add_store(parser)
    add_application(parser)
    parser.add_argument(
        "--until", metavar="RELEASE", help="end with 0 once this release is active (six or more digits)"
    )
    parser.add_argument(
        "--timeout",
        type=number(0, 1_000_000, of="seconds"),
        metavar="SECONDS",
        help="end after so long: with 0, but 1 with --until or away from the store",
    )


def _run(arguments: argparse.Namespace) -> int:
    if arguments.until is not None:
        refuse_no_release(arguments.until, option="--until")
    refuse_no_application(arguments.application)
    store = store_of(arguments)
    for application, line in _activations(store, arguments.application, timeout_s=arguments.timeout):
        if arguments.json:
            print_json({"application": application, **line.model_dump(mode="json")})
        else:
            moment = line.at.isoformat(timespec="seconds")
            show([f"{moment}  {application}  {short(line.release)}  deploy {short(line.deploy)}"])
        if arguments.until is not None and line.release.startswith(arguments.until):
            return DONE
    if arguments.until is None:
        return DONE
    raise CommandFailedError(f"release {arguments.until} has not become active within {arguments.timeout:g} s")


def _activations(
    store: ArtefactStore, application: str | None, *, timeout_s: float | None
) -> Iterator[tuple[str, Activation]]:
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    watching, problem = Watching(), ""
    while True:
        try:
            names = store.applications() if application is None else (application,)
            for name in names:
                yield from ((name, line) for line in watching.news(store.ledger(name)))
            problem = ""
        except IndexerError as error:
            if str(error) != problem:
                problem = str(error)
                if deadline is None or time.monotonic() < deadline:
                    say(f"watch: {problem}; looking again")
        left = LOOK_S if deadline is None else min(LOOK_S, deadline - time.monotonic())
        if left <= 0:
            if problem:
                raise CommandFailedError(problem)
            return
        store.wait_for_change(left)


WATCH = Command(
    name="watch",
    summary="tell every activation as it happens",
    configure=_configure,
    run=_run,
    failures=(IndexerError,),
)
