"""A small shop: the tools, surfaces, receipts and steps that the pure tests share. All real code, nothing patched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from surface.activation import Activation, activate
from surface.limits import Limits
from surface.receipt import NEXT, Match, Provenance, Reason, Receipt, ReceiptSigner, SigningKey, Status
from surface.registry import CheckedSurface, Surface, build_registry
from surface.tool import Service, Tool
from surface.transcript import Call, Result, Step, Transcript

APPLICATION = "shop"
RUN = "run-1"
SEARCH = "search_tools"
ROOMY = Limits(max_selected_tools=100, max_active_tools=200, max_schema_bytes=10_000_000)
SIGNER = ReceiptSigner([SigningKey(id="2026-01", secret=b"sixteen bytes or more")])


@dataclass(frozen=True, slots=True)
class SchemaInput:
    """The input model of a plain schema; it takes whatever comes."""

    schema: Any = field(default_factory=lambda: {"type": "object", "properties": {}})

    @property
    def json_schema(self) -> Mapping[str, Any]:
        schema: Mapping[str, Any] = self.schema
        return schema

    def validate(self, arguments: Any) -> Any:
        return arguments


def make_tool(name: str, description: str = "Does a thing.", schema: Any = None, **other: Any) -> Tool:
    """A runtime tool that answers with its arguments."""
    return Tool(
        name=name,
        description=description,
        input=SchemaInput() if schema is None else SchemaInput(schema),
        handler=lambda validated, _call: validated,
        **other,
    )


def make_tools(*names: str) -> list[Tool]:
    """Runtime tools of these names."""
    return [make_tool(name) for name in names]


def make_surface(
    tools: Sequence[Tool | Service], *, key: str = "reader", always_on: Sequence[str] = (), limits: Limits = ROOMY
) -> CheckedSurface:
    """A checked surface of these tools."""
    declared = Surface(key=key, tools=tools, always_on=always_on)
    return build_registry(APPLICATION, [declared], limits=limits, search_tool=SEARCH).surface(key)


def selecting(surface: CheckedSurface, *names: str, run_id: str = RUN, status: Status = Status.SELECTED) -> Receipt:
    """A receipt that selects these names with the digests they have now; a name that is unknown gets a made-up one."""
    return Receipt(
        status=status,
        run_id=run_id,
        surface=surface.key,
        provenance=Provenance(ranker="lexical"),
        next=NEXT[status],
        selected=names,
        digests=tuple(surface.catalog.tools[name].digest if name in surface.catalog else "0" * 32 for name in names),
        matches=tuple(Match(name=name, description="Does a thing.") for name in names),
    )


def requiring(surface: CheckedSurface, name: str, *, run_id: str = RUN) -> Receipt:
    """The receipt that answers a call of an inactive tool."""
    return selecting(surface, name, run_id=run_id, status=Status.SEARCH_REQUIRED)


def empty(surface: CheckedSurface, *, refused: bool = False, run_id: str = RUN) -> Receipt:
    """A receipt that selects nothing."""
    status = Status.SELECTION_REFUSED if refused else Status.NO_MATCH
    return Receipt(
        status=status,
        reason=Reason.CEILINGS if refused else Reason.ABSTAINED,
        run_id=run_id,
        surface=surface.key,
        provenance=Provenance(ranker="lexical"),
        next=NEXT[status],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A call with the result that is recorded for it; None: none is."""

    call: Call
    result: Result | None


def searched(answer: Receipt | str | None, *, call_id: str = "search-1", failed: bool = False) -> Answered:
    """A call of the search tool, and what stands in its result."""
    return called(SEARCH, answer, call_id=call_id, failed=failed)


def called(name: str, answer: Receipt | str | None, *, call_id: str = "call-1", failed: bool = False) -> Answered:
    """A call of a tool, and what stands in its result."""
    text = answer.to_json() if isinstance(answer, Receipt) else answer
    return Answered(
        call=Call(id=call_id, name=name, arguments={}),
        result=None if text is None else Result(text=text, failed=failed),
    )


def step(*answered: Answered) -> Step:
    """One step of these calls."""
    return Step(
        calls=tuple(each.call for each in answered),
        results=MappingProxyType({each.call.id: each.result for each in answered if each.result is not None}),
    )


def after(
    surface: CheckedSurface,
    *steps: Step,
    run_id: str = RUN,
    pins: Sequence[str] = (),
    limits: Limits = ROOMY,
    signer: ReceiptSigner | None = None,
) -> Activation:
    """The activation that follows these steps."""
    return activate(Transcript(steps=steps), run_id=run_id, surface=surface, pins=pins, limits=limits, signer=signer)
