"""A run mounted on one surface: prepare a step, answer its calls, resume after a restart.

Everything is recomputed from the messages each time, so the object holds nothing that a restart could lose. The gate
stands here, at execution: a call runs only if its name is active in the step that emitted it, recomputed from the
transcript before that step (REP-2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from surface.activation import Activation, activate, checked_presence
from surface.call import CallAnswer, Outcome, settle
from surface.dialect import Dialect
from surface.direct_calls import DirectCalls
from surface.errors import PinsRefusedError
from surface.evidence import StepEvidence, report
from surface.input_model import InputRejectedError
from surface.prepared_step import PreparedStep, PrepareStep, StepChanges, StepView
from surface.registry import CheckedSurface
from surface.search import Searcher
from surface.search_tool import search_query
from surface.transcript import UNPARSABLE, Call, Transcript

Pins = Sequence[str] | Callable[[Any, Transcript], Sequence[str] | Awaitable[Sequence[str]]]
"""Names to advertise in a step beside any selection; a callable gets (context, transcript), anew for each step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What one step is about: its activation, what of it the application lets through, and its base with the pins."""

    activation: Activation
    names: tuple[str, ...]
    present: dict[str, int]
    changes: StepChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedRun:
    """One run on one surface. Made by `DeferredAgentToolSurface.mount`."""

    surface: CheckedSurface
    dialect: Dialect
    searcher: Searcher
    calls: DirectCalls
    pins: Pins
    application_step: PrepareStep | None

    async def prepare_step(self, messages: Sequence[Any]) -> PreparedStep:
        """What the next request advertises, in the dialect of the messages.

        Raises TranscriptError where the messages are not in that dialect's form, PinsRefusedError where the pins do
        not fit.
        """
        clock = asyncio.get_running_loop().time
        started = clock()
        plan = await self._plan(self.dialect.read(messages))
        tools = self.dialect.advertise(self.surface.entry(name) for name in plan.names)
        activation = plan.activation
        report(
            self.calls.observer,
            StepEvidence(
                application=self.calls.application,
                surface=self.surface.key,
                run_id=self.calls.run_id,
                catalog=len(self.surface.catalog),
                base=len(activation.base),
                pinned=len(set(activation.pins) & set(plan.names)),
                selected=len(set(activation.selected) & set(plan.names)),
                active=len(plan.names),
                evicted=len(activation.evicted),
                ignored={str(reason): count for reason, count in activation.ignored.items()},
                source=activation.source,
                schema_bytes=sum(self.surface.weight(name) for name in plan.names),
                catalog_schema_bytes=self.surface.catalog.manifest.schema_bytes,
                limits=self.searcher.limits,
                seconds=clock() - started,
            ),
        )
        return PreparedStep(tools=tools, names=plan.names, activation=activation, changes=plan.changes)

    async def dispatch(self, messages: Sequence[Any]) -> list[Any]:
        """The messages to append: an answer to every unanswered call of the last assistant turn, in call order.

        Calls run concurrently. Raises what `prepare_step` raises; no failure of a tool raises.
        """
        return await self._answer(messages, restarted=False)

    async def resume(self, messages: Sequence[Any]) -> list[Any]:
        """The same for a restarted run: a call that may have run before is run again only where that is safe (MNT-9).

        Call it once, before the first step after a restart; it answers nothing where nothing is unanswered.
        """
        return await self._answer(messages, restarted=True)

    async def _answer(self, messages: Sequence[Any], *, restarted: bool) -> list[Any]:
        transcript = self.dialect.read(messages)
        unanswered = transcript.unanswered
        if not unanswered:
            return []
        plan = await self._plan(transcript.before_last())
        # Only a search that can be made uses up the budget.
        searches = [call.id for call in transcript.steps[-1].calls if isinstance(self._query(call), str)]
        numbers = {call_id: plan.activation.searches + at for at, call_id in enumerate(searches, start=1)}

        async def route(call: Call) -> CallAnswer:
            return await self._route(call, plan, restarted=restarted, number=numbers.get(call.id, 0))

        known = self.surface.catalog.tools.keys() | {self.surface.search.name}
        answers = await self.calls.answer_all(unanswered, route, known)
        return self.dialect.answer(answers)

    async def _route(self, call: Call, plan: _Plan, *, restarted: bool, number: int) -> CallAnswer:
        if call.name == self.surface.search.name:
            return await self._search(call, plan, number)
        if call.name not in self.surface.catalog:
            return self.calls.unknown(call, f"Search with {self.surface.search.name} for one that fits.")
        if call.name in plan.names:
            return await self.calls.run(call, restarted=restarted)
        return self.searcher.repair(
            call.name,
            surface=self.surface,
            run_id=self.calls.run_id,
            call_id=call.id,
            present=plan.present,
            narrowed=not plan.changes.lets_through(call.name),
        )

    async def _search(self, call: Call, plan: _Plan, number: int) -> CallAnswer:
        query = self._query(call)
        if not isinstance(query, str):
            return self.calls.failure(call, Outcome.VALIDATION_ERROR, str(query), "Send one query in plain words.")
        return await self.searcher.search(
            query,
            surface=self.surface,
            run_id=self.calls.run_id,
            call_id=call.id,
            present=plan.present,
            number=number,
        )

    def _query(self, call: Call) -> str | InputRejectedError | None:
        """The query of a search call, or what is wrong with its arguments; None for a call of another tool."""
        if call.name != self.surface.search.name:
            return None
        try:
            return search_query(None if call.arguments is UNPARSABLE else call.arguments)
        except InputRejectedError as rejected:
            return rejected

    async def _plan(self, transcript: Transcript) -> _Plan:
        pins = await settle(self.pins(self.calls.context, transcript)) if callable(self.pins) else self.pins
        given: object = pins
        if (
            isinstance(given, str)
            or not isinstance(given, Sequence)
            or not all(isinstance(name, str) for name in given)
        ):
            raise PinsRefusedError("pins: needs a list of names, not one string or anything else")
        activation = activate(
            transcript,
            run_id=self.calls.run_id,
            surface=self.surface,
            pins=tuple(pins),
            limits=self.searcher.limits,
            signer=self.searcher.signer,
        )
        changes = StepChanges()
        if self.application_step is not None:
            view = StepView(context=self.calls.context, transcript=transcript, active=activation.names)
            asked = await settle(self.application_step(view))
            changes = changes if asked is None else asked
        return _Plan(
            activation=activation,
            names=tuple(name for name in activation.names if name in activation.base or changes.lets_through(name)),
            present=checked_presence(self.surface, activation.pins, self.searcher.limits),
            changes=changes,
        )
