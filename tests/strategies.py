"""Every Hypothesis strategy of the tests: names, texts, schemas, tools, receipts, hostile texts, histories.

A history is drawn together with what each of its calls must mean, so that a reference implementation can say what
follows from it without reading a receipt.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from surface.limits import Limits
from surface.receipt import KIND, Match, Provenance, Reason, Receipt, ReceiptSigner, Rejection, SigningKey, Status
from surface.registry import CheckedSurface
from surface.tool import Service, Tool
from surface.transcript import Transcript
from tests.surface.shop import (
    RUN,
    SEARCH,
    SIGNER,
    Answered,
    called,
    empty,
    make_tool,
    requiring,
    selecting,
    step,
)

LAW = settings(max_examples=50)
"""How often a law is tried: enough for each broken rule to be found, on a busy machine too."""

_NAME_CHARACTERS = string.ascii_letters + string.digits + "_.-"

_PRINTABLE = [chr(code) for code in range(0x20, 0x7F)]


def _sized(characters: Sequence[str], longest: int) -> st.SearchStrategy[str]:
    """Short texts of these characters, and now and then the longest there may be."""
    return st.text(characters, min_size=1, max_size=12) | st.sampled_from(characters).map(lambda one: one * longest)


tool_names = _sized(_NAME_CHARACTERS, 128)
keys = _sized(_NAME_CHARACTERS, 64)
run_ids = _sized(_PRINTABLE, 256)
texts = st.text(st.characters(codec="utf-8"), max_size=60)
"""Any text that can be written as UTF-8."""
any_texts = st.text(max_size=60) | st.text(st.characters(categories=["Cs", "Cc", "Lo"]), max_size=20)
"""Any Python string at all, lone surrogates included."""
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)

# Tools

_types = st.sampled_from([{"type": "string"}, {"type": "integer"}, {"enum": ["a", "b"]}, {"$ref": "#/$defs/Part"}])
schemas = st.builds(
    lambda properties, description: {"type": "object", "properties": properties, "description": description},
    st.dictionaries(st.text(_NAME_CHARACTERS, min_size=1, max_size=12), _types, max_size=4),
    texts,
)
tools: st.SearchStrategy[Tool] = st.builds(
    make_tool, tool_names, texts, schemas, service=st.none() | st.text(_NAME_CHARACTERS, min_size=1, max_size=20)
)
tool_sets = st.lists(tools, max_size=8, unique_by=lambda tool: tool.name)


@st.composite
def shuffled_tool_sets(draw: st.DrawFn) -> tuple[list[Tool | Service], list[Tool | Service]]:
    """One tool set with a service in it, in two orders."""
    given_tools: list[Tool | Service] = list(draw(tool_sets.filter(lambda made: all("/" not in t.name for t in made))))
    operations = draw(st.lists(tools, max_size=4, unique_by=lambda tool: tool.name))
    taken = {tool.name for tool in given_tools if isinstance(tool, Tool)}
    fitting = [tool for tool in operations if len(tool.name) < 100 and f"shop_{tool.name}" not in taken]
    given_tools.append(Service(name="shop", tools=fitting))
    return given_tools, draw(st.permutations(given_tools))


# Receipts

_codes = st.text(string.ascii_lowercase + string.digits + "_", min_size=1, max_size=64)
_digests = st.text("0123456789abcdef", min_size=32, max_size=32)
_provenances = st.builds(
    Provenance,
    ranker=keys,
    index_version=st.none() | st.text(_NAME_CHARACTERS + ":", min_size=1, max_size=128),
    degraded=st.none() | _codes,
)


@st.composite
def receipts(draw: st.DrawFn) -> Receipt:
    """Any valid receipt without a signature."""
    status = draw(st.sampled_from(Status))
    selects = status in (Status.SELECTED, Status.SEARCH_REQUIRED)
    most = 1 if status is Status.SEARCH_REQUIRED else 8
    selected = draw(st.lists(tool_names, min_size=1, max_size=most, unique=True)) if selects else []
    shown = draw(st.integers(0, len(selected)))
    return Receipt(
        status=status,
        run_id=draw(run_ids),
        surface=draw(keys),
        provenance=draw(_provenances),
        next=draw(texts),
        selected=tuple(selected),
        digests=tuple(draw(st.lists(_digests, min_size=len(selected), max_size=len(selected)))),
        matches=tuple(Match(name=name, description=draw(texts)) for name in selected[:shown]),
        truncated=draw(st.booleans()),
        reason=None if selects else draw(st.sampled_from(Reason)),
    )


call_ids = _sized(_PRINTABLE, 64)


# Hostile texts

_BOMBS = [
    "",
    "null",
    "NaN",
    "1" * 5000,
    "-" + "9" * 5000,
    "[" * 100_000,
    '{"a":' * 100_000,
    '"\\ud800"',
    "\ud800",
    "\ufeff{}",
    "{}" + "\x00",
    f'{{"kind":"{KIND}"}}',
    " " * 300_000,
]


@st.composite
def bent_receipts(draw: st.DrawFn) -> str:
    """The text of a valid receipt with one thing changed: mostly malformed, sometimes still a receipt."""
    fields = draw(receipts()).to_dict()
    field = draw(st.sampled_from(sorted(fields)))
    match draw(st.sampled_from(["drop", "replace", "add", "repeat", "cut", "insert", "nan"])):
        case "drop":
            del fields[field]
        case "replace":
            fields[field] = draw(json_values | st.sampled_from([True, 1.0, None, [], {}, "", 10**400]))
        case "add":
            fields[draw(texts)] = draw(json_values)
        case "nan":
            fields[field] = float(draw(st.sampled_from(["nan", "inf", "-inf"])))
        case "repeat":
            whole = json.dumps(fields)
            return f"{whole[:-1]},{json.dumps(field)}:{json.dumps(fields[field])}}}"
        case "cut":
            whole = json.dumps(fields)
            return whole[: draw(st.integers(0, len(whole)))]
        case _:
            whole = json.dumps(fields, ensure_ascii=False)
            at = draw(st.integers(0, len(whole)))
            return whole[:at] + draw(any_texts) + whole[at:]
    return json.dumps(fields)


hostile_texts = (
    any_texts
    | st.binary(max_size=200).map(lambda junk: junk.decode("latin-1"))
    | st.sampled_from(_BOMBS)
    | json_values.map(json.dumps)
    | bent_receipts()
)
"""Whatever may stand where a receipt should."""


# Histories

OTHER_KEY = SigningKey(id="2026-01", secret=b"another secret with that id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One call of a history, and what it must mean for run `RUN`."""

    answered: Answered
    selects: tuple[str, ...] = ()
    requires: str | None = None
    searches: bool = False
    ignored: Rejection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a run went through."""

    steps: tuple[tuple[Told, ...], ...]

    @property
    def transcript(self) -> Transcript:
        return Transcript(steps=tuple(step(*(told.answered for told in calls)) for calls in self.steps))


@st.composite
def histories(
    draw: st.DrawFn, surface: CheckedSurface, *, signer: ReceiptSigner | None = None, max_steps: int = 5
) -> History:
    """A history on a surface: searches, repairs, ordinary calls, and every receipt that must not count."""
    steps = draw(st.lists(st.integers(0, 4), max_size=max_steps))
    return History(
        steps=tuple(
            tuple(draw(told_calls(surface, call_id=f"call-{number}-{at}", signer=signer)) for at in range(calls))
            for number, calls in enumerate(steps)
        )
    )


def told_calls(surface: CheckedSurface, *, call_id: str, signer: ReceiptSigner | None) -> st.SearchStrategy[Told]:
    """One call with its result and its meaning."""
    return _counting_calls(surface, call_id, signer) | _ignored_calls(surface, call_id, signer)


@st.composite
def _counting_calls(draw: st.DrawFn, surface: CheckedSurface, call_id: str, signer: ReceiptSigner | None) -> Told:
    """A call whose receipt counts, or that has none and owes none."""
    name = draw(_names_of(surface))

    def answered(receipt: Receipt, tool: str) -> Answered:
        # A repair is recorded as a failed call; whether it is must make no difference.
        text = _signed(receipt, signer, call_id).to_json()
        return called(tool, text, call_id=call_id, failed=tool != SEARCH and draw(st.booleans()))

    match draw(st.sampled_from(["selects", "selects", "selects", "requires", "requires", "nothing", "plain", "open"])):
        case "selects":
            chosen = draw(_selections_of(surface))
            return Told(answered=answered(selecting(surface, *chosen), SEARCH), selects=chosen, searches=True)
        case "requires":
            return Told(answered=answered(requiring(surface, name), name), requires=name)
        case "nothing":
            return Told(answered=answered(empty(surface, refused=draw(st.booleans())), SEARCH), searches=True)
        case "plain":
            return Told(answered=called(draw(st.sampled_from([name, "gone"])), draw(texts), call_id=call_id))
        case _:
            return Told(answered=called(draw(st.sampled_from([name, SEARCH])), None, call_id=call_id))


@st.composite
def _ignored_calls(draw: st.DrawFn, surface: CheckedSurface, call_id: str, signer: ReceiptSigner | None) -> Told:
    """A call whose receipt must not count, and why it must not."""
    name = draw(_names_of(surface))
    chosen = draw(_selections_of(surface))
    # A receipt that would count, and the tool in whose result it would.
    receipt, tool = draw(st.sampled_from([(selecting(surface, *chosen), SEARCH), (requiring(surface, name), name)]))
    kinds = [kind for kind in Rejection if kind is not Rejection.FORGED or signer is not None]
    reason = draw(st.sampled_from(kinds))
    written: str | None = None
    match reason:
        case Rejection.MALFORMED:
            written, tool = draw(texts), SEARCH
        case Rejection.MISPLACED:
            receipt, tool = draw(_misplaced(surface))
        case Rejection.FOREIGN_RUN:
            receipt = replace(receipt, run_id=f"{RUN}0")
        case Rejection.FOREIGN_SURFACE:
            receipt = replace(receipt, surface=f"{surface.key}2")
        case Rejection.STALE:
            receipt, tool = draw(_stale(surface, receipt, tool))
        case _:
            written = draw(st.sampled_from(_forgeries(receipt, call_id))).to_json()
    return Told(
        answered=called(tool, written if written is not None else _signed(receipt, signer, call_id), call_id=call_id),
        ignored=reason,
        # A search whose receipt went stale was made all the same.
        searches=tool == SEARCH and reason is Rejection.STALE,
    )


def _names_of(surface: CheckedSurface) -> st.SearchStrategy[str]:
    return st.sampled_from(list(surface.catalog.tools))


def _selections_of(surface: CheckedSurface) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(_names_of(surface), min_size=1, max_size=5, unique=True).map(tuple)


def _signed(receipt: Receipt, signer: ReceiptSigner | None, call_id: str) -> Receipt:
    return receipt if signer is None else signer.sign(receipt, call_id)


def _forgeries(receipt: Receipt, call_id: str) -> list[Receipt]:
    """Unsigned, signed with another secret, signed for another call."""
    return [receipt, ReceiptSigner([OTHER_KEY]).sign(receipt, call_id), SIGNER.sign(receipt, "another-call")]


@st.composite
def _stale(draw: st.DrawFn, surface: CheckedSurface, receipt: Receipt, tool: str) -> tuple[Receipt, str]:
    """A receipt of which one tool is gone or was edited."""
    if draw(st.booleans()):
        return selecting(surface, *receipt.selected, "gone"), SEARCH
    at = draw(st.integers(0, len(receipt.digests) - 1))
    digests = tuple("f" * 32 if place == at else digest for place, digest in enumerate(receipt.digests))
    return replace(receipt, digests=digests), tool


@st.composite
def _misplaced(draw: st.DrawFn, surface: CheckedSurface) -> tuple[Receipt, str]:
    """A valid receipt in the result of a call that may not carry it."""
    name, other = draw(st.lists(_names_of(surface), min_size=2, max_size=2, unique=True))
    return draw(
        st.sampled_from(
            [
                (selecting(surface, name), name),
                (selecting(surface, name), other),
                (empty(surface), name),
                (requiring(surface, name), SEARCH),
                (requiring(surface, name), other),
                (requiring(surface, name), "gone"),
            ]
        )
    )


@st.composite
def ceilings(draw: st.DrawFn, surface: CheckedSurface) -> Limits:
    """Ceilings that hold the surface's base, and often not much more."""
    base = sum(surface.weight(name) for name in surface.base)
    whole = base + surface.catalog.manifest.schema_bytes
    return Limits(
        max_selected_tools=draw(st.integers(1, 9)),
        max_active_tools=draw(st.integers(len(surface.base), len(surface.catalog) + 2)),
        max_schema_bytes=draw(st.integers(base, whole) | st.just(whole)),
    )


def pins_of(surface: CheckedSurface) -> st.SearchStrategy[Sequence[str]]:
    """Known names, each once; whether they fit is another matter."""
    return st.lists(st.sampled_from(list(surface.catalog.tools)), max_size=3, unique=True)
