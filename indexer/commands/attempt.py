"""What is active once a command that switches has failed, whenever that was: before the switch, in it or after it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from indexer.errors import IndexerError
from indexer.ledger import Ledger
from indexer.ports import ArtefactStore
from indexer.release import Release
from indexer.report import failure_json, told
from indexer.table import short
from surface.adapters.command_line import CommandFailedError, WrongUseError, print_json
from surface.adapters.termination import EndingSignals


class SwitchedError(CommandFailedError):
    """The command failed, and yet the release it was about is active, or may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a failed switch has left."""

    switched: bool | None
    """Whether the release became active, though others may have replaced it since; None where that cannot be known."""
    active: str | None = None
    """The id of the release that is active now; None for none, and where it is not known or was not asked."""
    release: str | None = None
    """The id of the release that was to become active; None where it had not come to that."""


class Attempt:
    """One switch of one application, from before it is begun until its command ends."""

    def __init__(self) -> None:
        self._asked: Callable[[], Standing] = lambda: Standing(switched=False)
        self._signals = EndingSignals()

    def begins(self, store: ArtefactStore, release: Release, before: Ledger) -> None:
        """From now on the release may become active, in the place of the one that is in the ledger `before`."""

        def ask() -> Standing:
            if before.active is not None and before.active.id == release.id:
                return Standing(switched=False, active=release.id, release=release.id)
            now = store.ledger(release.application)
            # Not only what is active: the next deploy may have replaced it already.
            return Standing(
                switched=any(line.release == release.id for line in now.since(before)),
                active=now.active.id if now.active is not None else None,
                release=release.id,
            )

        self._asked = ask

    def accounted_for(self, work: Callable[[], None], *, as_json: bool) -> None:
        """Does all that a command does, its output included. Once that has ended, no signal changes its exit code.

        Tells as JSON what failed, and raises `SwitchedError` in the place of whatever was raised after the switch.
        """
        try:
            self._signals.heard_in(work)
        except WrongUseError:
            raise  # before anything was begun, and told to a person alone
        except BaseException as error:  # also what nobody foresaw: its exit code is a promise too
            standing = self._standing()
            if as_json:
                with suppress(OSError):  # the output may be what failed
                    print_json(failure_json(error) | {"switched": standing.switched, "active": standing.active})
            if standing.switched is False:
                raise
            raise SwitchedError(f"{told(error)}; {_sentence(standing)}") from error

    def _standing(self) -> Standing:
        try:
            return self._signals.heard_in(self._asked)  # a store that is away may take long to ask
        except (IndexerError, KeyboardInterrupt):
            return Standing(switched=None)


def _sentence(standing: Standing) -> str:
    if standing.switched and standing.active == standing.release:
        return f"release {short(standing.active)} is active nevertheless"
    if standing.switched:
        became = f"release {short(standing.release)} became active and was replaced"
        return f"{became}: release {short(standing.active)} is"
    return "whether the release is active cannot be told now; ask status"
