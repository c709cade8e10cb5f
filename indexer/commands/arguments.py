"""What more than one command asks for, and how it is checked."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from indexer.adapters.opening import PASSWORD_VARIABLE, open_store, open_vectors
from indexer.catalog_size import MAX_TOOLS
from indexer.commands.numbers import whole
from indexer.errors import StoreError
from indexer.health import ApplicationHealth
from indexer.ports import ArtefactStore, VectorStore
from indexer.releases import SHORTEST_PREFIX
from surface.adapters.command_line import CommandFailedError, WrongUseError
from surface.identity import is_key

_RELEASE = re.compile(rf"[0-9a-f]{{{SHORTEST_PREFIX},32}}")


def add_store(parser: argparse.ArgumentParser) -> None:
    """`--store`, and `--json` beside it."""
    add_store_location(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines for people")


def add_store_location(parser: argparse.ArgumentParser) -> None:
    """`--store` alone; `store_of` opens what it names."""
    parser.add_argument(
        "--store",
        required=True,
        metavar="STORE",
        help="where releases are kept: a directory, redis://host:6379/0, redis+cluster://host:6379 (rediss… for TLS), "
        f"s3://bucket/prefix, gs://… or az://…; a password may stand in ${PASSWORD_VARIABLE}",
    )


def add_vectors(parser: argparse._ActionsContainer) -> None:
    """`--vectors`; `vectors_of` opens what it names."""
    parser.add_argument(
        "--vectors",
        metavar="URL",
        help="keep vectors in Vector Sets of Redis 8 or newer instead of in every replica: redis://host:6379/0 or "
        f"redis+cluster://host:6379; every command that has this option needs the same; a password may stand in "
        f"${PASSWORD_VARIABLE} (default: in memory)",
    )


def vectors_of(arguments: argparse.Namespace) -> VectorStore | None:
    """Where `--vectors` says that vectors are, None for in memory; raises WrongUseError where that cannot be."""
    try:
        return open_vectors(arguments.vectors) if arguments.vectors is not None else None
    except StoreError as error:
        raise WrongUseError(str(error)) from None


def add_max_tools(parser: argparse.ArgumentParser) -> None:
    """`--max-tools`: how many tools of a catalog are taken."""
    parser.add_argument(
        "--max-tools",
        type=whole(1, 5_000_000),
        default=MAX_TOOLS,
        metavar="N",
        help="refuse a catalog of more tools, so that memory is bounded (default: %(default)s)",
    )


def add_application(parser: argparse.ArgumentParser, *, default: str = "the only application there is") -> None:
    """`--application`, for a store that may hold several."""
    parser.add_argument("--application", metavar="A", help=f"whose releases (default: {default})")


def store_of(arguments: argparse.Namespace, *, there: bool = True, followed: bool = False) -> ArtefactStore:
    """The store that `--store` names; raises WrongUseError where it names none, or `there` asks for one that exists.

    `followed`: see `open_store`.
    """
    try:
        return open_store(arguments.store, there=there, followed=followed)
    except StoreError as error:
        raise WrongUseError(str(error)) from None


def application_of(arguments: argparse.Namespace, store: ArtefactStore) -> str:
    """The application that is meant; raises WrongUseError, naming those there are."""
    asked: str | None = arguments.application
    if asked is not None and is_key(asked):
        return asked
    found: Sequence[str] = store.applications()
    if asked is None and len(found) == 1:
        return found[0]
    raise WrongUseError(f"--application: say which; the store serves: {', '.join(found) or 'none'}")


def refuse_no_application(asked: str | None) -> None:
    """Raises WrongUseError where an application is named by what can be none's name; None names none."""
    if asked is not None and not is_key(asked):
        raise WrongUseError("--application: needs 1-64 characters of A-Z a-z 0-9 _ . -")


def refuse_unsound(looked_at: Sequence[ApplicationHealth]) -> None:
    """Raises CommandFailedError where something is not sound; what it is, the report on standard output has said."""
    unsound = [one.application for one in looked_at if not one.sound]
    if unsound:
        more = f" and {len(unsound) - 1} more" if len(unsound) > 1 else ""
        raise CommandFailedError(f"{unsound[0]}{more}: not sound; standard output says why")


def now() -> datetime:
    """This moment, for the history."""
    return datetime.now(UTC)


def refuse_no_release(asked: str, *, option: str) -> None:
    """Raises WrongUseError where a release is named by what can be the beginning of no release's id."""
    if not _RELEASE.fullmatch(asked):
        raise WrongUseError(
            f"{option}: needs the id of a release, 32 hexadecimal digits as status lists them, or its first "
            f"{SHORTEST_PREFIX} or more"
        )
