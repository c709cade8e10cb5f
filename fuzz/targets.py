"""What is fuzzed: for each target, how an input is made, what reads it, and what must be true of what comes out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fuzz import seeds
from fuzz.mutations import mutated, mutated_text
from surface.activation import Activation, activate
from surface.dialect import Dialect
from surface.errors import TranscriptError
from surface.receipt import ReceiptSigner, Rejection, parse_receipt
from surface.transcript import Transcript


class WrongValueError(Exception):
    """A value came out that breaks a promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing that reads from outside."""

    name: str
    seeds: Sequence[Any]
    mutate: Callable[[Any, random.Random], Any]
    check: Callable[[Any], str]
    """Reads an input and says in a word what came of it; raises where that is not allowed."""

    def input(self, seed: int, number: int) -> Any:
        """The input of a number; the same for the same seed, whatever ran before."""
        dice = random.Random(f"{seed}/{self.name}/{number}")  # noqa: S311 - it has to come out the same again
        return self.mutate(dice.choice(self.seeds), dice)


def check_receipt(text: Any) -> str:
    """Any text is a receipt or malformed; a receipt survives a round trip and has a signature or has not."""
    parsed = parse_receipt(text)
    if isinstance(parsed, Rejection):
        return str(parsed)
    again = parse_receipt(parsed.to_json())
    _require(again == parsed, "a receipt does not survive a round trip")
    _require(len(parsed.to_json().encode("utf-8")) == parsed.size(), "a receipt cannot be written as UTF-8")
    return f"receipt {'genuine' if seeds.SIGNER.verify(parsed, 'call-1') else 'unsigned'}"


def check_messages(dialect: Dialect, messages: Any) -> str:
    """Any messages are a transcript or one error, and every transcript has an activation that keeps the rules."""
    try:
        transcript = dialect.read(messages)
    except TranscriptError as error:
        _require(len(str(error)) < 1_000, "an error shows what it read")
        return "refused"
    trusting = _activated(transcript, None)
    careful = _activated(transcript, seeds.SIGNER)
    for step in transcript.steps:
        _require(all(call.id for call in step.calls), "a call without an id")
    word = "selects" if trusting.selected else "base"
    return f"{word}{', signed' if careful.selected else ''}"


def _activated(transcript: Transcript, signer: ReceiptSigner | None) -> Activation:
    made = activate(
        transcript, run_id=seeds.RUN, surface=seeds.SURFACE, pins=["charlie"], limits=seeds.LIMITS, signer=signer
    )
    _require(set(made.names) <= {seeds.SEARCH, *seeds.NAMES}, "a name outside the surface is active")
    _require(made.names[:2] == (seeds.SEARCH, "always"), "the base is no prefix")
    _require(len(made.names) <= seeds.LIMITS.max_active_tools, "too many tools are active")
    _require(len(made.selected) <= seeds.LIMITS.max_selected_tools, "too many tools are selected")
    return made


def _require(holds: bool, promise: str) -> None:  # noqa: FBT001 - reads like an assertion
    if not holds:
        raise WrongValueError(promise)


TARGETS: Mapping[str, Target] = {
    "receipt": Target(name="receipt", seeds=seeds.texts(), mutate=mutated_text, check=check_receipt),
    **{
        name: Target(name=name, seeds=seeds.histories(name), mutate=mutated, check=partial(check_messages, dialect))
        for name, (dialect, _) in seeds.DIALECTS.items()
    },
}
