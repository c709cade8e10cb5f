"""Valid inputs to start from: receipts of every status, and histories of every dialect that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from surface import Limits, ReceiptSigner, SigningKey, Surface, tool
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.call import CallAnswer, Outcome
from surface.content import Text
from surface.dialect import Dialect
from surface.receipt import NEXT, Match, Provenance, Reason, Receipt, Status
from surface.registry import CheckedSurface, build_registry
from surface.testing import AnthropicVoice, OpenAIChatVoice, OpenAIResponsesVoice, Voice

RUN = "run-1"
SEARCH = "search_tools"
SIGNER = ReceiptSigner([SigningKey(id="2026-01", secret=b"sixteen bytes or more")])
LIMITS = Limits(max_selected_tools=4, max_active_tools=6)
DIALECTS: Mapping[str, tuple[Dialect, Voice]] = {
    "anthropic": (ANTHROPIC_MESSAGES, AnthropicVoice()),
    "openai-chat": (OPENAI_CHAT, OpenAIChatVoice()),
    "openai-responses": (OPENAI_RESPONSES, OpenAIResponsesVoice()),
}
NAMES = ("alpha", "bravo", "charlie", "delta", "always")


def _surface() -> CheckedSurface:
    def does_nothing(note: str = "") -> str:
        """Does nothing at all."""
        return note

    tools = [tool(name=name)(does_nothing) for name in NAMES]
    declared = Surface(key="reader", tools=tools, always_on=["always"])
    return build_registry("fuzz", [declared], limits=LIMITS, search_tool=SEARCH).surface("reader")


SURFACE = _surface()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedCall:
    """One call of a seed history, and the text recorded for it; None: nothing is."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    result: str | None


def receipts() -> list[Receipt]:
    """Valid receipts of this run, unsigned."""
    selecting = _receipt(Status.SELECTED, "alpha", "bravo")
    return [
        selecting,
        replace(selecting, matches=(Match(name="alpha", description="Does nothing… ok 🙂"),), truncated=True),
        _receipt(Status.SELECTED, "charlie", "alpha", "delta", "bravo"),
        _receipt(Status.SEARCH_REQUIRED, "delta"),
        replace(_receipt(Status.NO_MATCH), reason=Reason.ABSTAINED),
        replace(_receipt(Status.SELECTION_REFUSED), reason=Reason.CEILINGS),
    ]


def texts() -> list[str]:
    """The texts of valid receipts, signed and not."""
    return [text for receipt in receipts() for text in (receipt.to_json(), SIGNER.sign(receipt, "call-1").to_json())]


def histories(target: str) -> list[list[Any]]:
    """Valid messages of one dialect, from one step to many, signed and not."""
    return [
        _written(target, steps, signed=signed)
        for signed in (False, True)
        for steps in (_STEPS[:1], _STEPS[1:3], _STEPS, _STEPS * 3)
    ]


def _receipt(status: Status, *names: str) -> Receipt:
    return Receipt(
        status=status,
        run_id=RUN,
        surface=SURFACE.key,
        provenance=Provenance(ranker="lexical", index_version="v1:2", degraded="stale_index"),
        next=NEXT[status],
        selected=names,
        digests=tuple(SURFACE.catalog.tools[name].digest for name in names),
    )


_Planned = tuple[str, Mapping[str, Any], Receipt | str | None]
_SELECTS, _SHOWS, _SELECTS_MORE, _REQUIRES, _NO_MATCH, _REFUSED = receipts()
_STEPS: list[list[_Planned]] = [
    [(SEARCH, {"query": "first"}, _SELECTS)],
    [(SEARCH, {"query": "second"}, _SELECTS_MORE), (SEARCH, {"query": "third"}, _SHOWS), ("alpha", {}, "done")],
    [("delta", {"note": "x"}, _REQUIRES), (SEARCH, {"query": "nothing"}, _NO_MATCH)],
    [],
    [("bravo", {"note": {"deep": [1, 2.5, None, True]}}, "[1, 2]"), (SEARCH, {}, '{"error":{"code":"X"}}')],
    [(SEARCH, {"query": "too much"}, _REFUSED), ("nobody", {}, None)],
]


def _written(target: str, steps: list[list[_Planned]], *, signed: bool) -> list[Any]:
    dialect, voice = DIALECTS[target]
    messages = voice.asks("Do something useful.")
    for number, step in enumerate(steps):
        calls = [_call(f"call-{number}-{at}", planned, signed=signed) for at, planned in enumerate(step)]
        if not calls:
            messages += voice.says("Let me think.") + voice.asks("Well?")
            continue
        messages += voice.calls([(call.id, call.name, call.arguments) for call in calls])
        messages += dialect.answer(
            [
                CallAnswer(call_id=call.id, tool=call.name, parts=(Text(text=call.result),), outcome=Outcome.OK)
                for call in calls
                if call.result is not None
            ]
        )
    return messages


def _call(call_id: str, planned: _Planned, *, signed: bool) -> SeedCall:
    name, arguments, result = planned
    if isinstance(result, Receipt):
        result = (SIGNER.sign(result, call_id) if signed else result).to_json()
    return SeedCall(id=call_id, name=name, arguments=arguments, result=result)
