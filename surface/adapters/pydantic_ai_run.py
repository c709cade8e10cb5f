"""The toolset of one pydantic-ai run: advertises what is active, and is the gate of every call.

Everything is recomputed from `ctx.messages`. What is remembered beside them is only which calls this process found
unanswered when it began, because those may have run before (MNT-9), and the plan of the step under way while its
messages are the very same. Tools that are pydantic-ai's own run in their own toolset.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Self, cast

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
)
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool

from surface.adapters.message_values import arguments_of
from surface.adapters.pydantic_ai_messages import tool_return
from surface.adapters.pydantic_ai_tools import OwnTool
from surface.call import CallContext
from surface.execution import Passed
from surface.mounted_run import MountedRun
from surface.prepared_step import PreparedStep
from surface.registry import CheckedSurface
from surface.turn import AS_WRITTEN, Turn

Journal = Callable[[str, Callable[[], Coroutine[Any, Any, str]]], Awaitable[str]]
"""How a durable engine records work: it gets a name and the work, and gives the work's text, new or as recorded.

With DBOS: ``lambda name, work: DBOS.run_step_async({"name": name}, work)``. A search is then not made again on replay,
and a tool of the library that was begun and not recorded is answered by MNT-9. Tools that are pydantic-ai's own are
journaled by whoever wrote them.
"""

_OUTCOMES: Mapping[type[Exception], str] = {
    ApprovalRequired: "DEFERRED",
    CallDeferred: "DEFERRED",
    ModelRetry: "RETRY",
    ToolFailed: "TOOL_FAILED",
}
"""What pydantic-ai's own control flow is called in the evidence."""


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a tool raised on purpose, to be raised again."""

    error: Exception


def own_toolsets(surface: CheckedSurface) -> list[AbstractToolset[Any]]:
    """The toolsets that a surface's tools come from, each once."""
    handlers = [made.tool.handler for made in surface.catalog.tools.values()]
    return list({id(each.toolset): each.toolset for each in handlers if isinstance(each, OwnTool)}.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEntry:
    """A tool as its own toolset offers it in a step."""

    home: AbstractToolset[Any]
    """The toolset to call it through: the outermost, whatever that wraps."""
    tool: ToolsetTool[Any]


@dataclass(kw_only=True)
class GatedTool(ToolsetTool[Any]):
    """One entry of the toolset; an entry whose name is not `entry` is the gate's for a name that is not offered."""

    entry: str
    own: OwnEntry | None = None
    """The same tool in its own toolset, where pydantic-ai runs it."""


class RunToolset(AbstractToolset[Any]):
    """The tools of one surface in one run."""

    def __init__(
        self, run: MountedRun, *, own: Mapping[int, AbstractToolset[Any]], journal: Journal | None = None
    ) -> None:
        self._run = run
        self._own = own
        self._journal = journal
        self._found: set[str] | None = None
        self._prepared: tuple[list[ModelMessage], PreparedStep] | None = None
        self._opened: tuple[int, Turn] | None = None
        self._entered = AsyncExitStack()

    @property
    def id(self) -> str:
        """One for each application."""
        return f"toolsurface-{self._run.calls.application}"

    async def __aenter__(self) -> Self:
        for toolset in self._own.values():
            await self._entered.enter_async_context(toolset)
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self._entered.aclose()

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """What this step offers: the activation, or on a restart what the open turn was offered."""
        left = _unanswered(ctx.messages)
        if self._found is None:
            self._found = {call.tool_call_id for call in left}
        if not left:
            step = await self._run.prepare_step(ctx.messages)
            self._prepared = (list(ctx.messages), step)
            return await self._entries(step.names, ctx, {each.name: each for each in step.tools})
        turn = await self._turn(ctx)
        names = dict.fromkeys([*turn.names, *(call.tool_name for call in left)])
        known = [name for name in names if name in turn.names or name in self._run.surface.catalog]
        definitions = self._run.dialect.advertise(self._run.surface.entry(name) for name in known)
        described = {each.name: each for each in definitions}
        offered = await self._entries(turn.names, ctx, described)
        search = self._run.surface.search.name
        for name in known:
            if name not in offered:
                offered[name] = self._gated(described[name], ctx, entry=search)
        return offered

    async def begin(self, response: ModelResponse) -> None:
        """Notes that a model answered just now; a replayed answer's calls may have run before."""
        if self._journal is None or self._found is None:
            return
        fresh: list[str] = []

        async def mark() -> str:
            fresh.append("now")
            return ""

        await self._journal("toolsurface.turn", mark)
        if not fresh:
            self._found.update(call.tool_call_id for call in response.tool_calls)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Gate, then search, repair, execution, or the tool's own toolset."""
        gated = cast("GatedTool", tool)
        turn = await self._turn(ctx)
        call_id = ctx.tool_call_id or ""
        # Whoever approves a call wants it run now.
        restarted = call_id in (self._found or ()) and not ctx.tool_call_approved
        withheld = gated.entry != name
        own = None if withheld else gated.own
        if own is not None:
            return await self._pass_on(turn, own, name, tool_args, ctx, restarted=restarted)
        searches = name == self._run.surface.search.name
        arguments = AS_WRITTEN if withheld or searches else _written(tool_args)

        async def answered() -> ToolReturnPart:
            return tool_return(await turn.answer(call_id, restarted=restarted, arguments=arguments, withheld=withheld))

        return _returned(await self._journaled(answered))

    async def rejected(self, ctx: RunContext[Any], call_id: str) -> None:
        """Reports that pydantic-ai refused the arguments of a call."""
        await (await self._turn(ctx)).rejected(call_id)

    async def _pass_on(
        self,
        turn: Turn,
        own: OwnEntry,
        name: str,
        arguments: dict[str, Any],
        ctx: RunContext[Any],
        *,
        restarted: bool,
    ) -> Any:
        """Has a tool run in its own toolset; what that raises on purpose is raised again, behind the evidence."""

        async def execute(_: CallContext) -> Passed[Any]:
            try:
                return Passed(value=await own.home.call_tool(name, arguments, ctx, own.tool))
            except (ApprovalRequired, CallDeferred, ModelRetry, ToolFailed) as raised:
                return Passed(value=_Raised(raised), outcome=_OUTCOMES[type(raised)])

        # Under a journal it is the engine that knows whether the tool's own record is there.
        passed = await turn.pass_on(ctx.tool_call_id or "", execute, restarted=restarted and self._journal is None)
        if not isinstance(passed, Passed):
            return _returned(tool_return(passed))
        if isinstance(passed.value, _Raised):
            raise passed.value.error
        return passed.value

    async def _journaled(self, work: Callable[[], Awaitable[ToolReturnPart]]) -> ToolReturnPart:
        if self._journal is None:
            return await work()

        async def recorded() -> str:
            return ModelMessagesTypeAdapter.dump_json([ModelRequest(parts=[await work()])]).decode()

        (request,) = ModelMessagesTypeAdapter.validate_json(await self._journal("toolsurface.call", recorded))
        return cast("ToolReturnPart", request.parts[0])

    async def _turn(self, ctx: RunContext[Any]) -> Turn:
        """The open turn; read once for all its calls, and planned once with its step where that is still the same."""
        messages = ctx.messages
        if self._opened is None or self._opened[0] != len(messages):
            seen, step = self._prepared or ([], None)
            fresh = len(messages) == len(seen) + 1 and all(map(operator.is_, messages, seen))
            turn = await self._run.open_turn(messages[-1:] if fresh else messages, after=step if fresh else None)
            self._opened = (len(messages), turn)
        return self._opened[1]

    async def _entries(
        self, names: Sequence[str], ctx: RunContext[Any], described: Mapping[str, ToolDefinition]
    ) -> dict[str, ToolsetTool[Any]]:
        own = await self._own_tools(names, ctx)
        entries: dict[str, ToolsetTool[Any]] = {}
        for name in names:
            if name in own:
                found = own[name].tool
                entries[name] = GatedTool(
                    toolset=self,
                    tool_def=found.tool_def,
                    max_retries=found.max_retries,
                    args_validator=found.args_validator,
                    args_validator_func=found.args_validator_func,
                    entry=name,
                    own=own[name],
                )
            elif self._owner(name) is None:
                entries[name] = self._gated(described[name], ctx, entry=name)
        return entries

    def _gated(self, definition: ToolDefinition, ctx: RunContext[Any], *, entry: str) -> GatedTool:
        """An entry that the library answers."""
        return GatedTool(
            toolset=self, tool_def=definition, max_retries=ctx.max_retries, args_validator=_ANYTHING, entry=entry
        )

    def _owner(self, name: str) -> int | None:
        """Which of pydantic-ai's toolsets runs a tool, if one does."""
        made = self._run.surface.catalog.tools.get(name)
        return id(made.tool.handler.toolset) if made and isinstance(made.tool.handler, OwnTool) else None

    async def _own_tools(self, names: Iterable[str], ctx: RunContext[Any]) -> dict[str, OwnEntry]:
        wanted: dict[int, list[str]] = {}
        for name in names:
            owner = self._owner(name)
            if owner is not None:
                wanted.setdefault(owner, []).append(name)
        tools: dict[str, OwnEntry] = {}
        for owner, some in wanted.items():
            home = _only(self._own[owner], some)
            offered = await home.get_tools(ctx)
            tools |= {name: OwnEntry(home=home, tool=offered[name]) for name in some if name in offered}
        return tools


def _only(toolset: AbstractToolset[Any], names: Iterable[str]) -> AbstractToolset[Any]:
    """A function toolset of these tools alone: preparing hundreds for a step that offers three would take too long."""
    if type(toolset) is not FunctionToolset:
        return toolset
    few = copy.copy(toolset)
    few.tools = {name: toolset.tools[name] for name in names if name in toolset.tools}
    return few


def _unanswered(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """The calls of the last response that no later request answers."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            return [call for call in message.tool_calls if call.tool_call_id not in answered]
        answered.update(call_id for part in message.parts if (call_id := getattr(part, "tool_call_id", None)))
    return []


def _returned(part: ToolReturnPart) -> ToolReturn[Any]:
    """What a tool gives back for a record of this kind; a failure is raised, so that no retry is spent on it."""
    if part.outcome == "failed":
        raise ToolFailed(str(part.content))
    return ToolReturn(return_value=part.content, metadata=part.metadata)


class _Odd(dict[str, Any]):
    """Arguments that are no object, as pydantic-ai can carry them."""

    value: Any


class _Anything:
    """Takes arguments as the model wrote them: the library validates its own tools."""

    def validate_json(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - the protocol's name
        """The object in a JSON text."""
        return self.validate_python(arguments_of(input if isinstance(input, str) else bytes(input).decode()))

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - the protocol's name
        """The object itself."""
        if isinstance(input, dict):
            return input
        odd = _Odd()
        odd.value = input
        return odd


_ANYTHING = _Anything()


def _written(arguments: dict[str, Any]) -> Any:
    return arguments.value if isinstance(arguments, _Odd) else arguments
