"""The receipt: what a search selected, for which run and which surface. Version 1.

A receipt is an ordinary tool result, and the only activation state there is. This file mints, parses, signs and
verifies it; whether a receipt counts where it stands is decided in `surface.activation`.

- Parsing is strict and total: any text gives a `Receipt` or `Rejection.MALFORMED`, never another exception (RCP-2).
- The text of a receipt is its canonical JSON, so a valid one survives a round trip byte for byte (RCP-6).
- A signature is HMAC-SHA-256 over the canonical JSON of all other fields and the provider's call id (RCP-5).
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, StringConstraints, ValidationError

from surface.canonical import canonical_json
from surface.errors import ConfigurationError
from surface.identity import require_key
from surface.protocol import MAX_LIMIT, Code, Digest, Key

KIND: Literal["toolsurface.receipt"] = "toolsurface.receipt"
MAX_RECEIPT_CHARACTERS = 262_144
"""A longer text is no receipt, whatever it holds: parsing stays bounded."""
_REMEMBERED_CHARACTERS = 16_384
_REMEMBERED_RECEIPTS = 512


class Status(StrEnum):
    """What came of a search (SRC-6)."""

    SELECTED = "SELECTED"
    SEARCH_REQUIRED = "SEARCH_REQUIRED"
    NO_MATCH = "NO_MATCH"
    SELECTION_REFUSED = "SELECTION_REFUSED"


class Reason(StrEnum):
    """Why nothing was selected."""

    ABSTAINED = "abstained"
    """The ranker holds that nothing in this catalog fits."""
    CEILINGS = "ceilings"
    """Tools fit the query, but none fits what is left under the ceilings."""
    QUERY_TOO_LONG = "query_too_long"
    SEARCH_BUDGET = "search_budget"
    NARROWED = "narrowed"
    """The application's own prepare-step does not let this tool through."""


class Rejection(StrEnum):
    """Why a receipt does not count (ACT-4)."""

    MALFORMED = "malformed"
    MISPLACED = "misplaced"
    FORGED = "forged"
    FOREIGN_RUN = "foreign_run"
    FOREIGN_SURFACE = "foreign_surface"
    STALE = "stale"


NEXT: dict[Status, str] = {
    Status.SELECTED: "These tools are active from your next step on: call them directly by name.",
    Status.SEARCH_REQUIRED: "This tool was not active and did not run. It is active from now on: call it again.",
    Status.NO_MATCH: "Nothing in this catalog fits. Rephrase once in other words, or go on without a tool.",
    Status.SELECTION_REFUSED: "Nothing was selected, the reason says why; what was active still is. Go on with that.",
}
"""What the model should do, one fixed sentence per status (SRC-10). An older release's sentence stays readable."""

_SELECTS = (Status.SELECTED, Status.SEARCH_REQUIRED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One selected tool as the model reads of it; never a schema."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a selection came from."""

    ranker: str
    index_version: str | None = None
    degraded: str | None = None
    """A code that says why the ranking is weaker than usual, where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Which key signed, and the MAC as 64 hexadecimal digits."""

    key_id: str
    mac: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The versioned, self-contained result of a search (RCP-1)."""

    status: Status
    run_id: str
    surface: str
    provenance: Provenance
    next: str
    """What the model should do now; `NEXT` of the status when this release mints it."""
    selected: tuple[str, ...] = ()
    """Exact names, in rank order."""
    digests: tuple[str, ...] = ()
    """The digest of each selected tool, in the same order."""
    matches: tuple[Match, ...] = ()
    truncated: bool = False
    """A description was cut, or a match left out, to keep under the byte ceiling."""
    reason: Reason | None = None
    """For NO_MATCH and SELECTION_REFUSED."""
    signature: Signature | None = None

    def to_dict(self) -> dict[str, Any]:
        """The receipt as a JSON object."""
        fields: dict[str, Any] = {
            "kind": KIND,
            "version": 1,
            "status": str(self.status),
            "run_id": self.run_id,
            "surface": self.surface,
            "selected": list(self.selected),
            "digests": list(self.digests),
            "matches": [{"name": match.name, "description": match.description} for match in self.matches],
            "truncated": self.truncated,
            "next": self.next,
            "provenance": {
                "ranker": self.provenance.ranker,
                "index_version": self.provenance.index_version,
                "degraded": self.provenance.degraded,
            },
        }
        if self.reason is not None:
            fields["reason"] = str(self.reason)
        if self.signature is not None:
            fields["signature"] = {"key_id": self.signature.key_id, "mac": self.signature.mac}
        return fields

    def to_json(self) -> str:
        """The receipt's one text: canonical JSON."""
        return canonical_json(self.to_dict())

    def projection(self) -> dict[str, Any]:
        """What a model reads of it where the receipt itself is in the hidden part of a record (RCP-7)."""
        reason = {} if self.reason is None else {"reason": str(self.reason)}
        matches = [{"name": match.name, "description": match.description} for match in self.matches]
        return {"status": str(self.status), **reason, "matches": matches, "next": self.next}

    def size(self) -> int:
        """UTF-8 bytes of `to_json`."""
        return len(self.to_json().encode("utf-8"))


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


_Item = TypeVar("_Item")
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]


# No search asks for more names than MAX_LIMIT; a longer or wrong list costs no more than its beginning.
_Bounded = Annotated[list[_Item], Field(max_length=MAX_LIMIT), FailFast()]


class _MatchForm(_Strict):
    name: _Name
    description: str


class _ProvenanceForm(_Strict):
    ranker: Key
    index_version: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")] | None
    degraded: Code | None


class _SignatureForm(_Strict):
    key_id: Key
    mac: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _ReceiptForm(_Strict):
    """The wire form of version 1; what `parse_receipt` holds a text against."""

    kind: Literal["toolsurface.receipt"]
    version: Literal[1]
    status: Literal["SELECTED", "SEARCH_REQUIRED", "NO_MATCH", "SELECTION_REFUSED"]
    run_id: Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]{1,256}$")]
    surface: Key
    selected: _Bounded[_Name]
    digests: _Bounded[Digest]
    matches: _Bounded[_MatchForm]
    truncated: bool
    next: Annotated[str, StringConstraints(max_length=512)]
    provenance: _ProvenanceForm
    reason: Literal["abstained", "ceilings", "query_too_long", "search_budget", "narrowed"] | None = None
    signature: _SignatureForm | None = None


def parse_receipt(text: str) -> Receipt | Rejection:
    """The receipt that a text holds, or `Rejection.MALFORMED`. Never raises.

    What the same text gave a moment ago is not worked out again: each step reads the whole history anew (ACT-1).
    """
    if len(text) > MAX_RECEIPT_CHARACTERS:
        return Rejection.MALFORMED
    try:
        return _parsed(text) if len(text) > _REMEMBERED_CHARACTERS else _remembered(text)
    except (ValidationError, ValueError, TypeError, RecursionError):
        return Rejection.MALFORMED


def _parsed(text: str) -> Receipt:
    """The receipt of a text, or an error: only receipts are remembered, never what else a tool has answered."""
    receipt = _from_form(_ReceiptForm.model_validate(json.loads(text)))
    again = receipt.to_json()
    # Nearly every receipt is in canonical form, which leaves nothing open. Another form may hide a repeated key, a
    # null for what is left out, or what is only equal (true for 1, 1.0 for 1): its own canonical text decides.
    if text != again and canonical_json(json.loads(text, object_pairs_hook=_without_repeated_keys)) != again:
        raise ValueError("not the canonical value")
    if not _consistent(receipt):
        raise ValueError("contradicts itself")
    again.encode("utf-8")  # a lone surrogate is no text
    return receipt


_remembered = lru_cache(maxsize=_REMEMBERED_RECEIPTS)(_parsed)


def _from_form(form: _ReceiptForm) -> Receipt:
    return Receipt(
        status=Status(form.status),
        run_id=form.run_id,
        surface=form.surface,
        selected=tuple(form.selected),
        digests=tuple(form.digests),
        matches=tuple(Match(name=match.name, description=match.description) for match in form.matches),
        truncated=form.truncated,
        next=form.next,
        reason=None if form.reason is None else Reason(form.reason),
        provenance=Provenance(
            ranker=form.provenance.ranker,
            index_version=form.provenance.index_version,
            degraded=form.provenance.degraded,
        ),
        signature=None if form.signature is None else Signature(key_id=form.signature.key_id, mac=form.signature.mac),
    )


def _consistent(receipt: Receipt) -> bool:
    """Whether status, selection, digests, matches and reason agree with each other (RCP-2, SRC-6)."""
    selects = receipt.status in _SELECTS
    return (
        bool(receipt.selected) == selects
        and (receipt.reason is None) == selects
        and (receipt.status is not Status.SEARCH_REQUIRED or len(receipt.selected) == 1)
        and len(receipt.digests) == len(receipt.selected)
        and len(set(receipt.selected)) == len(receipt.selected)
        and [match.name for match in receipt.matches] == list(receipt.selected[: len(receipt.matches)])
    )


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """One secret with the id that receipts name it by."""

    id: str
    secret: bytes

    def __post_init__(self) -> None:
        require_key("signing key id", self.id)
        secret: object = self.secret
        if not isinstance(secret, bytes) or len(secret) < 16:
            raise ConfigurationError(
                f"signing key {self.id}: the secret needs at least 16 bytes (32 random ones are better), not text"
            )

    def __repr__(self) -> str:
        return f"SigningKey(id={self.id!r})"


class ReceiptSigner:
    """Signs with the first key and accepts any of them, so keys rotate without losing a run."""

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        given: object = keys
        if not isinstance(given, Sequence) or not all(isinstance(key, SigningKey) for key in given):
            raise ConfigurationError('signer: needs a list of keys: [SigningKey(id="…", secret=b"…")]')
        if not keys or len({key.id for key in keys}) != len(keys):
            raise ConfigurationError("signer: needs at least one key, and no key id twice")
        self._keys = tuple(keys)

    def sign(self, receipt: Receipt, call_id: str) -> Receipt:
        """The receipt with its signature for the call it answers."""
        key = self._keys[0]
        return replace(receipt, signature=Signature(key_id=key.id, mac=_mac(key, receipt, call_id)))

    def verify(self, receipt: Receipt, call_id: str) -> bool:
        """Whether one of the keys signed this receipt for this call; the same work whichever key is named."""
        signature = receipt.signature or Signature(key_id="", mac="0" * 64)
        genuine = False
        for key in self._keys:
            matches = hmac.compare_digest(_mac(key, receipt, call_id), signature.mac)
            genuine |= matches and key.id == signature.key_id
        return genuine and receipt.signature is not None


def _mac(key: SigningKey, receipt: Receipt, call_id: str) -> str:
    signed = {"call_id": call_id, "key_id": key.id, "receipt": replace(receipt, signature=None).to_dict()}
    # A call id is a provider's text and may be no Unicode; it has a MAC all the same.
    return hmac.new(key.secret, canonical_json(signed).encode("utf-8", "surrogatepass"), sha256).hexdigest()


def smallest_receipt_bytes(*, signed: bool) -> int:
    """What the smallest receipt may weigh at the longest run id, surface key, tool name and codes (SRC-4)."""
    signature = Signature(key_id="k" * 64, mac="0" * 64) if signed else None
    return max(
        Receipt(
            status=status,
            # A double quote is printable ASCII and doubles in JSON.
            run_id='"' * 256,
            surface="s" * 64,
            selected=("n" * 128,) if status in _SELECTS else (),
            digests=("0" * 32,) if status in _SELECTS else (),
            reason=None if status in _SELECTS else max(Reason, key=len),
            provenance=Provenance(ranker="r" * 64, index_version="v" * 128, degraded="c" * 64),
            truncated=False,
            next=NEXT[status],
            signature=signature,
        ).size()
        for status in Status
    )
