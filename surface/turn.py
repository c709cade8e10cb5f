"""One turn of a model: the gate, and the answer to each call of it, all at once or one by one.

The gate stands here, at execution: a call runs only if its name is active in the step that emitted it, recomputed from
the transcript before that step (REP-2). Whoever owns the loop answers a whole turn with `answer_all`; a framework that
hands over one call at a time uses `answer`, and `pass_on` for a tool that it runs itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Set
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from surface.activation import Activation
from surface.call import CallAnswer, CallContext, Outcome
from surface.direct_calls import DirectCalls
from surface.errors import TranscriptError
from surface.execution import Passed
from surface.input_model import InputRejectedError
from surface.prepared_step import StepChanges
from surface.registry import CheckedSurface
from surface.search import Searcher
from surface.search_tool import search_query
from surface.transcript import UNPARSABLE, Call, Step

T = TypeVar("T")


class AsWritten(Enum):
    """The mark of arguments that nobody changed since the model wrote them."""

    AS_WRITTEN = "as written"


AS_WRITTEN = AsWritten.AS_WRITTEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one step is about: its activation, what of it the application lets through, and its base with the pins."""

    activation: Activation
    names: tuple[str, ...]
    """What the step advertises, in order."""
    present: Mapping[str, int]
    """Base and pins with their schema bytes."""
    changes: StepChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The last turn of a transcript. Made by `MountedRun.open_turn`."""

    surface: CheckedSurface
    searcher: Searcher
    calls: DirectCalls
    plan: Plan
    step: Step

    @property
    def names(self) -> tuple[str, ...]:
        """What the step that emitted these calls advertised: what of them may run."""
        return self.plan.names

    def name_of(self, call_id: str) -> str:
        """What the model called; raises TranscriptError as `answer` does."""
        return self._call(call_id).name

    def runs(self, call_id: str) -> bool:
        """Whether this call is of a tool that is active in this turn; raises TranscriptError as `answer` does."""
        name = self._call(call_id).name
        return name in self.names and name in self.surface.catalog

    async def answer_all(self, *, restarted: bool) -> list[CallAnswer]:
        """The answers to the unanswered calls, concurrently made, in call order."""

        async def route(call: Call) -> CallAnswer:
            return await self._route(call, restarted=restarted)

        return await self.calls.answer_all(self.step.unanswered, route, self._known)

    async def answer(
        self,
        call_id: str,
        *,
        restarted: bool = False,
        arguments: Any = AS_WRITTEN,
        withheld: bool = False,
    ) -> CallAnswer:
        """The answer to one call.

        `restarted`: a restart found it unanswered, or a framework knows that it had begun. `arguments` stand for those
        that the model wrote, where a framework changed them; `withheld` says that the framework did not offer the tool
        in this step, active or not. Raises TranscriptError where the turn has no such call.
        """
        call = self._call(call_id)
        if arguments is not AS_WRITTEN:
            call = replace(call, arguments=arguments)
        routed = self._route(call, restarted=restarted, withheld=withheld)
        return await self.calls.witnessed(call, routed, self._known)

    async def pass_on(
        self,
        call_id: str,
        execute: Callable[[CallContext], Awaitable[Passed[T]]],
        *,
        restarted: bool = False,
        arguments: Any = AS_WRITTEN,
    ) -> CallAnswer | Passed[T]:
        """The same for a tool that the framework runs itself: what `execute` returns, or the answer in its place.

        The gate, the rule for restarts, the fence, `on_error`, `after_call` and the evidence are as for every other
        call; validation, output and whatever `execute` raises are the framework's, and of its `arguments` `after_call`
        is told. Raises what `execute` raises.
        """
        call = self._call(call_id)
        if not self.runs(call_id):
            return await self.answer(call_id, restarted=restarted)
        if arguments is not AS_WRITTEN:
            call = replace(call, arguments=arguments)
        running = self.calls.pass_on(call, execute, restarted=restarted)
        return await self.calls.witnessed(call, running, self._known)

    async def rejected(self, call_id: str) -> None:
        """Notes that the framework itself refused the arguments of a call (its evidence: VALIDATION_ERROR)."""
        call = self._call(call_id)

        async def refused() -> Passed[None]:
            return Passed(value=None, outcome=Outcome.VALIDATION_ERROR)

        await self.calls.witnessed(call, refused(), self._known)

    async def refuse(self, call_id: str, outcome: Outcome, message: str, hint: str | None = None) -> CallAnswer:
        """A failure of the framework's in the place of an answer, with its evidence; raises as `answer` does."""
        call = self._call(call_id)

        async def refused() -> CallAnswer:
            return self.calls.failure(call, outcome, message, hint)

        return await self.calls.witnessed(call, refused(), self._known)

    @property
    def _known(self) -> Set[str]:
        return self.surface.catalog.tools.keys() | {self.surface.search.name}

    def _call(self, call_id: str) -> Call:
        for call in self.step.calls:
            if call.id == call_id:
                return call
        raise TranscriptError("messages: the last assistant turn holds no call of the id that is to be answered")

    async def _route(self, call: Call, *, restarted: bool, withheld: bool = False) -> CallAnswer:
        if call.name == self.surface.search.name:
            return await self._search(call)
        if call.name not in self.surface.catalog:
            hint = f"Search with {self.surface.search.name} for one that fits."
            return self.calls.unknown(call, hint, restarted=restarted)
        if call.name in self.names and not withheld:
            return await self.calls.run(call, restarted=restarted)
        # The activation is that of now. A deploy, other pins or other ceilings may have come between, and the tool may
        # have been active when the call was made: no transcript tells that it was not (MNT-9).
        interrupted = await self.calls.interrupted(call, restarted=restarted)
        return interrupted or self.searcher.repair(
            call.name,
            surface=self.surface,
            run_id=self.calls.run_id,
            call_id=call.id,
            present=self.plan.present,
            narrowed=call.name in self.names or not self.plan.changes.lets_through(call.name),
        )

    async def _search(self, call: Call) -> CallAnswer:
        query = self._query(call)
        if not isinstance(query, str):
            return self.calls.failure(call, Outcome.VALIDATION_ERROR, str(query), "Send one query in plain words.")
        return await self.searcher.search(
            query,
            surface=self.surface,
            run_id=self.calls.run_id,
            call_id=call.id,
            present=self.plan.present,
            number=self._number(call),
        )

    def _number(self, call: Call) -> int:
        """Which search of the run this is. Only a search that can be made uses up the budget."""
        earlier = self.step.calls[: [each.id for each in self.step.calls].index(call.id)]
        return self.plan.activation.searches + sum(isinstance(self._query(each), str) for each in earlier) + 1

    def _query(self, call: Call) -> str | InputRejectedError | None:
        """The query of a search call, or what is wrong with its arguments; None for a call of another tool."""
        if call.name != self.surface.search.name:
            return None
        try:
            return search_query(None if call.arguments is UNPARSABLE else call.arguments)
        except InputRejectedError as rejected:
            return rejected
