"""What becomes of single calls behind the gate: whose arguments run, what a restart finds, what streams."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai import Tool as PydanticAITool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from surface import Tool, tool
from surface.adapters.pydantic_ai import catalog_tools, listed_tools
from surface.call import CallContext
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Calls, Desk, close_account, refund, returns

REFUND = ("refund", {"amount": 5})


def _paying(paid: list[int]) -> Tool:
    @tool
    def pay(euros: int, call: CallContext) -> str:
        """Pays."""
        paid.append(euros)
        return f"paid {euros} for {call.context.run_id}"

    return pay


class Changes(AbstractCapability[Any]):
    """Gives calls other arguments, and notes each with the tool that pydantic-ai takes it for."""

    def __init__(self, **arguments: dict[str, Any]) -> None:
        self.arguments = arguments
        self.seen: list[tuple[str, str]] = []

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        self.seen.append((call.tool_name, tool_def.name))
        return self.arguments.get(call.tool_name, args)


@pytest.mark.rule("MNT-1", "SRC-2")
async def test_a_hook_changes_the_arguments_of_a_tool_of_the_librarys_and_not_those_of_a_search() -> None:
    paid: list[int] = []
    changes = Changes(search_tools={"query": "nothing"}, pay={"euros": 7})
    bench = Bench(made=[_paying(paid)], capabilities=[changes])
    result = await bench.run([("pay", {"euros": 1})], [SEARCH], [("pay", {"euros": 5})])
    assert paid == [7]
    assert returns(result)[-1].content == "paid 7 for run-1"
    assert changes.seen == [(name, name) for name in ("pay", "search_tools", "pay")]


@pytest.mark.rule("MNT-9", "REP-1", "REP-3")
async def test_what_a_restart_finds_is_answered_call_by_call_also_where_a_tool_is_hidden_or_there_is_none() -> None:
    asked: list[int] = []
    paid: list[int] = []
    made = [*catalog_tools(refund), *catalog_tools(close_account, read_only=["close_account"]), _paying(paid)]

    def pins(_deps: Any, transcript: Any) -> list[str]:
        asked.append(len(transcript.steps))
        return ["refund", "pay"]

    bench = Bench(made=made, pins=pins)
    stored: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Go on.")]),
        ModelResponse(
            parts=[
                ToolCallPart(name, args, tool_call_id=name)
                for name, args in (REFUND, ("pay", {"euros": 1}), ("close_account", {}), ("nope", {}), SEARCH)
            ]
        ),
    ]
    result = await bench.run(history=stored)
    told = {part.tool_name: str(part.content) for part in result.all_messages()[2].parts if part.part_kind != "text"}
    assert ("INTERRUPTED" in told["refund"], "INTERRUPTED" in told["pay"]) == (True, True)
    assert "SEARCH_REQUIRED" in told["close_account"]
    assert "SELECTED" in told["search_tools"]
    assert "nope" in told["nope"]
    assert (bench.desk.did, paid) == ([], [])
    # The turn that was left open is planned once for all its calls; the step behind it is another.
    assert asked == [0, 1]


@pytest.mark.parametrize("filters", [True, False])
async def test_what_its_own_toolset_does_not_offer_in_a_step_is_not_shown_and_cannot_be_called(
    *, filters: bool
) -> None:
    functions = FunctionToolset([refund, close_account])
    gone: set[str] = set()
    toolset = functions.filtered(lambda _, each: each.name not in gone) if filters else functions
    bench = Bench(made=await listed_tools(toolset))
    gone.add("refund")
    if not filters:
        del functions.tools["refund"]
    result = await bench.run([SEARCH], [REFUND, ("close_account", {})])
    assert bench.shown[1] == ["search_tools", "close_account"]
    assert bench.desk.did == ["close"]
    assert bench.outcomes[1] == ("refund", "INACTIVE")
    assert "refunded" not in str(returns(result))


async def test_a_tool_keeps_its_validator_of_arguments() -> None:
    def check(_ctx: RunContext[Desk], amount: int) -> None:
        if amount == 13:
            raise ModelRetry("Not that one.")

    bench = Bench(PydanticAITool(refund, args_validator=check))
    result = await bench.run([SEARCH], [("refund", {"amount": 13})], [REFUND])
    assert bench.outcomes == [("search_tools", "ok"), ("refund", "VALIDATION_ERROR"), ("refund", "ok")]
    assert "Not that one." in str(result.all_messages())
    assert bench.desk.did == ["refund 5 in call-2-0"]


def streaming(*turns: Calls) -> FunctionModel:
    """A model that streams these turns, and then that it is done."""
    left = list(turns)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if not left:
            yield "Done."
            return
        for at, (name, args) in enumerate(left.pop(0)):
            yield {at: DeltaToolCall(name, json.dumps(args), tool_call_id=f"call-{len(messages)}-{at}")}

    return FunctionModel(stream_function=stream)


@pytest.mark.rule("REP-1", "REP-3")
async def test_calls_that_are_streamed_node_by_node_cost_no_retries_either() -> None:
    bench = Bench(refund)
    bench.agent.model = streaming([REFUND], [("nope", {})], [("nope", {})], [REFUND])
    async with bench.agent.iter("Go on.", deps=bench.desk) as run:
        async for node in run:
            if Agent.is_model_request_node(node) or Agent.is_call_tools_node(node):
                async with node.stream(run.ctx) as events:
                    async for _ in events:
                        pass
    assert bench.outcomes == [("refund", "INACTIVE"), (None, "UNKNOWN_TOOL"), (None, "UNKNOWN_TOOL"), ("refund", "ok")]
    assert bench.desk.did == ["refund 5 in call-7-0"]


@pytest.mark.rule("MNT-1")
async def test_what_a_run_streams_tells_of_the_calls_of_a_surface_under_their_own_names() -> None:
    @tool
    def note() -> str:
        """Notes something."""
        return "noted"

    bench = Bench(refund, made=[note])
    bench.agent.model = streaming([SEARCH], [REFUND, ("note", {}), ("nope", {})])
    asked: list[str] = []
    told: dict[str, str] = {}
    async with bench.agent.run_stream_events("Go on.", deps=bench.desk) as events:
        async for event in events:
            if isinstance(event, FunctionToolCallEvent):
                asked.append(event.part.tool_name)
            if isinstance(event, FunctionToolResultEvent):
                told[event.part.tool_name or ""] = str(event.part.content)
    assert asked == ["search_tools", "refund", "note", "nope"]
    assert "SELECTED" in told["search_tools"]
    assert (told["refund"], told["note"]) == ("refunded 5", "noted")
    assert "UNKNOWN_TOOL" in told["nope"]
