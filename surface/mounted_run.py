"""A run mounted on one surface: prepare a step, answer its calls, resume after a restart.

Everything is recomputed from the messages each time, so the object holds nothing that a restart could lose. What
becomes of the calls of a turn stands in `surface.turn`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from surface.activation import activate, checked_presence
from surface.call import settle
from surface.dialect import Dialect
from surface.direct_calls import DirectCalls
from surface.errors import ConfigurationError, PinsRefusedError, TranscriptError
from surface.evidence import StepEvidence, report
from surface.prepared_step import PreparedStep, PrepareStep, StepChanges, StepView
from surface.registry import CheckedSurface
from surface.search import Searcher
from surface.transcript import Transcript
from surface.turn import Plan, Turn

Pins = Sequence[str] | Callable[[Any, Transcript], Sequence[str] | Awaitable[Sequence[str]]]
"""Names to advertise in a step beside any selection; a callable gets (context, transcript), anew for each step."""


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
        return PreparedStep(
            tools=tools, names=plan.names, activation=activation, changes=plan.changes, present=plan.present
        )

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

    async def open_turn(self, messages: Sequence[Any], *, after: PreparedStep | None = None) -> Turn:
        """The last assistant turn, for a framework that answers its calls one by one.

        `after` is the step that emitted the turn, where the loop still has it and its messages are what they were: then
        nothing is planned a second time, and `messages` may hold the turn alone. Raises what `prepare_step` raises, and
        TranscriptError where there is no turn or it can be answered no more.
        """
        return await self._open(self.dialect.read(messages), after)

    async def _open(self, transcript: Transcript, after: PreparedStep | None = None) -> Turn:
        if not transcript.steps:
            raise TranscriptError("messages: there is no assistant turn to answer")
        transcript.require_open()
        if after is None or after.activation is None:
            plan = await self._plan(transcript.before_last())
        else:
            plan = Plan(activation=after.activation, names=after.names, present=after.present, changes=after.changes)
        return Turn(
            surface=self.surface, searcher=self.searcher, calls=self.calls, plan=plan, step=transcript.steps[-1]
        )

    async def _answer(self, messages: Sequence[Any], *, restarted: bool) -> list[Any]:
        transcript = self.dialect.read(messages)
        if not transcript.unanswered:
            return []
        turn = await self._open(transcript)
        return self.dialect.answer(await turn.answer_all(restarted=restarted))

    async def _plan(self, transcript: Transcript) -> Plan:
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
            asked: object = await settle(self.application_step(view))
            if asked is not None and not isinstance(asked, StepChanges):
                raise ConfigurationError(
                    f"prepare_step: needs to return StepChanges or None, not {type(asked).__name__}"
                )
            changes = asked or changes
        return Plan(
            activation=activation,
            names=tuple(name for name in activation.names if name in activation.base or changes.lets_through(name)),
            present=checked_presence(self.surface, activation.pins, self.searcher.limits),
            changes=changes,
        )
