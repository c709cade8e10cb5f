"""`toolsurface inspect`: prints an index version for people."""

from __future__ import annotations

import argparse

from indexer.commands.arguments import add_application, add_store, application_of, refuse_no_release, store_of
from indexer.commands.numbers import whole
from indexer.contents import read_contents
from indexer.errors import IndexerError
from indexer.inspection import inspection_json, inspection_lines
from indexer.releases import kept_release
from surface.adapters.command_line import DONE, Command, CommandFailedError, WrongUseError, print_json, show


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("surface", nargs="?", metavar="SURFACE", help="(default: the only surface there is)")
    add_store(parser)
    add_application(parser)
    parser.add_argument("--release", metavar="ID", help="one that is kept (default: the active one)")
    parser.add_argument(
        "--tools", type=whole(0, 1_000_000), default=10, metavar="N", help="tools to list (default: %(default)s)"
    )


def _run(arguments: argparse.Namespace) -> int:
    if arguments.release is not None:
        refuse_no_release(arguments.release, option="--release")
    store = store_of(arguments)
    application = application_of(arguments, store)
    ledger = store.ledger(application)
    release = kept_release(ledger, arguments.release) if arguments.release is not None else ledger.active
    if release is None:
        raise CommandFailedError(f"application {application}: has no active release; deploy first")
    surface: str = arguments.surface or (next(iter(release.surfaces)) if len(release.surfaces) == 1 else "")
    if surface not in release.surfaces:
        raise WrongUseError(f"SURFACE: needs one of {', '.join(sorted(release.surfaces))}")
    artefact = store.load(application, surface, release.surfaces[surface].version)
    contents = read_contents(artefact)
    if arguments.json:
        print_json(inspection_json(artefact.manifest, contents, tools=arguments.tools))
    else:
        show(inspection_lines(artefact.manifest, contents, tools=arguments.tools))
    return DONE


INSPECT = Command(
    name="inspect",
    summary="print what an index version is made of",
    configure=_configure,
    run=_run,
    failures=(IndexerError,),
)
