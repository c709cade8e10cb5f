"""The harness of the LangChain adapter: `create_agent` itself, with a scripted chat model and a checkpointer.

The graph is stopped before each model request, so that one move of a test is one step of the agent. A stored history is
the messages alone, as an application without a checkpointer would keep them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal

from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCallChunk,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from surface.adapters.langchain import LANGCHAIN_MESSAGES, DeferredTools
from surface.adapters.langchain.messages import left_open
from surface.content import PartKind
from surface.mounted_run import Pins
from surface.testing import Answer, Scenario, ScriptedCall, StepRecord

How = Literal["invoke", "ainvoke", "stream", "astream"]


class ScriptedChatModel(BaseChatModel):
    """A chat model that says what it is told next, and notes what it was shown."""

    turns: list[Sequence[ScriptedCall] | str]
    advertised: list[tuple[str, ...]] = Field(default_factory=list)
    instructed: list[str] = Field(default_factory=list)
    """The system message of each request that had one."""
    bound: tuple[dict[str, Any], ...] = ()

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        # Everything is shared with the model that the test holds, but for what is bound.
        shared = self.model_copy(update={"bound": tuple(map(convert_to_openai_tool, tools))})
        shared.turns, shared.advertised, shared.instructed = self.turns, self.advertised, self.instructed
        return shared

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._say(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        said = self._say(messages)
        for at, call in enumerate(said.tool_calls):
            written = json.dumps(call["args"])
            for name, part in ((call["name"], written[:5]), (None, written[5:])):
                chunk = ToolCallChunk(name=name, args=part, id=call["id"] if name else None, index=at)
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))
        if not said.tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk(content=said.content))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk

    def _say(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.advertised.append(tuple(tool["function"]["name"] for tool in self.bound))
        self.instructed.extend(message.text for message in messages if isinstance(message, SystemMessage))
        turn = self.turns.pop(0)
        if isinstance(turn, str):
            return AIMessage(turn)
        written = sum(len(message.tool_calls) for message in messages if isinstance(message, AIMessage))
        return AIMessage(
            "",
            tool_calls=[
                {"name": call.name, "args": dict(call.arguments), "id": f"call-{written + at}", "type": "tool_call"}
                for at, call in enumerate(turn, start=1)
            ],
        )


class LangChainHarness:
    """Drives `create_agent` in one of the four ways that an application may."""

    def __init__(self, how: How, *, middleware: type[DeferredTools] = DeferredTools) -> None:
        self._how = how
        self._middleware = middleware

    @property
    def carries(self) -> frozenset[PartKind]:
        return frozenset({PartKind.TEXT, PartKind.IMAGE, PartKind.FILE})

    def open(
        self,
        scenario: Scenario,
        *,
        run_id: str,
        surface: str,
        history: str | None = None,
        pins: Pins = (),
        context: Any = None,
    ) -> LangChainSession:
        controller = scenario.controller(LANGCHAIN_MESSAGES)
        middleware = self._middleware(controller, surface=surface, run_id=lambda _runtime: run_id, pins=pins)
        model = ScriptedChatModel(turns=[])
        agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
        stored = [HumanMessage("Do something useful.")] if history is None else messages_from_dict(json.loads(history))
        return LangChainSession(agent, model, self._how, stored, context)


class LangChainSession:
    """One thread of a checkpointer, moved step by step."""

    def __init__(
        self, agent: Any, model: ScriptedChatModel, how: How, stored: Sequence[BaseMessage], context: Any
    ) -> None:
        self._agent = agent
        self._model = model
        self._how = how
        self._context = context
        self._config = {"configurable": {"thread_id": "thread"}}
        self._input: dict[str, Any] | None = {"messages": stored}

    async def step(self, calls: Sequence[ScriptedCall]) -> StepRecord:
        before = await self._before_the_model()
        self._model.turns.append(calls or "I am only looking.")
        await self._move(None, interrupt_before=["model"])
        return StepRecord(advertised=self._model.advertised[-1], answers=self._answers_after(before))

    async def interrupted_step(self, calls: Sequence[ScriptedCall]) -> None:
        await self._before_the_model()
        self._model.turns.append(calls)
        await self._move(None, interrupt_before=["tools"])

    async def resume(self) -> tuple[Answer, ...]:
        given = self._input or {"messages": []}
        await self._before_the_model()
        return self._answers_after(len(given["messages"]))

    def history(self) -> str:
        return json.dumps(messages_to_dict(self._messages))

    async def _before_the_model(self) -> int:
        """Brings the graph to its next model request; the number of messages there."""
        if self._input is not None or not self._agent.get_state(self._config).next:
            # What ended with a text goes on as a new execution, under the run id that the test gave.
            await self._move(self._input or {"messages": []}, interrupt_before=["model"])
            self._input = None
        if left_open(self._messages):
            # The node of the model repeats the turn that the history ends with, and the graph goes on to the next.
            await self._move(None, interrupt_before=["model"])
        return len(self._messages)

    @property
    def _messages(self) -> list[BaseMessage]:
        values = self._agent.get_state(self._config).values
        return list(values["messages"]) if values else list((self._input or {})["messages"])

    def _answers_after(self, before: int) -> tuple[Answer, ...]:
        messages = self._messages
        calls = {
            call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
        }
        answers = {each.tool_call_id: each for each in messages[before:] if isinstance(each, ToolMessage)}
        return tuple(
            Answer(
                call=ScriptedCall(calls[call_id]["name"], calls[call_id]["args"]),
                text=str(message.text),
                kinds=_kinds(message),
            )
            for call_id, message in answers.items()
        )

    async def _move(self, given: dict[str, Any] | None, *, interrupt_before: Sequence[str]) -> None:
        options: dict[str, Any] = {"interrupt_before": interrupt_before, "context": self._context}
        match self._how:
            case "invoke":
                self._agent.invoke(given, self._config, **options)
            case "ainvoke":
                await self._agent.ainvoke(given, self._config, **options)
            case "stream":
                for _ in self._agent.stream(given, self._config, stream_mode=["updates", "messages"], **options):
                    pass
            case "astream":
                async for _ in self._agent.astream(given, self._config, stream_mode=["updates", "messages"], **options):
                    pass


def _kinds(message: ToolMessage) -> tuple[PartKind, ...]:
    if isinstance(message.content, str):
        return (PartKind.TEXT,)
    return tuple(PartKind(block["type"]) for block in message.content if isinstance(block, dict))
