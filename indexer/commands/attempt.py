"""What is active once a command that switches has failed, whenever that was: before the switch, in it or after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from indexer.errors import ActivationConflictError, IndexerError, NotPublishedError
from indexer.ports import ArtefactStore
from indexer.release import Release
from indexer.report import failure_json, told
from indexer.table import short
from surface.adapters.command_line import CommandFailedError, print_json

_CHANGED_NOTHING: Final = (ActivationConflictError, NotPublishedError)


class SwitchedError(CommandFailedError):
    """The command failed, and yet the release it was about is active, or may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a failed switch has left."""

    switched: bool | None
    """None where that cannot be known."""
    active: str | None = None
    """The id of the release that is active now; None for none, and where it is not known or was not asked."""


class Attempt:
    """One switch of one application, from before it is begun until its command ends."""

    def __init__(self) -> None:
        self._asked: Callable[[], Standing] = lambda: Standing(switched=False)

    def begins(self, store: ArtefactStore, release: Release, expected: str | None) -> None:
        """From now on the release may become active, in the place of `expected`."""

        def ask() -> Standing:
            if release.id == expected:
                return Standing(switched=False, active=expected)
            active = store.active(release.application)
            found = active.id if active is not None else None
            return Standing(switched={release.id: True, expected: False}.get(found), active=found)

        self._asked = ask

    @contextmanager
    def accounted_for(self, *, failures: tuple[type[Exception], ...], as_json: bool) -> Iterator[None]:
        """Around all that a command does, its output included.

        Tells as JSON what failed, and raises `SwitchedError` in the place of whatever was raised after the switch.
        """
        ending: tuple[type[BaseException], ...] = (*failures, KeyboardInterrupt, OSError)
        try:
            yield
        except ending as error:
            standing = self._standing(error)
            if as_json:
                with suppress(OSError):  # the output may be what failed
                    print_json(failure_json(error) | {"switched": standing.switched, "active": standing.active})
            if standing.switched is False:
                raise
            raise SwitchedError(f"{told(error)}; {_sentence(standing)}") from error

    def _standing(self, error: BaseException) -> Standing:
        if isinstance(error, _CHANGED_NOTHING):
            return Standing(switched=False)
        try:
            return self._asked()
        except (IndexerError, KeyboardInterrupt):
            return Standing(switched=None)


def _sentence(standing: Standing) -> str:
    if standing.switched:
        return f"release {short(standing.active)} is active nevertheless"
    if standing.active is not None:
        return f"release {short(standing.active)}, of another deploy, is active; whether this one was cannot be told"
    return "whether the release is active cannot be told now; ask status"
