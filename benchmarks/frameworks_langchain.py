"""The two runs of `benchmarks.frameworks` on LangChain's `create_agent`: its own tools, alone and behind a surface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import StructuredTool

from benchmarks.step import SEARCH_EVERY
from benchmarks.step import tools as described
from surface import Surface, create_deferred_agent_tool_surface
from surface.adapters.langchain import LANGCHAIN_MESSAGES, DeferredTools, langchain_tool
from surface.testing import ScriptedRanker

RUN_ID = "bench"
Kept = Callable[[], AbstractAsyncContextManager[Any]]


class _Model(BaseChatModel):
    """Calls one tool until the history is as long as it shall be."""

    calls: str
    until: int

    @property
    def _llm_type(self) -> str:
        return "bench"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:  # noqa: ARG002 - for both runs
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the signature is LangChain's
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **_: Any,
    ) -> ChatResult:
        at = len(messages)
        said = AIMessage("Done.") if at > self.until else _called(self.calls, {"id": "7"}, f"call-{at}")
        return ChatResult(generations=[ChatGeneration(message=said)])


async def prepare(count: int, length: int, steps: int, kept: Kept = nullcontext) -> tuple[Any, Any]:
    """A run alone and a run deferred, each taking so many steps on a history that ends at `length` messages.

    `kept` opens what keeps the checkpoints of one run; None keeps none.
    """
    written = [
        StructuredTool.from_function(
            func=_echo, name=tool.name, description=tool.description, args_schema=dict(tool.input.json_schema)
        )
        for tool in described(count)
    ]
    selected = [tool.name for tool in written[::97]][:5]
    controller = create_deferred_agent_tool_surface(
        application="bench",
        surfaces=[Surface(key="all", tools=[langchain_tool(tool) for tool in written])],
        dialect=LANGCHAIN_MESSAGES,
        ranker=ScriptedRanker(answers={"five": selected}),
    )
    run = controller.mount(run_id=RUN_ID, surface="all")
    (receipt,) = await run.dispatch([_called("search_tools", {"query": "five"}, "search")])
    history = [HumanMessage("Go on."), *_history(receipt, selected[0], length - 2 * steps)]
    deferred = DeferredTools(controller, surface="all", run_id=lambda _runtime: RUN_ID)

    def search_tools(query: str) -> str:
        """Finds tools."""
        return query

    async def timed(**options: Any) -> float:
        async with kept() as saver:
            agent: Any = create_agent(model, checkpointer=saver, **options)
            config = {"recursion_limit": 10 * steps, "configurable": {"thread_id": RUN_ID}}
            started = time.process_time()
            await agent.ainvoke({"messages": history}, config)
            return time.process_time() - started

    model = _Model(calls=selected[0], until=length)
    active = [tool for tool in written if tool.name in selected]
    return (lambda: timed(tools=[search_tools, *active])), (lambda: timed(middleware=[deferred]))


def _history(receipt: ToolMessage, called: str, length: int) -> list[BaseMessage]:
    """So many messages: one pair in five is a search and its receipt, the others are ordinary calls."""
    messages: list[BaseMessage] = []
    for at in range(length // 2):
        name, content, artifact = called, '{"entries":[1,2,3]}', None
        if at % (SEARCH_EVERY // 2) == 0:
            name, content, artifact = "search_tools", str(receipt.content), receipt.artifact
        messages += [
            _called(name, {}, f"old-{at}"),
            ToolMessage(content, name=name, tool_call_id=f"old-{at}", artifact=artifact),
        ]
    return messages


def _called(name: str, arguments: dict[str, Any], call_id: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id, "type": "tool_call"}])


def _echo(**arguments: Any) -> dict[str, Any]:
    return arguments
