"""The toolset of one pydantic-ai run: advertises what is active, and is the gate of every call.

Everything is recomputed from `ctx.messages`. What is remembered beside them is which calls this process found
unanswered when it began, because those may have run before (MNT-9), and the step under way. Tools that are
pydantic-ai's own run in their own toolset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import InstructionPart, ModelRequest, ToolReturn
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from surface.adapters.pydantic_ai.approvals import approved_by, forget_approval, note_waiting, waits
from surface.adapters.pydantic_ai.arguments import ANYTHING, as_written
from surface.adapters.pydantic_ai.fence import AskedOnce
from surface.adapters.pydantic_ai.journal import ON_PURPOSE, JournaledCall, Outcome, Raised, RunJournal, digest
from surface.adapters.pydantic_ai.messages import tool_return
from surface.adapters.pydantic_ai.offers import (
    CONFLICT_HINT,
    NOT_OFFERED,
    GatedTool,
    OwnEntry,
    OwnToolsets,
    own_entry,
)
from surface.adapters.pydantic_ai.reading import CallNumbers, Reading, RunMessages, written_at
from surface.call import CallAnswer, CallContext
from surface.call import Outcome as Code
from surface.errors import ConfigurationError, TranscriptError
from surface.execution import Passed
from surface.mounted_run import MountedRun
from surface.prepared_step import PreparedStep
from surface.registry import CheckedSurface
from surface.transcript import Call
from surface.turn import AS_WRITTEN, Turn


class RunToolset(AbstractToolset[Any]):
    """The tools of one surface in one run."""

    def __init__(self, run: MountedRun, *, own: OwnToolsets, journal: RunJournal | None = None) -> None:
        self._messages = RunMessages()
        self._run = replace(run, dialect=self._messages)
        self._own = own
        self._journal = journal
        self._numbers = CallNumbers()
        self._found: set[str] | None = None
        self._prepared: tuple[int, PreparedStep] | None = None
        self._opened: tuple[Reading, Turn] | None = None
        self._opening = asyncio.Lock()
        self.sees_approvals = False
        """Whether the approvals that the run was handed are noted in its messages."""

    @property
    def id(self) -> str:
        """One for each application."""
        return f"toolsurface-{self._run.calls.application}"

    @property
    def surface(self) -> CheckedSurface:
        """The surface whose tools these are."""
        return self._run.surface

    @property
    def tool_name_conflict_hint(self) -> str:
        """What helps where another tool has the name of one of these."""
        return CONFLICT_HINT

    async def __aenter__(self) -> Self:
        await self._own.enter()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self._own.leave()

    async def for_run_step(self, ctx: RunContext[Any]) -> Self:
        """The toolsets behind it take their step; it stays itself."""
        await self._own.next_step(ctx)
        return self

    async def get_instructions(self, ctx: RunContext[Any]) -> Sequence[str | InstructionPart]:
        """What the toolsets behind it say of the tools that this step offers."""
        return await self._own.instructions(ctx)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """What this step offers: the activation, or on a restart what the open turn was offered."""
        left = self._left_open(ctx)
        if not left:
            step = await self._run.prepare_step(ctx.messages)
            self._prepared = (ctx.run_step, step)
            return await self._entries(step.names, ctx, {each.name: each for each in step.tools})
        turn = await self._turn(ctx)
        names = dict.fromkeys([*turn.names, *(call.name for call in left)])
        known = [name for name in names if name in turn.names or name in self._run.surface.catalog]
        definitions = self._run.dialect.advertise(self._run.surface.entry(name) for name in known)
        described = {each.name: each for each in definitions}
        began = {call.name for call in left if approved_by(ctx.messages, call.id) not in (None, ctx.run_id)}
        offered = await self._entries(turn.names, ctx, described, unasked=began)
        search = self._run.surface.search.name
        for name in known:
            if name not in offered:
                offered[name] = self._gated(described[name], ctx, entry=search)
        return offered

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Gate, then search, repair, execution, or the tool's own toolset; raises TranscriptError for no such call."""
        gated = cast("GatedTool", tool)
        turn = await self._turn(ctx)
        call = next((each for each in turn.step.calls if each.id == ctx.tool_call_id and each.name == name), None)
        if call is None:
            raise TranscriptError(
                f"messages: the last assistant turn holds no such call of {name}; only a model calls the tools of a "
                "surface, no tool does through ctx.tool_manager"
            )
        found = self._may_have_run(call, gated, ctx)
        if self._journal is None:
            return _given(await self._outcome(turn, gated, call, tool_args, ctx, restarted=found))

        fence = AskedOnce(turn, call)

        async def work(*, restarted: bool) -> Outcome:
            outcome = await self._outcome(fence.turn, gated, call, tool_args, ctx, restarted=restarted)
            return replace(outcome, begun=False) if fence.refused and isinstance(outcome, Raised) else outcome

        journaled = JournaledCall(
            id=call.id,
            tool=name,
            number=self._numbers.number(ctx.messages, call.id, step=ctx.run_step),
            written_at=written_at(ctx.messages, call.id),
            arguments=digest(call.arguments),
            approval=digest([ctx.tool_call_metadata, tool_args]) if ctx.tool_call_approved else None,
            marked=name in self._run.surface.catalog and not self._repeatable(name),
        )
        return _given(await self._journal.settled(journaled, work, found=found, may_begin=fence.lets_through))

    def _repeatable(self, name: str) -> bool:
        made = self._run.surface.catalog.tools.get(name)
        return made is not None and made.tool.repeatable

    def _may_have_run(self, call: Call, gated: GatedTool, ctx: RunContext[Any]) -> bool:
        """Whether a restart found this call, and nothing tells that it had not begun (MNT-9)."""
        if call.id not in (self._found or ()):
            return False
        if ctx.tool_call_approved and self._journal is not None:
            return False  # the journal knows it
        # Of the approvals only one that was handed to this run, and to none before it, tells that nothing began.
        approved = approved_by(ctx.messages, call.id)
        if ctx.tool_call_approved:
            if approved is None and not self.sees_approvals and not self._repeatable(call.name):
                raise ConfigurationError(
                    f"{call.name}: nothing tells whether this approved call had begun, because no hook of "
                    "DeferredTools ran; drive the run by agent.run or by node = await run.next(node), or "
                    "give DeferredTools a journal"
                )
            return approved is None or approved != ctx.run_id
        return approved is not None or not (gated.asks or waits(ctx.messages, call.id))

    async def _outcome(
        self,
        turn: Turn,
        gated: GatedTool,
        call: Call,
        arguments: dict[str, Any],
        ctx: RunContext[Any],
        *,
        restarted: bool,
    ) -> Outcome:
        if gated.own is not None:
            return await self._pass_on(turn, gated.own, call, arguments, ctx, restarted=restarted)
        withheld = gated.entry != call.name
        if withheld and call.name == self._run.surface.search.name:
            message = "No tool of this surface is offered in this step."
            return _outcome_of(await turn.refuse(call.id, Code.INACTIVE, message, "Go on without one."))
        written = AS_WRITTEN if call.name == self._run.surface.search.name else as_written(arguments)
        answer = await turn.answer(call.id, restarted=restarted, arguments=written, withheld=withheld)
        return _outcome_of(answer)

    async def rejected(self, ctx: RunContext[Any], call_id: str) -> None:
        """Reports that pydantic-ai refused the arguments of a call."""
        await (await self._turn(ctx)).rejected(call_id)

    async def _pass_on(
        self,
        turn: Turn,
        own: OwnEntry,
        call: Call,
        arguments: dict[str, Any],
        ctx: RunContext[Any],
        *,
        restarted: bool,
    ) -> Outcome:
        """Has a tool run in its own toolset; what that raises on purpose is raised again, behind the evidence."""

        async def execute(_: CallContext) -> Passed[Outcome]:
            try:
                if own.asks and not ctx.tool_call_approved:
                    raise ApprovalRequired
                value = await own.home.call_tool(call.name, arguments, ctx, own.tool)
            except tuple(ON_PURPOSE) as raised:
                if isinstance(raised, ApprovalRequired | CallDeferred):
                    forget_approval(ctx.messages, call.id)
                if isinstance(raised, ApprovalRequired):
                    note_waiting(ctx.messages, call.id)
                code = next(code for kind, code in ON_PURPOSE.items() if isinstance(raised, kind))
                return Passed(value=Raised(error=raised), outcome=code)
            return Passed(value=value if isinstance(value, ToolReturn) else ToolReturn(return_value=value))

        passed = await turn.pass_on(call.id, execute, restarted=restarted)
        return passed.value if isinstance(passed, Passed) else _outcome_of(passed)

    async def _turn(self, ctx: RunContext[Any]) -> Turn:
        """The open turn; read once for all its calls, and planned once with the step that this process advertised."""
        async with self._opening:
            reading = self._messages.reading(ctx.messages)
            if self._opened is None or self._opened[0] is not reading:
                # What a step advertised is what of its turn may run, though a capability edits the history in between.
                prepared, step = self._prepared or (None, None)
                after = step if prepared == ctx.run_step else None
                self._opened = (reading, await self._run.open_turn(ctx.messages, after=after))
            return self._opened[1]

    async def _entries(
        self,
        names: Sequence[str],
        ctx: RunContext[Any],
        described: Mapping[str, ToolDefinition],
        *,
        unasked: Collection[str] = (),
    ) -> dict[str, ToolsetTool[Any]]:
        """`unasked` are tools whose calls come here without pydantic-ai's asking for an approval first."""
        own = await self._own.offer(names, ctx)
        entries: dict[str, ToolsetTool[Any]] = {}
        for name in names:
            if name in own:
                entries[name] = own_entry(own[name], name=name, gate=self, unasked=name in unasked)
            elif not self._own.owns(name):
                entries[name] = self._gated(described[name], ctx, entry=name)
        return entries

    def left_open(self, ctx: RunContext[Any]) -> list[str]:
        """The tools of the surface, the search tool among them, that a restart found open calls of."""
        called = dict.fromkeys(call.name for call in self._left_open(ctx))
        return [name for name in called if name in self.surface.catalog or name == self.surface.search.name]

    def _left_open(self, ctx: RunContext[Any]) -> tuple[Call, ...]:
        """The open calls that a step which begins is to answer; the first step's were found by a restart."""
        left = () if _asks_the_model(ctx) else self._messages.left_open(ctx.messages)
        if self._found is None or not left:
            self._found = {call.id for call in left}
        return left

    def withheld(self, ctx: RunContext[Any]) -> GatedTool:
        """The entry for every name of a step from which all tools of the surface were taken."""
        (definition,) = self._run.dialect.advertise([self.surface.entry(self.surface.search.name)])
        return self._gated(definition, ctx, entry=NOT_OFFERED)

    def _gated(self, definition: ToolDefinition, ctx: RunContext[Any], *, entry: str) -> GatedTool:
        """An entry that the library answers."""
        return GatedTool(
            toolset=self, tool_def=definition, max_retries=ctx.max_retries, args_validator=ANYTHING, entry=entry
        )


def _asks_the_model(ctx: RunContext[Any]) -> bool:
    """Whether the step is a request that ends the messages already, so that nobody will answer what they left open.

    A step that answers calls has their response at the end, or (with results that the run was handed) has no number.
    """
    return ctx.run_step > 0 and bool(ctx.messages) and isinstance(ctx.messages[-1], ModelRequest)


def _outcome_of(answer: CallAnswer) -> Outcome:
    """What becomes of a call that the library answers; a failure is raised, so that no retry is spent on it."""
    part = tool_return(answer)
    if part.outcome == "failed":
        return Raised(error=ToolFailed(str(part.content)))
    return ToolReturn(return_value=part.content, metadata=part.metadata)


def _given(outcome: Outcome) -> Any:
    if isinstance(outcome, Raised):
        raise outcome.error
    return outcome
