"""Answering calls that are no business of the search: active tools run, unknown names fail honestly.

Holds the rule for what a restart finds unanswered (MNT-9) and the evidence of every call (EVD-1).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from surface.call import CallAnswer, CallContext, Outcome, settle
from surface.catalog import Catalog
from surface.evidence import CallEvidence, Observer, report
from surface.execution import Executor, Passed
from surface.failure import failure_parts
from surface.transcript import Call

T = TypeVar("T")
Answer = TypeVar("Answer", bound=CallAnswer | Passed[Any])
_log = logging.getLogger("toolsurface")

DEFAULT_CONCURRENCY = 16

OnInterrupted = Callable[[CallContext], bool | Awaitable[bool]]
"""Whether to run a call again that a restart found unanswered, although its tool is not declared repeatable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectCalls:
    """The calls of one run."""

    application: str
    surface: str
    run_id: str
    context: Any
    catalog: Catalog
    executor: Executor
    on_interrupted: OnInterrupted | None
    observer: Observer | None
    max_concurrent: int
    """How many calls of one step run at once; the others wait their turn, outside their own timeouts."""

    async def answer_all(
        self, calls: Sequence[Call], route: Callable[[Call], Awaitable[CallAnswer]], known: Container[str]
    ) -> list[CallAnswer]:
        """The answers to the calls of one step, concurrently made, in call order; `known` names may be reported."""
        places = asyncio.Semaphore(self.max_concurrent)

        async def answer(call: Call) -> CallAnswer:
            async with places:
                return await self.witnessed(call, route(call), known)

        return await asyncio.gather(*(answer(call) for call in calls))

    async def run(self, call: Call, *, restarted: bool) -> CallAnswer:
        """Runs a call of a tool that is active; after a restart only where it may have no second effect."""
        context = self._context(call)
        interrupted = await self.interrupted(call, restarted=restarted)
        return interrupted or await self.executor.execute(self.catalog.tools[call.name], call.arguments, context)

    async def pass_on(
        self, call: Call, execute: Callable[[CallContext], Awaitable[Passed[T]]], *, restarted: bool
    ) -> CallAnswer | Passed[T]:
        """The same for a tool that a framework runs itself; raises what it raises."""
        context = self._context(call)
        interrupted = await self.interrupted(call, restarted=restarted)
        return interrupted or await self.executor.pass_on(execute, call.arguments, context)

    def _context(self, call: Call) -> CallContext:
        return CallContext(
            run_id=self.run_id, surface=self.surface, call_id=call.id, tool=call.name, context=self.context
        )

    async def interrupted(self, call: Call, *, restarted: bool) -> CallAnswer | None:
        """The answer to a call of a tool of the catalog that a restart found and that may not have a second effect."""
        if not restarted or self.catalog.tools[call.name].tool.repeatable or await self._again(self._context(call)):
            return None
        return self.failure(
            call,
            Outcome.INTERRUPTED,
            "This call was interrupted: it may have run.",
            "Check whether it took effect before you call it again.",
        )

    def unknown(self, call: Call, hint: str | None, *, restarted: bool) -> CallAnswer:
        """An honest failure that names no tool (REP-3); of one that a restart found, nobody knows that it never ran."""
        message = "There is no tool of this name."
        if restarted:
            message = "There is no tool of this name now. If there was one before, this call may have run."
        return self.failure(call, Outcome.UNKNOWN_TOOL, message, hint)

    def failure(self, call: Call, outcome: Outcome, message: str, hint: str | None = None) -> CallAnswer:
        """A failure of the library's own."""
        parts = failure_parts(outcome, message, hint)
        return CallAnswer(call_id=call.id, tool=call.name, parts=parts, outcome=outcome)

    async def witnessed(self, call: Call, answering: Awaitable[Answer], known: Container[str]) -> Answer:
        """The answer, with its evidence reported. An unknown name is text of the model's and is not reported."""
        clock = asyncio.get_running_loop().time
        started = clock()
        outcome: str = Outcome.CANCELLED
        try:
            answer = await answering
            outcome = answer.outcome
        except Exception:
            # Only a framework's own tool lets an exception through.
            outcome = Outcome.INTERNAL
            raise
        finally:
            report(
                self.observer,
                CallEvidence(
                    application=self.application,
                    surface=self.surface,
                    run_id=self.run_id,
                    tool=call.name if call.name in known else None,
                    outcome=outcome,
                    seconds=clock() - started,
                ),
            )
        return answer

    async def _again(self, context: CallContext) -> bool:
        if self.on_interrupted is None:
            return False
        try:
            return bool(await settle(self.on_interrupted(context)))
        except Exception as error:  # noqa: BLE001 - whoever cannot decide has not decided to run it again
            _log.error("the on_interrupted callback raised %s", type(error).__name__)
            return False
