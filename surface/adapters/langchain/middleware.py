"""Deferred tools for LangChain agents: the middleware that advertises, supplies and gates.

    agent = create_agent(model, middleware=[DeferredTools(controller, surface="clerk")])

The tools of the catalog are no tools of the agent: each step advertises the active ones (`wrap_model_call`), and an
active one is supplied when it is called (`wrap_tool_call`). So a hidden tool cannot run even where the gate is missing.
Tools that the agent has beside the catalog stay as they are. The transcript is the graph's state; a run is one
execution of the graph: a new input starts a new run, whatever resumes the old one goes on with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Annotated, Any, NotRequired, cast
from uuid import uuid4

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest

from surface.adapters.langchain.advertising import advertised, refuse_another
from surface.adapters.langchain.attempts import Attempts
from surface.adapters.langchain.calls import Answered, GatedCall, not_repeated
from surface.adapters.langchain.messages import (
    ClosedTool,
    LangChainMessages,
    closed_tool,
    latest_of,
    turn_of,
)
from surface.adapters.langchain.reviews import Reviewed
from surface.adapters.langchain.steps import PreparedSteps
from surface.adapters.langchain.taken_over import answered, may_run, repeated, taken_over, was_found
from surface.adapters.langchain.tools import ClosedDirectTool, native_tool
from surface.adapters.sync_bridge import run_blocking
from surface.catalog_rules import shown
from surface.controller import DeferredAgentToolSurface, require_controller
from surface.errors import ConfigurationError
from surface.mounted_run import MountedRun, Pins
from surface.prepared_step import PrepareStep
from surface.registry import CheckedSurface
from surface.worker_thread import run_aside

OfRuntime = Callable[[Any], str]
"""Gets LangGraph's runtime (its `context` is the application's own) and must give the same for the same run."""


class DeferredToolsState(AgentState[Any]):
    """What the middleware adds to the graph's state; neither input nor output."""

    toolsurface_run: NotRequired[Annotated[str, PrivateStateAttr]]
    """The id of the run, minted when the graph starts on a new input."""
    toolsurface_found: NotRequired[Annotated[list[str], PrivateStateAttr]]
    """The calls that the input left unanswered: they may have run before."""
    toolsurface_shown: NotRequired[Annotated[bool | None, PrivateStateAttr]]
    """Whether the hooks behind the model saw them; None where they are still to see them."""


class DeferredTools(AgentMiddleware[DeferredToolsState, Any, Any]):
    """Mounts each run of an agent on a surface of the controller."""

    state_schema = DeferredToolsState

    def __init__(
        self,
        controller: DeferredAgentToolSurface,
        *,
        surface: str | OfRuntime,
        run_id: OfRuntime | None = None,
        pins: Pins = (),
        prepare_step: PrepareStep | None = None,
    ) -> None:
        """The middleware of one agent.

        Without a `run_id` the graph's state carries one of its own, which a resume keeps and a new input replaces; give
        one where you store messages yourself. `pins` and `prepare_step` are those of `mount`, with the runtime's
        `context`. Raises ConfigurationError where the controller has another dialect, UnknownSurfaceError where it has
        no such surface.
        """
        super().__init__()
        require_controller(controller)
        if not isinstance(surface, str) and not callable(surface):
            raise ConfigurationError("surface: needs the key of a surface, or a callable that gives it for a runtime")
        if run_id is not None and not callable(run_id):
            raise ConfigurationError(
                "run_id: needs a callable that gives the run's id for a runtime, not the id itself"
            )
        if not isinstance(controller.dialect, LangChainMessages):
            raise ConfigurationError(
                f"controller: speaks {controller.dialect.name}; make it with dialect=LANGCHAIN_MESSAGES"
            )
        self._controller = controller
        self._surface = surface
        self._run_id = run_id
        self._pins = pins
        self._prepare_step = prepare_step
        self._steps = PreparedSteps()
        self._attempts = Attempts()
        self._id = uuid4().hex
        # Where before_agent did not name one, as in a graph that was under way already; nobody can guess it.
        self._unnamed_run = f"unnamed-{uuid4().hex}"
        registered = _registered(
            [controller.registry.surface(surface)]
            if isinstance(surface, str)
            else controller.registry.surfaces.values()
        )
        self.tools = [each.model_copy(update={"registered_by": self._id}) for each in registered]

    def before_agent(self, state: DeferredToolsState, runtime: Any) -> dict[str, Any] | None:
        """Names the run, and notes the calls that the input left open at its end."""
        update = taken_over(state, lambda: self._mount(state, runtime).surface)
        if self._run_id is None:
            update["toolsurface_run"] = uuid4().hex
        return update

    async def abefore_agent(self, state: DeferredToolsState, runtime: Any) -> dict[str, Any] | None:
        """The same, for an async graph."""
        return self.before_agent(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Advertises the active tools, or repeats the turn that the input left open."""
        refuse_another(request.tools, self._id)
        if (again := repeated(request.state)) is not None:
            return again
        run = self._mount(request.state, request.runtime)
        response = handler(run_blocking(advertised(run, request, self._steps)))
        return answered(request.state, self._attempts.heard(run, request, response))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """The same, for an async graph."""
        refuse_another(request.tools, self._id)
        if (again := repeated(request.state)) is not None:
            return again
        run = self._mount(request.state, request.runtime)
        response = await handler(await advertised(run, request, self._steps))
        return answered(request.state, self._attempts.heard(run, request, response))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Answered:
        """Answers a call of the catalog, or lets it through where it is active."""
        gated = run_blocking(self._gated(request))
        if not isinstance(gated, GatedCall):
            return cast("Answered", gated or handler(request))

        async def execute(supplied: ToolCallRequest) -> Any:
            return await run_aside(lambda: handler(supplied))

        if gated.runs and not may_run(request.state):
            return run_blocking(gated.withheld())
        with self._attempts.of(gated) as attempt:
            if gated.inactive:
                return run_blocking(gated.answer(restarted=attempt.begun()))
            restarted = attempt.begin() if gated.runs else attempt.begun()
            native = gated.native
            try:
                if native is None:
                    return cast("Answered", handler(gated.supplied(restarted=restarted)))
                return _raised(run_blocking(gated.run_native(native, execute, restarted=restarted)))
            except GraphInterrupt:
                attempt.suspend()
                raise

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Answered:
        """Answers a call of the catalog, or lets it through where it is active."""
        gated = await self._gated(request)
        if not isinstance(gated, GatedCall):
            return cast("Answered", gated or await handler(request))
        if gated.runs and not may_run(request.state):
            return await gated.withheld()
        with self._attempts.of(gated) as attempt:
            if gated.inactive:
                return await gated.answer(restarted=await attempt.abegun())
            restarted = await (attempt.abegin() if gated.runs else attempt.abegun())
            native = gated.native
            try:
                if native is None:
                    return cast("Answered", await handler(gated.supplied(restarted=restarted)))
                return _raised(await gated.run_native(native, handler, restarted=restarted))
            except GraphInterrupt:
                await attempt.asuspend()
                raise

    def _mount(self, state: Any, runtime: Any) -> MountedRun:
        run_id = state.get("toolsurface_run", self._unnamed_run) if self._run_id is None else self._run_id(runtime)
        return self._controller.mount(
            run_id=run_id,
            surface=self._surface if isinstance(self._surface, str) else self._surface(runtime),
            context=getattr(runtime, "context", None),
            pins=self._pins,
            prepare_step=self._prepare_step,
        )

    async def _gated(self, request: ToolCallRequest) -> GatedCall | ToolMessage | None:
        """The answer of a call where one is recorded; the call behind the gate; None for a tool beside the catalog."""
        messages, call_id = request.state["messages"], request.tool_call["id"]
        latest = latest_of(messages, call_id)
        if isinstance(latest, ToolMessage):  # LangGraph has all calls of a turn answered, or none
            return latest
        reviewed = Reviewed.of(request, latest)
        run, asked = self._mount(request.state, request.runtime), reviewed.request
        name = asked.tool_call["name"]
        if name not in run.surface.catalog and asked.tool is not None and not isinstance(asked.tool, ClosedTool):
            return not_repeated(run, asked) if was_found(request.state) else None
        at = turn_of(messages, call_id)
        before = messages[:at]
        known = self._steps.of(run, before)
        turn = await run.open_turn([*(before if known is None else ()), reviewed.turn(messages[at])], after=known)
        if turn.name_of(str(call_id)) != name:
            # The gate and what a restart finds are those of the name in the messages, so no other one may run (REP-2).
            raise ConfigurationError(
                f"middleware: one that stands before DeferredTools made a call of {shown(name)} out of another name; "
                "let it change what the model says instead (after_model), or leave the name as it is"
            )
        return GatedCall(turn=turn, request=asked, call_id=str(call_id), name=name, redirected=reviewed.redirected)


def _registered(surfaces: Collection[CheckedSurface]) -> list[BaseTool]:
    """What the agent itself is made with: the search tool, and what LangChain must know of tools that end the run."""
    tools: dict[str, BaseTool] = {}
    direct: dict[str, BaseTool] = {}
    for made in surfaces:
        tools[made.search.name] = closed_tool(made.search)
        natives = map(native_tool, made.catalog.tools.values())
        direct |= {each.name: each for each in natives if each is not None and each.return_direct}
    for name, native in direct.items():
        if any(name in made.catalog and native_tool(made.catalog.tools[name]) is not native for made in surfaces):
            raise ConfigurationError(
                f"tool {shown(name)}: returns directly on one surface and is another tool on another one, which one "
                "agent cannot tell apart; give it another name there, or each surface an agent of its own"
            )
        tools[name] = ClosedDirectTool.of(native)
    return list(tools.values())


def _raised(answered: Answered | GraphBubbleUp) -> Answered:
    if isinstance(answered, GraphBubbleUp):
        raise answered
    return answered
