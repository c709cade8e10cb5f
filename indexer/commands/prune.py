"""`toolsurface prune`: deletes the versions that no kept release needs."""

from __future__ import annotations

import argparse
from datetime import timedelta

from indexer.commands.arguments import (
    add_application,
    add_store,
    add_vectors,
    application_of,
    now,
    store_of,
    vectors_of,
)
from indexer.commands.numbers import number, several
from indexer.errors import IndexerError
from indexer.ledger import Ledger
from indexer.table import counted, short, weighed
from surface.adapters.command_line import DONE, Command, print_json, show


def _configure(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    add_vectors(parser)
    add_application(parser)
    parser.add_argument(
        "--keep", type=several, default=3, metavar="N", help="releases to keep, the active one among them (default: 3)"
    )
    parser.add_argument(
        "--spare-hours",
        type=number(0, 100_000, of="hours"),
        default=24.0,
        metavar="H",
        help="leave versions alone that were published since: a deploy may be about to activate them (default: 24)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")


def _versions(ledger: Ledger) -> set[tuple[str, str]]:
    return {(one.surface, one.version) for one in ledger.versions}


def _run(arguments: argparse.Namespace) -> int:
    removed: tuple[tuple[str, str], ...] | None = None
    store, vectors = store_of(arguments), vectors_of(arguments)
    application = application_of(arguments, store)
    since = now() - timedelta(hours=arguments.spare_hours)
    if arguments.dry_run:
        pruning = store.ledger(application).pruned(keep=arguments.keep, unused_since=since)
    else:
        pruning = store.prune(application, keep=arguments.keep, unused_since=since)
        if vectors is not None:
            removed = vectors.prune(application, kept=lambda: _versions(store.ledger(application)))
    if arguments.json:
        print_json(
            {
                "application": application,
                "dry_run": arguments.dry_run,
                "kept": [one.id for one in pruning.ledger.releases],
                "releases": list(pruning.releases),
                "versions": [{"surface": one.surface, "version": one.version} for one in pruning.versions],
                "bytes": pruning.size,
                "vectors": None
                if removed is None
                else [{"surface": one, "version": version} for one, version in removed],
            }
        )
        return DONE
    verb = "would go" if arguments.dry_run else "gone"
    head = (
        f"{application}: {counted(len(pruning.versions), 'version')}, {weighed(pruning.size)}, {verb}; "
        f"{counted(len(pruning.ledger.releases), 'release')} kept"
    )
    left = "would be kept no longer" if arguments.dry_run else "is kept no longer"
    lines = [f"  release {short(one)} {left}: nothing goes back to it" for one in pruning.releases]
    lines += [f"  {one.surface}  {short(one.version)}" for one in pruning.versions]
    if removed is not None:
        lines.append(f"the vectors of {counted(len(removed), 'version')} are gone from --vectors")
        lines += [f"  {surface}  {short(version)}" for surface, version in removed]
    show([head, *lines])
    return DONE


PRUNE = Command(
    name="prune",
    summary="delete the index versions that no kept release needs",
    configure=_configure,
    run=_run,
    failures=(IndexerError,),
)
