"""Small LangChain agents around a catalog, for tests of one behaviour each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt.tool_node import ToolCallRequest

from surface import DeferredAgentToolSurface, Service, Surface, Tool, create_deferred_agent_tool_surface
from surface.adapters.langchain import LANGCHAIN_MESSAGES, DeferredTools, langchain_tool
from surface.search_tool import DEFAULT_NAME as SEARCH
from surface.testing import ScriptedCall, ScriptedRanker
from tests.frameworks.langchain_harness import ScriptedChatModel

Turns = Sequence[Sequence[ScriptedCall] | str]


def call(name: str, **arguments: Any) -> ScriptedCall:
    """A call of a tool."""
    return ScriptedCall(name, arguments)


def search(query: str) -> ScriptedCall:
    """A search; the ranker of `controller_of` answers with the names in the query."""
    return ScriptedCall(SEARCH, {"query": query})


class Dies(BaseException):
    """What ends a process in the middle of a tool, as far as a test inside one can have it."""


def dying(ran: list[str]) -> BaseTool:
    """The tool ``pay``, in which the process ends once it has noted that it ran."""

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        raise Dies

    return pay


@dataclass(slots=True)
class NamesInTheQuery:
    """Ranks the names that the query lists."""

    id: str = "names"

    async def rank(self, request: Any) -> Any:
        return await ScriptedRanker(answers={request.query: request.query.split()}).rank(request)


def controller_of(tools: Sequence[Any], *, always_on: Sequence[str] = (), **options: Any) -> DeferredAgentToolSurface:
    """A controller with one surface, ``desk``; what is no tool of the library's goes through `langchain_tool`."""
    made = [each if isinstance(each, (Tool, Service)) else langchain_tool(each) for each in tools]
    return create_deferred_agent_tool_surface(
        application="test",
        surfaces=[Surface(key="desk", tools=made, always_on=always_on)],
        dialect=LANGCHAIN_MESSAGES,
        ranker=NamesInTheQuery(),
        **options,
    )


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent and the model that is its script."""

    graph: Any
    model: ScriptedChatModel

    async def ask(self, turns: Turns, how: str = "ainvoke", *, thread: str = "main", **options: Any) -> list[Any]:
        """The messages after the model has said all this to a new request."""
        self.model.turns.extend(turns)
        return await self.move({"messages": [HumanMessage("Please.")]}, how, thread=thread, **options)

    async def move(self, given: Any, how: str = "ainvoke", *, thread: str = "main", **options: Any) -> list[Any]:
        """The messages after the graph has taken what it was given as far as it goes."""
        config = {"configurable": {"thread_id": thread}, **options.pop("config", {})}
        if how == "ainvoke":
            return list((await self.graph.ainvoke(given, config, **options))["messages"])
        return list(self.graph.invoke(given, config, **options)["messages"])


def agent_of(
    tools: Sequence[Any],
    *,
    before: Sequence[Any] = (),
    after: Sequence[Any] = (),
    beside: Sequence[Any] = (),
    always_on: Sequence[str] = (),
    create: Callable[..., Any] = create_agent,
    deferred: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    **graph: Any,
) -> Agent:
    """An agent whose deferred tools stand between the middleware `before` (outer) and `after` (inner)."""
    model = ScriptedChatModel(turns=[])
    middleware = DeferredTools(
        controller_of(tools, always_on=always_on, **(options or {})), **{"surface": "desk", **(deferred or {})}
    )
    made = create(model, tools=list(beside), middleware=[*before, middleware, *after], **graph)
    return Agent(made, model)


class Renames(AgentMiddleware[Any, Any, Any]):
    """Makes one call out of another before the gate sees it."""

    def __init__(self, written: str, made: str) -> None:
        super().__init__()
        self._written, self._made = written, made

    def _renamed(self, request: ToolCallRequest) -> ToolCallRequest:
        asked = request.tool_call
        return request.override(tool_call={**asked, "name": self._made}) if asked["name"] == self._written else request

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return handler(self._renamed(request))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return await handler(self._renamed(request))


def answers(messages: Sequence[Any]) -> list[ToolMessage]:
    """Every tool message, in order."""
    return [message for message in messages if isinstance(message, ToolMessage)]


def last(messages: Sequence[Any]) -> ToolMessage:
    """The last tool message."""
    return answers(messages)[-1]


def calls_of(messages: Sequence[Any]) -> list[str]:
    """The names that the model called, in order."""
    return [each["name"] for message in messages if isinstance(message, AIMessage) for each in message.tool_calls]


def prune(saver: InMemorySaver) -> None:
    """Deletes all but the newest checkpoint, as a job may that keeps a store small."""
    kept = saver.storage["main"][""]
    newest = max(kept)
    for each in [each for each in kept if each != newest]:
        del kept[each]
        saver.writes.pop(("main", "", each), None)
