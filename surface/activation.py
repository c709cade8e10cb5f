"""Activation: which tools a step advertises, as a pure function of the transcript. Every rule of it stands here.

    activate(transcript, run_id, surface, pins, limits, signer) -> Activation

No cache, set or checkpoint stands beside the transcript (ACT-1): two processes given the same arguments agree, a
restart restores the same activation, and another run id gets the base set (ACT-5).

- The latest step with a valid SELECTED receipt replaces what earlier steps selected (ACT-2).
- A valid SEARCH_REQUIRED of the same or a later step puts its tool before the selection in force (ACT-2).
- Parallel searches of one step merge in call order; when they do not all fit, best choices come first (ACT-3).
- What is malformed, forged, misplaced, stale or foreign changes nothing and is counted by reason (ACT-4).
- Active = search tool, always-on, selection, pins; a selection that no longer fits loses its lowest ranks (ACT-6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, zip_longest
from types import MappingProxyType

from surface.catalog_rules import shown
from surface.errors import PinsRefusedError
from surface.limits import Limits, Room, admit, longest_prefix, room_beside
from surface.receipt import KIND, Receipt, ReceiptSigner, Rejection, Status, parse_receipt
from surface.registry import CheckedSurface
from surface.transcript import Call, Result, Step, Transcript


class SelectionSource(StrEnum):
    """Where the selection in force comes from."""

    NONE = "none"
    CURRENT = "current"
    """From the step just answered."""
    DURABLE = "durable"
    """Rebuilt from an earlier step of the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """The tools of one step, each with its provenance."""

    base: tuple[str, ...]
    """The search tool, then the always-on tools."""
    selected: tuple[str, ...]
    """The selection in force, best rank first; may name tools of the base or the pins."""
    pins: tuple[str, ...]
    evicted: tuple[str, ...]
    """Selected tools that do not fit beside base and pins in this step."""
    source: SelectionSource
    ignored: Mapping[Rejection, int]
    """Receipts that changed nothing, by reason."""
    searches: int
    """Searches of this run that the transcript still shows."""
    schema_bytes: int
    """Canonical schema bytes of all active tools together."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every active name, in the order advertised."""
        return tuple(dict.fromkeys((*self.base, *self.selected, *self.pins)))


def activate(
    transcript: Transcript,
    *,
    run_id: str,
    surface: CheckedSurface,
    pins: Sequence[str],
    limits: Limits,
    signer: ReceiptSigner | None,
) -> Activation:
    """The activation of the step that follows this transcript.

    Raises PinsRefusedError where the pins are unknown, repeated, or do not fit a ceiling.
    """
    present = checked_presence(surface, pins, limits)
    room = room_beside(limits, present)
    found = [_read_step(step, run_id, surface, signer) for step in transcript.steps]
    selection, starved = _in_force(found, surface, room)
    fitting = longest_prefix(selection, _weights(selection, surface), room)
    return Activation(
        base=surface.base,
        selected=fitting.admitted,
        pins=tuple(pins),
        evicted=tuple(name for name in (*fitting.skipped, *starved) if name not in fitting.admitted),
        source=_source(found),
        ignored=MappingProxyType(dict(sum((step.ignored for step in found if step.ignored), Counter()))),
        searches=sum(step.searches for step in found),
        schema_bytes=sum({**present, **_weights(fitting.admitted, surface)}.values()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepReceipts:
    """What the receipts of one step say."""

    choices: tuple[tuple[str, ...], ...] = ()
    """The selection of each search, in call order."""
    required: tuple[str, ...] = ()
    """The tools of repaired calls, in call order."""
    ignored: Counter[Rejection] = field(default_factory=Counter)
    searches: int = 0


_NOTHING = _StepReceipts()


def _read_step(step: Step, run_id: str, surface: CheckedSurface, signer: ReceiptSigner | None) -> _StepReceipts:
    judged = [
        (call, receipt)
        for call in step.calls
        if (receipt := _receipt_of(call, step.results.get(call.id), run_id, surface, signer)) is not None
    ]
    if not judged:
        return _NOTHING
    valid = [receipt for _, receipt in judged if isinstance(receipt, Receipt)]
    return _StepReceipts(
        choices=tuple(receipt.selected for receipt in valid if receipt.status is Status.SELECTED),
        required=tuple(receipt.selected[0] for receipt in valid if receipt.status is Status.SEARCH_REQUIRED),
        ignored=Counter(receipt for _, receipt in judged if isinstance(receipt, Rejection)),
        # A search whose receipt went stale was made all the same.
        searches=sum(
            call.name == surface.search.name and (isinstance(receipt, Receipt) or receipt is Rejection.STALE)
            for call, receipt in judged
        ),
    )


def _in_force(
    found: Sequence[_StepReceipts], surface: CheckedSurface, room: Room
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The selection in force, and what of parallel searches did not fit beside the rest."""
    selection: tuple[str, ...] = ()
    starved: tuple[str, ...] = ()
    decides = max((at for at, step in enumerate(found) if step.choices), default=0)
    for step in found[decides:]:
        if step.choices:
            selection, starved = _merge(step.choices, surface, room)
        for name in step.required:
            selection = (name, *(other for other in selection if other != name))
    return selection, starved


def _merge(
    choices: Sequence[tuple[str, ...]], surface: CheckedSurface, room: Room
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """ACT-3: in call order where all fit; else the first choice of each call, then the second …, as far as they fit."""
    in_call_order = tuple(dict.fromkeys(chain.from_iterable(choices)))
    weights = _weights(in_call_order, surface)
    if len(choices) == 1 or not admit(in_call_order, weights, room).skipped:
        return in_call_order, ()
    rounds = chain.from_iterable(zip_longest(*choices))
    fair = admit(dict.fromkeys(name for name in rounds if name is not None), weights, room)
    return fair.admitted, fair.skipped


def _weights(names: Iterable[str], surface: CheckedSurface) -> dict[str, int]:
    return {name: surface.weight(name) for name in names}


def _source(found: Sequence[_StepReceipts]) -> SelectionSource:
    selecting = [at for at, step in enumerate(found) if step.choices or step.required]
    if not selecting:
        return SelectionSource.NONE
    return SelectionSource.CURRENT if selecting[-1] == len(found) - 1 else SelectionSource.DURABLE


def checked_presence(surface: CheckedSurface, pins: Sequence[str], limits: Limits) -> dict[str, int]:
    """The base and the pins with their schema bytes; raises PinsRefusedError naming what is wrong (ACT-6)."""
    repeated = [name for name, count in Counter(pins).items() if count > 1]
    unknown = [name for name in pins if name not in surface.catalog]
    if repeated or unknown:
        wrong = [f"{shown(name)} is repeated" for name in repeated]
        wrong += [f"{shown(name)} is no tool of surface {surface.key}" for name in unknown]
        raise PinsRefusedError(f"pins: {'; '.join(wrong)}")
    present = {name: surface.weight(name) for name in (*surface.base, *pins)}
    if len(present) > limits.max_active_tools:
        raise PinsRefusedError(
            f"pins: {len(present)} tools with the base, over limits.max_active_tools = {limits.max_active_tools}"
        )
    schema_bytes = sum(present.values())
    if schema_bytes > limits.max_schema_bytes:
        raise PinsRefusedError(
            f"pins: {schema_bytes} schema bytes with the base, over limits.max_schema_bytes = {limits.max_schema_bytes}"
        )
    return present


def _receipt_of(
    call: Call,
    result: Result | None,
    run_id: str,
    surface: CheckedSurface,
    signer: ReceiptSigner | None,
) -> Receipt | Rejection | None:
    """The valid receipt in a result, the reason it does not count, or None where there is no receipt at all."""
    if result is None:
        return None
    text = result.text or ""
    owes_receipt = call.name == surface.search.name and not result.failed
    if not owes_receipt and KIND not in text:
        return None
    receipt = parse_receipt(text)
    if isinstance(receipt, Rejection):
        return receipt
    if not _is_in_place(receipt, call, surface):
        return Rejection.MISPLACED
    if signer is not None and not signer.verify(receipt, call.id):
        return Rejection.FORGED
    if receipt.run_id != run_id:
        return Rejection.FOREIGN_RUN
    if receipt.surface != surface.key:
        return Rejection.FOREIGN_SURFACE
    for name, digest in zip(receipt.selected, receipt.digests, strict=True):
        mounted = surface.catalog.tools.get(name)
        if mounted is None or mounted.digest != digest:
            return Rejection.STALE
    return receipt


def _is_in_place(receipt: Receipt, call: Call, surface: CheckedSurface) -> bool:
    """RCP-3: what a search selected stands in a search's result; a repair in the result of the call it names."""
    if call.name == surface.search.name:
        return receipt.status is not Status.SEARCH_REQUIRED
    if receipt.status is Status.SEARCH_REQUIRED:
        return receipt.selected == (call.name,)
    return receipt.status is Status.SELECTION_REFUSED
