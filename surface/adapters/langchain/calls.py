"""One tool call of a LangChain agent behind the gate.

A call of an active tool, a search and an unknown name go on through LangChain's own execution, so that callbacks,
traces, streams and inner middleware see a tool like any other; what stands there is made for this one call. A call of
an inactive tool is answered before any of that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict

from surface.adapters.langchain.messages import LANGCHAIN_MESSAGES
from surface.adapters.langchain.tools import ClosedDirectTool, native_tool
from surface.adapters.sync_bridge import run_blocking
from surface.call import CallAnswer, CallContext, Outcome
from surface.execution import Passed
from surface.input_model import InputRejectedError
from surface.mounted_run import MountedRun
from surface.transcript import Call
from surface.turn import AS_WRITTEN, Turn

Answered = ToolMessage | Command[Any]
Execute = Callable[[ToolCallRequest], Awaitable[Any]]
SUSPENDED = "SUSPENDED"
"""The outcome of a call that waits for somebody; its tool runs again when the graph is resumed."""

_LEFT_OPEN = "This call was left unanswered before this run and does not run now: it may have run then."
_CHECK = "Check whether it took effect before you call it again."


class _NoArguments(BaseModel):
    """What LangChain should look for injected arguments in: nothing."""

    model_config = ConfigDict(extra="allow")


class OneCallTool(BaseTool):
    """Answers one call of one turn, inside LangChain's own execution."""

    turn: Any
    call_id: str
    restarted: bool
    as_written: bool
    """Whether the arguments are the model's, whatever inner middleware made of them: so for a search."""
    shown_as: str | None
    """The name that the message bears where it must end no run; None for the tool's own."""

    def get_input_schema(self, config: Any = None) -> type[BaseModel]:  # noqa: ARG002 - the signature is LangChain's
        return _NoArguments

    def _run(self, /, **arguments: Any) -> ToolMessage:
        return run_blocking(self._answer(arguments))

    async def _arun(self, /, **arguments: Any) -> ToolMessage:
        return await self._answer(arguments)

    async def _answer(self, arguments: dict[str, Any]) -> ToolMessage:
        turn: Turn = self.turn
        effective = AS_WRITTEN if self.as_written else arguments
        return rendered(await turn.answer(self.call_id, restarted=self.restarted, arguments=effective), self.shown_as)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signal:
    """What LangGraph raised to suspend a call: no failure, so it passes the execution as a value."""

    raised: GraphBubbleUp


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedCall:
    """One call, and the turn that it belongs to."""

    turn: Turn
    request: ToolCallRequest
    call_id: str
    name: str
    redirected: bool
    """Whether a reviewer made it a call of this name: its answer stands in the messages behind another one."""

    @property
    def run_id(self) -> str:
        """The run that the call belongs to."""
        return self.turn.calls.run_id

    @property
    def runs(self) -> bool:
        """Whether the call is of an active tool."""
        return self.turn.runs(self.call_id)

    @property
    def repeatable(self) -> bool:
        """Whether nothing is lost where the call runs twice: so for a search, and nobody knows of an unknown name."""
        made = self.turn.surface.catalog.tools.get(self.name)
        return self.name == self.turn.surface.search.name if made is None else made.tool.repeatable

    @property
    def inactive(self) -> bool:
        """Whether no tool is asked: the call is of an inactive one, or a reviewer's of what no reviewer can call."""
        return not self.runs and (self.redirected or self.name in self.turn.surface.catalog)

    @property
    def native(self) -> BaseTool | None:
        """The active LangChain tool that the call is of; None for everything else."""
        return native_tool(self.turn.surface.catalog.tools[self.name]) if self.runs else None

    def supplied(self, *, restarted: bool) -> ToolCallRequest:
        """The request with a tool that answers it, for whatever is no LangChain tool."""
        entry = self.turn.surface.entry(self.name) if self.runs else self.turn.surface.search
        tool = OneCallTool(
            name=self.name,
            description=entry.description,
            args_schema={"type": "object", "properties": {}},
            turn=self.turn,
            call_id=self.call_id,
            restarted=restarted,
            as_written=not self.runs,
            shown_as=self._shown_as,
        )
        return self.request.override(tool=tool)

    async def answer(self, *, restarted: bool) -> ToolMessage:
        """The answer to a call that no tool runs for."""
        if restarted or not self.redirected:
            return self._in_place(await self.turn.answer(self.call_id, restarted=restarted))
        # No receipt: one counts in the messages only where the call is that of the model itself (RCP-3).
        search = self.turn.surface.search.name
        hint = f"Search with {search} for one that fits, or call the tool that you meant again."
        if self.name not in self.turn.surface.catalog and self.name != search:
            outcome, found = Outcome.UNKNOWN_TOOL, "there is no tool of that name"
        else:
            outcome, found = Outcome.INACTIVE, "that one is not active"
        message = f"The reviewer made a call of another tool out of this one, and {found}."
        return self._in_place(await self.turn.refuse(self.call_id, outcome, message, hint))

    async def withheld(self) -> ToolMessage:
        """The answer to a call of an active tool that must not run."""
        return self._in_place(await self.turn.refuse(self.call_id, Outcome.INTERRUPTED, _LEFT_OPEN, _CHECK))

    async def run_native(self, native: BaseTool, execute: Execute, *, restarted: bool) -> Answered | GraphBubbleUp:
        """What LangChain makes of the call; the signal instead where it suspends it. Raises what the tool raises."""
        arguments = self.request.tool_call["args"]

        async def run(_call: CallContext) -> Passed[Any]:
            try:
                self.turn.surface.catalog.tools[self.name].tool.input.validate(arguments)
            except InputRejectedError as rejected:
                refused = self._refusal(rejected)
                return Passed(value=self._in_place(refused), outcome=refused.outcome)
            try:
                answered = await execute(self.request.override(tool=native))
            except GraphBubbleUp as signal:
                return Passed(value=_Signal(raised=signal), outcome=SUSPENDED)
            failed = isinstance(answered, ToolMessage) and answered.status == "error"
            return Passed(value=answered, outcome="TOOL_ERROR" if failed else Outcome.OK)

        passed = await self.turn.pass_on(self.call_id, run, restarted=restarted, arguments=arguments)
        if isinstance(passed, CallAnswer):
            return self._in_place(passed)
        value: Any = passed.value
        return value.raised if isinstance(value, _Signal) else value

    @property
    def _shown_as(self) -> str | None:
        """An answer of the library's ends no run, as that of a tool with `return_direct` does by its name."""
        return self.turn.surface.search.name if isinstance(self.request.tool, ClosedDirectTool) else None

    def _in_place(self, answer: CallAnswer) -> ToolMessage:
        """An answer of the library's instead of the tool's own."""
        return rendered(answer, self._shown_as)

    def _refusal(self, rejected: InputRejectedError) -> CallAnswer:
        call = next(call for call in self.turn.step.calls if call.id == self.call_id)
        hint = "Correct the arguments and call again."
        return self.turn.calls.failure(call, Outcome.VALIDATION_ERROR, str(rejected), hint)


def not_repeated(run: MountedRun, request: ToolCallRequest) -> ToolMessage:
    """The answer to a call of a tool beside the catalog that the input left open: nobody declared it repeatable."""
    asked = request.tool_call
    call = Call(id=str(asked["id"]), name=asked["name"], arguments=asked["args"])
    ends = request.tool is not None and request.tool.return_direct
    refused = run.calls.failure(call, Outcome.INTERRUPTED, _LEFT_OPEN, _CHECK)
    return rendered(refused, run.surface.search.name if ends else None)


def rendered(answer: CallAnswer, name: str | None = None) -> ToolMessage:
    """An answer as LangChain's message, under the tool's own name or another."""
    (message,) = LANGCHAIN_MESSAGES.answer([answer])
    if name is not None:
        message.name = name
    return message
