"""A ledger as bytes, and which release they make active.

    {"checksum":"<32 digits>","format":2,"ledger":<canonical JSON>}

Rules kept here:

1. The checksum is the first 128 bits of the SHA-256 of the ledger's own bytes as they stand, and all around them is
   fixed: so a byte that was changed, added or lost anywhere is found by every reader, before any of it is parsed.
2. A format without a checksum is none that is read: what has lost its checksum, or was emptied to some other JSON, does
   not pass for an old ledger.
3. Who looks often, or changes it often, pays for the hash of the bytes alone, as long as they are the last ones that
   were read or written: a deploy of a thousand surfaces parses its ledger once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Final

from indexer.errors import ArtefactError
from indexer.ledger import Ledger, named_by
from indexer.release import Release
from indexer.stored_model import read_stored
from surface.canonical import DIGEST_LENGTH, canonical_bytes

MAX_LEDGER_BYTES: Final = 64 * 1024 * 1024
FORMAT: Final = 2
_SEALED: Final = re.compile(rb'\{"checksum":"([0-9a-f]{32})","format":(\d{1,3}),"ledger":(.*)\}', re.DOTALL)


def sealed(ledger: Ledger) -> bytes:
    """The bytes of a ledger; the same ledger gives the same bytes."""
    plain = ledger.model_dump(mode="json", exclude={"releases"})
    body = canonical_bytes(plain | {"releases": [one.to_plain() for one in ledger.releases]})
    return b'{"checksum":"%s","format":%d,"ledger":%s}' % (_checksum(body), FORMAT, body)


def read_ledger(data: bytes, *, application: str) -> Ledger:
    """The ledger that `data` holds; raises `ArtefactError`, and nothing else, naming the field."""
    found = _SEALED.fullmatch(data)
    if found is None:
        raise ArtefactError(
            "ledger: is not as this version of toolsurface writes one: damaged, or an earlier version's"
        )
    checksum, said, body = found.groups()
    if said != b"%d" % FORMAT:
        raise _OtherFormatError(
            f"ledger: was written by another version of toolsurface (its format is {int(said)}, read here is {FORMAT})"
        )
    if checksum != _checksum(body):
        raise ArtefactError("ledger: checksum: is not that of the rest; something in it was changed")
    ledger = read_stored(Ledger, body, what="ledger")
    if {ledger.application, *(one.application for one in ledger.releases)} != {application}:
        raise ArtefactError("ledger: application: is another one")
    active = ledger.active
    if (active.id if active else None) != (ledger.activations[-1].release if ledger.activations else None):
        raise ArtefactError("ledger: activations: the last one is not the active release")
    if active is not None and not named_by([active]) <= {(one.surface, one.version) for one in ledger.versions}:
        raise ArtefactError("ledger: versions: one of the active release is missing")
    return ledger


def read_kept_ledger(data: bytes, *, application: str, where: str, remedy: str) -> Ledger:
    """The ledger that stands at `where`; raises `ArtefactError`, which says what mends it: at worst `remedy`."""
    try:
        return read_ledger(data, application=application)
    except _OtherFormatError as error:  # a deployer left behind by an upgrade must not be told to lose its history
        raise ArtefactError(
            f"{where}: {error}; use that version here too, or, where there is none, {remedy} and deploy again"
        ) from None
    except ArtefactError as error:
        raise ArtefactError(f"{where}: {error}; {remedy} and deploy again") from None


class _OtherFormatError(ArtefactError):
    """Sound, as far as can be told, and of a format that is not read here."""


class LastLedger:
    """The ledger that was read or written last, and what its bytes hash to; threads may share it."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: tuple[bytes, Ledger] | None = None

    def of(self, data: bytes, *, application: str, where: str, remedy: str) -> Ledger:
        """What `read_kept_ledger` reads and raises, read where these are other bytes than the last ones."""
        known = self._known
        if known is not None and known[1].application == application and known[0] == sha256(data).digest():
            return known[1]
        ledger = read_kept_ledger(data, application=application, where=where, remedy=remedy)
        self.wrote(ledger, data)
        return ledger

    def wrote(self, ledger: Ledger, data: bytes) -> None:
        """`data` is the sealed ledger."""
        self._known = (sha256(data).digest(), ledger)


class ActiveReleases:
    """Which release is active by a ledger, remembered for the last bytes of each application; threads may share it."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, Release | None]] = {}

    def of(self, application: str, data: bytes, read: Callable[[bytes, str], Ledger]) -> Release | None:
        """`read(data, application).active`, read where these are other bytes than before; raises what it raises."""
        seen, known = sha256(data).digest(), self._known.get(application)
        if known is not None and known[0] == seen:
            return known[1]
        release = read(data, application).active
        self._known[application] = (seen, release)
        return release


def _checksum(body: bytes) -> bytes:
    return sha256(body).hexdigest()[:DIGEST_LENGTH].encode()
