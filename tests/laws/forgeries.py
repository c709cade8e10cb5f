"""Receipts that a run did not earn, written together with what the model must think of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from surface.receipt import NEXT, Provenance, Receipt, ReceiptSigner, SigningKey, Status
from surface.registry import CheckedSurface
from tests.laws.model import SEARCH, Paper, World
from tests.surface.shop import SIGNER

IMPOSTOR = ReceiptSigner([SigningKey(id="2026-01", secret=b"another secret with that id")])


class Forgery(StrEnum):
    """What is wrong with an injected receipt."""

    NOTHING = "nothing"
    OTHER_RUN = "other run"
    OTHER_SURFACE = "other surface"
    OTHER_CALL = "other call"
    OTHER_KEY = "other key"
    TAMPERED = "tampered"
    UNSIGNED = "unsigned"
    STALE = "stale"
    GONE = "gone"
    MALFORMED = "malformed"
    MISPLACED = "misplaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """The text of a result, and what it is."""

    text: str
    paper: Paper


def inject(
    forgery: Forgery,
    names: tuple[str, ...],
    status: Status,
    *,
    call_id: str,
    world: World,
    surface: CheckedSurface,
    bend: int,
) -> Injected:
    """A receipt for these names of the surface's catalog, wrong in one way."""
    versions = {name: tool.version for name, tool in world.tools.items()}
    digests = {name: surface.catalog.tools[name].digest for name in names}
    run, key, signed_for = world.run, world.surface, call_id
    match forgery:
        case Forgery.OTHER_RUN:
            run = "run-of-someone-else"
        case Forgery.OTHER_SURFACE:
            key = "elsewhere"
        case Forgery.OTHER_CALL:
            signed_for = f"{call_id}-of-another-step"
        case Forgery.STALE:
            versions, digests = versions | {names[-1]: -1}, digests | {names[-1]: "0" * 32}
        case Forgery.GONE:
            names = (*names[:-1], "gone")
            versions, digests = versions | {"gone": -1}, digests | {"gone": "0" * 32}
        case _:
            pass
    receipt = Receipt(
        status=status,
        run_id=run,
        surface=key,
        provenance=Provenance(ranker="obedient"),
        next=NEXT[status],
        selected=names,
        digests=tuple(digests[name] for name in names),
    )
    signer = IMPOSTOR if forgery is Forgery.OTHER_KEY else SIGNER
    if forgery is not Forgery.UNSIGNED:
        receipt = signer.sign(receipt, signed_for)
    if forgery is Forgery.TAMPERED:
        # Another field than the names, so that the receipt stays where it belongs.
        receipt = replace(receipt, truncated=True)
    paper = Paper(
        status=status,
        run=run,
        surface=key,
        names=names,
        versions=tuple(versions[name] for name in names),
        signed_for=None if forgery in (Forgery.OTHER_KEY, Forgery.TAMPERED, Forgery.UNSIGNED) else signed_for,
        legible=forgery is not Forgery.MALFORMED,
    )
    text = receipt.to_json() if paper.legible else _BENDS[bend % len(_BENDS)](receipt.to_dict())
    return Injected(text=text, paper=paper)


_BENDS: tuple[Callable[[Mapping[str, Any]], str], ...] = (
    lambda fields: json.dumps(fields)[:-1],
    lambda fields: json.dumps({**fields, "version": 2}),
    lambda fields: json.dumps({**fields, "version": True}),
    lambda fields: json.dumps({**fields, "note": "one field more"}),
    lambda fields: json.dumps({**fields, "digests": []}),
    lambda fields: json.dumps({**fields, "reason": None}),
    lambda fields: json.dumps({**fields, "status": "NO_MATCH"}),
    lambda fields: json.dumps({**fields, "selected": [*fields["selected"], *fields["selected"]]}),
    lambda fields: json.dumps([fields]),
    lambda fields: f"{json.dumps(fields)[:-1]},{json.dumps('version')}:1}}",
)
"""Ways to make a receipt illegible; its kind still stands in it."""


def carried(forgery: Forgery, carrier: str, names: tuple[str, ...], world: World) -> tuple[Status, tuple[str, ...]]:
    """What a receipt in the result of a call of this tool says and selects; where it is misplaced, what it may not."""
    searched = carrier == SEARCH
    if searched != (forgery is Forgery.MISPLACED):
        return Status.SELECTED, names
    itself = carrier in world.tools and forgery is not Forgery.MISPLACED
    return Status.SEARCH_REQUIRED, (carrier,) if itself else names[:1]
