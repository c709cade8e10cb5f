"""Deferred tools in a pydantic-ai agent.

    controller = create_deferred_agent_tool_surface(
        application="shop", surfaces=[Surface(key="clerk", tools=catalog_tools(refund))], dialect=PYDANTIC_AI
    )
    deferred = DeferredTools(controller, surface="clerk", run_id=lambda ctx: ctx.deps.request_id)
    agent = Agent(model, capabilities=[deferred])

The capability brings the toolset that advertises what is active and stands as the gate, and takes in the calls of
names that are not offered, so that an inactive tool is told from an unknown one. Add one to an agent, beside whatever
else the agent has. The run id is the application's: pydantic-ai's own is new each time `run` is called.

Not done here: Temporal, whose activities see no messages; renaming or prefixing the tools of a surface.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pydantic import ValidationError
from pydantic_ai import CallToolsNode, UserPromptNode
from pydantic_ai.capabilities import AbstractCapability, AgentNode
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import DeferredToolResults, RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from surface.adapters.pydantic_ai.approvals import note_approvals
from surface.adapters.pydantic_ai.journal import Journal, RunJournal
from surface.adapters.pydantic_ai.messages import PYDANTIC_AI
from surface.adapters.pydantic_ai.namesakes import AllTools, beside, refuse_namesakes
from surface.adapters.pydantic_ai.offers import CONFLICT_HINT, OwnToolsets, Replaced, entered, standing
from surface.adapters.pydantic_ai.run import RunToolset
from surface.adapters.pydantic_ai.withheld import (
    gate_of,
    gates_in,
    lost_search,
    offers_nothing_of_a_surface,
    under_the_name,
    withheld_entry,
)
from surface.controller import DeferredAgentToolSurface, require_controller
from surface.errors import ConfigurationError
from surface.mounted_run import Pins
from surface.registry import CheckedSurface

FromRun = str | Callable[[RunContext[Any]], str]
"""A value, or what gives it for a run: it gets the `RunContext`, whose `deps` are the application's."""


@dataclass(frozen=True, slots=True)
class DeferredToolset(AbstractToolset[Any]):
    """The toolset of one surface. Alone it advertises and gates; `DeferredTools` also answers inactive calls.

    Alone it does not see which approvals a run is handed, so an approved call of a tool that may not run twice ends the
    run with a ConfigurationError unless a journal knows whether it had begun.
    """

    controller: DeferredAgentToolSurface
    surface: FromRun
    run_id: FromRun
    pins: Pins = ()
    journal: Journal | None = None
    replaced: Replaced = field(default_factory=dict, repr=False)
    """What a visitor put in the place of toolsets behind the surfaces."""

    entered: list[AsyncExitStack] = field(default_factory=list, init=False, repr=False)
    """What `async with agent` keeps open."""

    async def __aenter__(self) -> Self:
        """Enters the toolsets behind the surfaces, so that they stay open from run to run."""
        self.entered.append(await entered(standing(self.controller.registry.surfaces.values(), self.replaced).values()))
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.entered.pop().aclose()

    @property
    def id(self) -> str:
        """One for each application."""
        return f"toolsurface-{self.controller.registry.application}"

    @property
    def tool_name_conflict_hint(self) -> str:
        """What helps where another tool has the name of one of these."""
        return CONFLICT_HINT

    def surface_of(self, ctx: RunContext[Any]) -> CheckedSurface:
        """The surface that a run gets; raises UnknownSurfaceError where there is none of that key."""
        return self.controller.registry.surface(_given(self.surface, ctx))

    async def for_run(self, ctx: RunContext[Any]) -> RunToolset:
        """The toolset mounted for one run; raises what `mount` raises."""
        surface, run_id = self.surface_of(ctx), _given(self.run_id, ctx)
        run = self.controller.mount(run_id=run_id, surface=surface.key, context=ctx.deps, pins=self.pins)
        own = await OwnToolsets.for_run(run.surface, self.replaced, ctx)
        journal = None if self.journal is None else RunJournal(journal=self.journal, run_id=run_id)
        return RunToolset(run, own=own, journal=journal)

    def apply(self, visitor: Callable[[AbstractToolset[Any]], None]) -> None:
        """Visits this toolset and those that the tools of the surfaces come from."""
        visitor(self)
        for toolset in standing(self.controller.registry.surfaces.values(), self.replaced).values():
            toolset.apply(visitor)

    def visit_and_replace(
        self, visitor: Callable[[AbstractToolset[Any]], AbstractToolset[Any]]
    ) -> AbstractToolset[Any]:
        """The same with what the visitor puts in their place."""
        found = standing(self.controller.registry.surfaces.values(), self.replaced)
        replaced = {key: toolset.visit_and_replace(visitor) for key, toolset in found.items()}
        return visitor(replace(self, replaced=replaced))

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Only a run has tools."""
        return await (await self.for_run(ctx)).get_tools(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Only a run has tools."""
        return await (await self.for_run(ctx)).call_tool(name, tool_args, ctx, tool)


class DeferredTools(AbstractCapability[Any]):
    """Deferred tools as a capability of an agent."""

    def __init__(
        self,
        controller: DeferredAgentToolSurface,
        *,
        surface: FromRun,
        run_id: FromRun,
        pins: Pins = (),
        journal: Journal | None = None,
    ) -> None:
        """The tools of a surface, for every run of an agent.

        `surface` is the key that the identity behind a run gets; `run_id` survives a restart and belongs to no other
        run; `pins` are names, or what gives them for a step from (deps, transcript); `journal` is how a durable engine
        records a piece of work. Raises ConfigurationError where the controller has another dialect than `PYDANTIC_AI`.
        """
        require_controller(controller)
        for name, given in (("surface", surface), ("run_id", run_id)):
            if not isinstance(given, str) and not callable(given):
                raise ConfigurationError(f"{name}: needs text, or a callable that gives it for a RunContext")
        if controller.dialect.name != PYDANTIC_AI.name:
            raise ConfigurationError("controller: make it with dialect=PYDANTIC_AI")
        self.search_tool = next(iter(controller.registry.surfaces.values())).search.name
        self.toolset = DeferredToolset(controller, surface, run_id, pins, journal)

    def get_toolset(self) -> DeferredToolset:
        """What the agent registers."""
        return self.toolset

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """What stands around all tools of the agent and refuses those that cannot stand beside the surface."""
        return AllTools(toolset)

    async def prepare_output_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """The tools that the agent's output is made of, as they are, unless one has a name of the surface's."""
        refuse_namesakes(self.toolset.surface_of(ctx), [each.name for each in tool_defs])
        return tool_defs

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002 - the hook's signature is pydantic-ai's
        response: ModelResponse,
    ) -> ModelResponse:
        """Lets the gate take in every call of a name that this step did not offer.

        pydantic-ai would refuse such a call itself: in words that do not tell inactive from unknown, and at the cost of
        a retry, so that a second one ends the run. A response whose calls are streamed (`node.stream`) comes by
        here alone: no node is run for it.
        """
        await self._take_in(ctx, response)
        return response

    async def before_node_run(self, ctx: RunContext[Any], *, node: AgentNode[Any]) -> AgentNode[Any]:
        """The same for a response that no model was asked for: one from a cache, or one that a restart found.

        Before the first node of a run it notes in the messages which approvals the run was handed.
        """
        if isinstance(node, UserPromptNode):
            for gate in [] if ctx.tool_manager is None else gates_in(ctx.tool_manager.toolset):
                gate.sees_approvals = True
        if isinstance(node, CallToolsNode):
            await self._take_in(ctx, node.model_response)
        elif isinstance(node, UserPromptNode) and node.deferred_tool_results is not None:
            self._note_approvals(ctx, node.deferred_tool_results)
        return node

    def _note_approvals(self, ctx: RunContext[Any], given: DeferredToolResults) -> None:
        tools = self.toolset.surface_of(ctx).catalog.tools
        once = {name for name, made in tools.items() if not made.tool.repeatable}
        note_approvals(ctx.messages, given, run_id=ctx.run_id, tools=once)

    async def _take_in(self, ctx: RunContext[Any], response: ModelResponse) -> None:
        manager = ctx.tool_manager
        if manager is None or manager.tools is None:  # a step that has no tools yet gets them before it runs a call
            return
        offered = manager.tools
        entry = offered.get(self.search_tool)
        if entry is None and offers_nothing_of_a_surface(offered):
            for each in gates_in(manager.toolset):
                entry = await withheld_entry(each, ctx)
        gate = None if entry is None else gate_of(entry)
        if entry is None or gate is None:
            raise lost_search(self.search_tool)
        refuse_namesakes(gate.surface, beside(offered))
        for call in response.tool_calls:
            if call.tool_name not in offered:
                offered[call.tool_name] = under_the_name(entry, call.tool_name)

    async def on_tool_validate_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG002 - the hook's signature is pydantic-ai's
        args: Any,  # noqa: ARG002
        error: ValidationError | ModelRetry,
    ) -> dict[str, Any]:
        """Reports that pydantic-ai refused the arguments of one of its own tools; the refusal stays as it is."""
        offered = {} if ctx.tool_manager is None else ctx.tool_manager.tools or {}
        entry = offered.get(call.tool_name)
        gate = None if entry is None else gate_of(entry)
        if gate is not None:
            await gate.rejected(ctx, call.tool_call_id)
        raise error


def _given(what: FromRun, ctx: RunContext[Any]) -> str:
    return what if isinstance(what, str) else what(ctx)
