"""What `PlacedStore` needs of a technology: named bytes, and one ledger per application with a compare-and-swap.

Every method raises `indexer.errors.StoreError`, or its `StoreUnavailableError` where trying again may help.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where one copy of an index version lies; never written twice."""

    application: str
    surface: str
    version: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLedger:
    """A ledger's bytes, and what proves later that nobody has replaced them."""

    data: bytes | None
    """None where there is none yet."""
    tag: Any
    """Only for the shelf that made it."""


class Shelf(Protocol):
    """Bytes in a technology without locks."""

    @property
    def name(self) -> str:
        """What a person calls this store, for messages; never a password."""
        ...

    def ledger_name(self, application: str) -> str:
        """What a person has to name to see or delete a ledger."""
        ...

    def applications(self) -> tuple[str, ...]:
        """Every application that has a ledger, or had one, or of which anything else is here."""
        ...

    def read_ledger(self, application: str) -> FoundLedger:
        """The ledger as it is now, never as an outdated replica has it."""
        ...

    def has_ledger(self, application: str) -> bool:
        """Whether there is one, without reading it."""
        ...

    def replace_ledger(self, application: str, data: bytes, *, tag: Any) -> bool:
        """Replaces the ledger that was found with `tag`; False where it is another one by now.

        Where the answer is lost the same call may be made again: it is False then, and the ledger says why.
        """
        ...

    def confirm(self, application: str, data: bytes) -> None:
        """Returns when the ledger of these bytes is there to stay, as far as this technology goes, and is listed.

        They were just read or written; others may have replaced them since. Raises `StoreUnavailableError` where they
        are gone as if they never had been.
        """
        ...

    def prepare(self, application: str, *, size: int) -> None:
        """See `indexer.ports.ArtefactStore`."""
        ...

    def write(self, address: Address, files: Mapping[str, bytes]) -> None:
        """Returns when all files are there to stay."""
        ...

    def read(self, address: Address, name: str, *, ceiling: int) -> bytes | None:
        """A file's bytes, at most one more than the ceiling; None where there is no such file."""
        ...

    def delete(self, address: Address) -> None:
        """Deletes what lies there, whole or half-written; nothing where nothing does."""
        ...

    def announce(self, application: str) -> None:
        """Tells whoever waits that an activation has happened, as well as can be; raises nothing."""
        ...

    def wait_for_change(self, timeout_s: float) -> None:
        """See `indexer.ports.ArtefactStore`."""
        ...
