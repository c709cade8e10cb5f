"""The two runs of `benchmarks.frameworks` on pydantic-ai: its own tools, alone and behind a surface."""

from __future__ import annotations

import time
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from benchmarks.step import SEARCH_EVERY
from benchmarks.step import tools as described
from surface import Surface, create_deferred_agent_tool_surface
from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredTools, catalog_tools
from surface.testing import ScriptedRanker

RUN_ID = "bench"


async def prepare(count: int, length: int, steps: int) -> tuple[Any, Any]:
    """A run alone and a run deferred, each taking so many steps on a history that ends at `length` messages."""
    written = [
        Tool.from_schema(_echo, tool.name, tool.description, dict(tool.input.json_schema)) for tool in described(count)
    ]
    selected = [tool.name for tool in written[::97]][:5]
    controller = create_deferred_agent_tool_surface(
        application="bench",
        surfaces=[Surface(key="all", tools=catalog_tools(FunctionToolset(written)))],
        dialect=PYDANTIC_AI,
        ranker=ScriptedRanker(answers={"five": selected}),
    )
    searching = ModelResponse(parts=[ToolCallPart("search_tools", {"query": "five"}, tool_call_id="search")])
    run = controller.mount(run_id=RUN_ID, surface="all")
    (answered,) = await run.dispatch([searching])
    history = _history(answered, selected[0], length - 2 * steps)
    deferred = DeferredTools(controller, surface="all", run_id=RUN_ID)
    active = [tool for tool in written if tool.name in selected]

    def search_tools(query: str) -> str:
        """Finds tools."""
        return query

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        at = len(messages)
        if at > length:
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart(selected[0], {"id": "7"}, tool_call_id=f"call-{at}")])

    async def timed(agent: Agent[None, str]) -> float:
        started = time.process_time()
        await agent.run("Go on.", message_history=history)
        return time.process_time() - started

    alone_agent = Agent(FunctionModel(answer), tools=[search_tools, *active])
    deferred_agent = Agent(FunctionModel(answer), capabilities=[deferred])
    return (lambda: timed(alone_agent)), (lambda: timed(deferred_agent))


def _history(answered: ModelRequest, called: str, length: int) -> list[ModelMessage]:
    """So many messages: one pair in five is a search and its receipt, the others are ordinary calls."""
    (receipt,) = [part for part in answered.parts if isinstance(part, ToolReturnPart)]
    messages: list[ModelMessage] = []
    for at in range(length // 2):
        name, metadata = called, None
        content: Any = '{"entries":[1,2,3]}'
        if at % (SEARCH_EVERY // 2) == 0:
            name, content, metadata = "search_tools", receipt.content, receipt.metadata
        returned = ToolReturnPart(name, content, tool_call_id=f"old-{at}", metadata=metadata)
        messages += [
            ModelResponse(parts=[ToolCallPart(name, {}, tool_call_id=f"old-{at}")]),
            ModelRequest(parts=[returned]),
        ]
    return messages


def _echo(**arguments: Any) -> dict[str, Any]:
    return arguments
