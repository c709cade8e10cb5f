"""pydantic-ai's real loop with a scripted model: each step is a run of its own, taken up from stored messages.

`HaltAt` stops a run between two nodes, as the end of a process would; what was known by then is what is stored.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from types import SimpleNamespace
from typing import Any, Literal

from pydantic_ai import Agent, CallToolsNode, ModelRequestNode, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredTools
from surface.content import PartKind
from surface.mounted_run import Pins
from surface.testing import Answer, Scenario, ScriptedCall, StepRecord

Mode = Literal["async", "sync", "stream", "iter"]
"""`iter`: whoever drives the run streams each of its nodes, so that no node is run for it."""
PROMPT = "Do something useful."
LOOKING = "I am only looking."


class Halted(Exception):  # noqa: N818 - it is a state, not a mistake
    """The run stands where it was to stand."""

    def __init__(self, messages: list[ModelMessage]) -> None:
        self.messages = messages


class HaltAt(AbstractCapability[Any]):
    """Stops a run before its calls are made, or before the request that would follow them."""

    def __init__(self, *, requests: int, calls: bool) -> None:
        self._requests = requests
        self._calls = calls

    async def before_node_run(self, ctx: Any, *, node: Any) -> Any:
        if isinstance(node, ModelRequestNode):
            if self._requests == 0:
                raise Halted([*ctx.messages, node.request])
            self._requests -= 1
        if isinstance(node, CallToolsNode) and not self._calls and node.model_response.tool_calls:
            raise Halted(ctx.messages)
        return node


def scripted_model(turn: Sequence[ScriptedCall], first_call: int, shown: list[tuple[str, ...]]) -> FunctionModel:
    """A model that says one turn, plain or streamed, and notes what it was shown."""
    calls = [(f"call-{first_call + at}", call.name, json.dumps(dict(call.arguments))) for at, call in enumerate(turn)]

    def note(info: AgentInfo) -> None:
        shown.append(tuple(tool.name for tool in info.function_tools))

    async def respond(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        note(info)
        if not calls:
            return ModelResponse(parts=[TextPart(LOOKING)])
        return ModelResponse(
            parts=[ToolCallPart(tool_name=name, args=args, tool_call_id=call_id) for call_id, name, args in calls]
        )

    async def stream(_: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        note(info)
        if not calls:
            yield LOOKING
        for at, (call_id, name, args) in enumerate(calls):
            yield {at: DeltaToolCall(name=name, json_args=args[:5], tool_call_id=call_id)}
            yield {at: DeltaToolCall(json_args=args[5:])}

    return FunctionModel(respond, stream_function=stream)


class PydanticAIHarness:
    """Drives `Agent.run`, `Agent.run_sync`, `Agent.run` with a handler of what is streamed, or `Agent.iter`."""

    carries = frozenset({PartKind.TEXT, PartKind.IMAGE, PartKind.FILE})

    def __init__(self, mode: Mode = "async") -> None:
        self._mode = mode

    def open(
        self,
        scenario: Scenario,
        *,
        run_id: str,
        surface: str,
        history: str | None = None,
        pins: Pins = (),
        context: Any = None,
    ) -> PydanticAISession:
        deferred = DeferredTools(
            scenario.controller(PYDANTIC_AI),
            surface=lambda ctx: ctx.deps["surface"],
            run_id=lambda ctx: ctx.deps["run_id"],
            pins=pins,
        )
        deps = {"surface": surface, "run_id": run_id, "context": context}
        return PydanticAISession(deferred, deps, self._mode, history)


class PydanticAISession:
    """One conversation, kept as JSON between two steps."""

    def __init__(self, deferred: DeferredTools, deps: Any, mode: Mode, history: str | None) -> None:
        self._deferred = deferred
        self._deps = deps
        self._mode = mode
        self._history = history

    async def step(self, calls: Sequence[ScriptedCall]) -> StepRecord:
        shown: list[tuple[str, ...]] = []
        messages = await self._run(calls, shown, HaltAt(requests=1, calls=True))
        return StepRecord(advertised=shown[-1], answers=_answers(messages) if calls else ())

    async def interrupted_step(self, calls: Sequence[ScriptedCall]) -> None:
        await self._run(calls, [], HaltAt(requests=1, calls=False))

    async def resume(self) -> tuple[Answer, ...]:
        return _answers(await self._run((), [], HaltAt(requests=0, calls=True)))

    def history(self) -> str:
        assert self._history is not None
        return self._history

    async def _run(
        self, turn: Sequence[ScriptedCall], shown: list[tuple[str, ...]], halt: HaltAt
    ) -> list[ModelMessage]:
        stored = [] if self._history is None else ModelMessagesTypeAdapter.validate_json(self._history)
        written = sum(len(message.tool_calls) for message in stored if isinstance(message, ModelResponse))
        answered = bool(stored) and isinstance(stored[-1], ModelRequest)
        left = bool(stored) and isinstance(stored[-1], ModelResponse) and bool(stored[-1].tool_calls)
        halting = [] if self._mode == "iter" else [halt]
        agent = Agent(
            scripted_model(turn, written + 1, shown), deps_type=dict, capabilities=[self._deferred, *halting], retries=1
        )
        prompt = None if answered or left else PROMPT
        try:
            messages = await self._finished(agent, prompt, stored, halt)
        except Halted as halted:
            messages = halted.messages
        self._history = ModelMessagesTypeAdapter.dump_json(messages).decode()
        return ModelMessagesTypeAdapter.validate_json(self._history)

    async def _finished(
        self, agent: Agent[Any, str], prompt: str | None, stored: list[ModelMessage], halt: HaltAt
    ) -> Any:
        options: dict[str, Any] = {"message_history": stored or None, "deps": self._deps}
        if self._mode == "sync":
            return await asyncio.to_thread(lambda: _in_a_loop(lambda: agent.run_sync(prompt, **options).all_messages()))
        if self._mode == "iter":
            async with agent.iter(prompt, **options) as run:
                async for node in run:
                    await halt.before_node_run(SimpleNamespace(messages=run.all_messages()), node=node)
                    if isinstance(node, ModelRequestNode | CallToolsNode):
                        async with node.stream(run.ctx) as events:
                            await _drained(None, events)
            return run.all_messages()
        if self._mode == "stream":
            options["event_stream_handler"] = _drained
        return (await agent.run(prompt, **options)).all_messages()


def _in_a_loop(work: Callable[[], Any]) -> Any:
    """Runs blocking work in this thread, with an event loop that is closed behind it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return work()
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def _drained(_: RunContext[Any] | None, events: Any) -> None:
    async for _event in events:
        pass


def _answers(messages: list[ModelMessage]) -> tuple[Answer, ...]:
    """The answers to the last response, in the order of its calls."""
    at = max(at for at, message in enumerate(messages) if isinstance(message, ModelResponse))
    response = messages[at]
    assert isinstance(response, ModelResponse)
    returns = {
        part.tool_call_id: part
        for message in messages[at + 1 :]
        for part in message.parts
        # In older releases a refused call was answered by a part of another kind.
        if isinstance(part, ToolReturnPart) or part.part_kind == "retry-prompt"
    }
    calls = [call for call in response.tool_calls if call.tool_call_id in returns]
    return tuple(
        Answer(
            call=ScriptedCall(call.tool_name, call.args_as_dict()),
            text=_text(returns[call.tool_call_id].content),
            kinds=_kinds(returns[call.tool_call_id].content),
        )
        for call in calls
    )


def _text(content: Any) -> str:
    items = content if isinstance(content, list) else [content]
    return "".join(
        item if isinstance(item, str) else json.dumps(item) for item in items if not isinstance(item, BinaryContent)
    )


def _kinds(content: Any) -> tuple[PartKind, ...]:
    items = content if isinstance(content, list) else [content]
    return tuple(
        PartKind.TEXT
        if not isinstance(item, BinaryContent)
        else PartKind.IMAGE
        if item.media_type.startswith("image/")
        else PartKind.FILE
        for item in items
    )


__all__: Sequence[str] = ["HaltAt", "Halted", "PydanticAIHarness", "PydanticAISession", "scripted_model"]
