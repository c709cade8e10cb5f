"""Fitting a receipt under its byte ceiling (SRC-4).

Descriptions are cut first, on a character boundary and with an ellipsis; then matches are left out from the lowest
rank up; only then does a selected name go, and never the last one. The registry's limits were checked to hold the
smallest receipt there can be, so something always fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from surface.canonical import canonical_bytes
from surface.receipt import Match, Receipt, ReceiptSigner

ELLIPSIS = "…"


def fitted(
    receipt: Receipt, descriptions: Mapping[str, str], *, max_bytes: int, signer: ReceiptSigner | None, call_id: str
) -> Receipt:
    """The receipt with as much of its matches' descriptions as the ceiling holds, signed where there is a signer."""

    def signed(unsigned: Receipt) -> Receipt:
        return unsigned if signer is None else signer.sign(unsigned, call_id)

    while signed(receipt).size() > max_bytes and len(receipt.selected) > 1:
        receipt = replace(receipt, selected=receipt.selected[:-1], digests=receipt.digests[:-1], truncated=True)
    # Matches add to a JSON list, so sizes add up: measure the receipt once without any.
    # The first one needs no comma.
    left = max_bytes - signed(receipt).size() + 1
    full = [Match(name=name, description=descriptions[name]) for name in receipt.selected]
    cap = _largest_cap(full, left)
    matches = _within(full, cap, left)
    return signed(replace(receipt, matches=tuple(matches), truncated=receipt.truncated or matches != full))


def _largest_cap(full: list[Match], left: int) -> int:
    """The most characters each description may keep so that every match fits; 0 where not all fit without any."""
    low, high = 0, max((len(match.description) for match in full), default=0)
    if sum(map(_cost, full)) <= left:
        return high
    # An ellipsis is longer in bytes than what it stands for at the very end, so the best cap may be missed by one.
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_cost(_cut(match, middle)) for match in full) <= left:
            low = middle
        else:
            high = middle - 1
    return low


def _within(full: list[Match], cap: int, left: int) -> list[Match]:
    matches: list[Match] = []
    for match in full:
        cut = _cut(match, cap)
        left -= _cost(cut)
        if left < 0:
            break
        matches.append(cut)
    return matches


def _cut(match: Match, cap: int) -> Match:
    if len(match.description) <= cap:
        return match
    return replace(match, description=match.description[: max(cap - 1, 0)] + ELLIPSIS if cap else "")


def _cost(match: Match) -> int:
    """Bytes that a match adds to the receipt, its comma included."""
    return len(canonical_bytes({"name": match.name, "description": match.description})) + 1
