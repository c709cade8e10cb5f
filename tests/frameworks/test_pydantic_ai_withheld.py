"""A step from which the agent's own preparation, or a toolset around all others, takes every tool of the surface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic_ai import Agent, AgentRunResultEvent, ToolOutput
from pydantic_ai.capabilities import AbstractCapability, PrepareTools
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.toolsets import WrapperToolset

from surface import ConfigurationError
from surface.adapters.pydantic_ai import catalog_tools
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Desk, close_account, refund, returns

REFUND = ("refund", {"amount": 5})
WAYS = ["run", "run_sync", "run_stream", "run_stream_events", "iter"]
Step = Callable[[int], bool]


def prepared(in_step: Step, *kept: str) -> AbstractCapability[Any]:
    """Leaves only these tools in the steps that are meant."""
    return PrepareTools(lambda ctx, tools: [each for each in tools if each.name in kept or not in_step(ctx.run_step)])


def around(in_step: Step, taken: str | None = None) -> AbstractCapability[Any]:
    """Takes all tools away in the steps that are meant, or one, with a toolset around all tools of the agent."""

    class Around(WrapperToolset[Any]):
        async def get_tools(self, ctx: Any) -> Any:
            if not in_step(ctx.run_step):
                return await super().get_tools(ctx)
            offered = {} if taken is None else await super().get_tools(ctx)
            return {name: each for name, each in offered.items() if name != taken}

    class Policy(AbstractCapability[Any]):
        def get_wrapper_toolset(self, toolset: Any) -> Any:
            return Around(toolset)

    return Policy()


def bench_of(*tools: Any, **options: Any) -> Bench:
    """A bench whose model streams, too."""
    bench = Bench(*tools, **options)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        said = bench._answer(messages, info)
        for at, part in enumerate(said.parts):
            if isinstance(part, ToolCallPart):
                args = json.dumps(part.args)
                yield {at: DeltaToolCall(name=part.tool_name, json_args=args, tool_call_id=part.tool_call_id)}
            else:
                yield "Done."

    bench.agent.model = FunctionModel(bench._answer, stream_function=stream)
    return bench


async def ran(bench: Bench, way: str) -> list[ModelMessage]:
    """The messages of a run in one of the ways there are to run an agent."""
    if way == "run":
        return list((await bench.agent.run("Go on.", deps=bench.desk)).all_messages())
    if way == "run_sync":
        return await asyncio.to_thread(in_a_loop, bench)
    if way == "run_stream":
        async with bench.agent.run_stream("Go on.", deps=bench.desk) as streamed:
            assert await streamed.get_output() == "Done."
        return list(streamed.all_messages())
    if way == "run_stream_events":
        async with bench.agent.run_stream_events("Go on.", deps=bench.desk) as events:
            finished = [event.result async for event in events if isinstance(event, AgentRunResultEvent)]
        return list(finished[0].all_messages())
    async with bench.agent.iter("Go on.", deps=bench.desk) as run:
        async for node in run:
            if Agent.is_model_request_node(node) or Agent.is_call_tools_node(node):
                async with node.stream(run.ctx) as events:
                    async for _ in events:
                        pass
    return list(run.all_messages())


def in_a_loop(bench: Bench) -> list[ModelMessage]:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return list(bench.agent.run_sync("Go on.", deps=bench.desk).all_messages())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def told_in(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for message in messages for part in message.parts if part.part_kind == "tool-return"]


@pytest.mark.rule("REP-1", "REP-2", "REP-3")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("takes", [prepared, around])
async def test_a_step_without_tools_advertises_none_and_its_calls_are_answered_without_a_retry_and_do_not_run(
    takes: Callable[[Step], AbstractCapability[Any]], way: str
) -> None:
    bench = bench_of(refund, close_account, retries=0, capabilities=[takes(lambda step: step in (2, 3))])
    bench.turns = [[SEARCH], [REFUND, SEARCH, ("nope", {})], [("nope", {})], [REFUND]]
    messages = await ran(bench, way)
    found = ["search_tools", "refund", "close_account"]
    assert bench.shown == [["search_tools"], [], [], found, found]
    assert sorted(bench.outcomes[1:4], key=str) == [
        ("refund", "INACTIVE"),
        ("search_tools", "INACTIVE"),
        (None, "UNKNOWN_TOOL"),
    ]
    assert bench.outcomes[4:] == [(None, "UNKNOWN_TOOL"), ("refund", "ok")]
    assert [each.split(" in ")[0] for each in bench.desk.did] == ["refund 5"]
    told = told_in(messages)
    assert "narrowed" in told[1]
    assert "No tool of this surface is offered in this step" in told[2]
    assert not any("close_account" in each for each in told[2:])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("takes", [prepared, around])
async def test_an_answer_in_words_ends_a_run_whose_last_step_has_no_tools(
    takes: Callable[[Step], AbstractCapability[Any]], way: str
) -> None:
    bench = bench_of(refund, capabilities=[takes(lambda step: step == 3)])
    bench.turns = [[SEARCH], [REFUND]]
    await ran(bench, way)
    assert bench.shown == [["search_tools"], ["search_tools", "refund"], []]
    assert len(bench.desk.did) == 1


@pytest.mark.rule("REP-1", "REP-2")
@pytest.mark.parametrize("takes", [prepared, around])
async def test_a_hidden_tool_that_is_called_in_a_step_without_tools_is_active_in_the_next_step_that_has_some(
    takes: Callable[[Step], AbstractCapability[Any]],
) -> None:
    bench = Bench(refund, capabilities=[takes(lambda step: step <= 1)])
    result = await bench.run([REFUND], [REFUND])
    assert bench.shown == [[], *[["search_tools", "refund"]] * 2]
    assert "SEARCH_REQUIRED" in str(returns(result)[0].content)
    assert bench.desk.did == ["refund 5 in call-1-0"]


@pytest.mark.rule("REP-1")
@pytest.mark.parametrize("takes", [prepared, around])
async def test_calls_of_a_step_without_tools_come_to_the_gate_also_where_the_agent_has_tools_for_its_output(
    takes: Callable[[Step], AbstractCapability[Any]],
) -> None:
    bench = Bench(refund, retries=0, output_type=ToolOutput(int, name="total"), capabilities=[takes(lambda _: True)])
    result = await bench.run([REFUND], [REFUND], [("total", {"response": 5})])
    assert (result.output, bench.desk.did) == (5, [])
    assert bench.outcomes == [("refund", "INACTIVE")] * 2


async def test_the_other_tools_of_the_agent_may_stay_in_a_step_that_loses_those_of_the_surface() -> None:
    kept = prepared(lambda step: step == 2, "close_account")
    bench = Bench(refund, tools=[close_account], capabilities=[kept])
    await bench.run([SEARCH], [("close_account", {}), REFUND], [REFUND])
    assert bench.shown[1:3] == [["close_account"], ["close_account", "search_tools", "refund"]]
    assert bench.desk.did == ["close", "refund 5 in call-2-0"]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("takes", [prepared, around])
async def test_a_call_that_a_restart_finds_and_whose_tool_the_agent_takes_away_may_have_run(
    takes: Callable[[Step], AbstractCapability[Any]],
) -> None:
    made = [*catalog_tools(refund), *catalog_tools(close_account, read_only=["close_account"])]
    bench = Bench(made=made, pins=["refund", "close_account"], capabilities=[takes(lambda step: step <= 1)])
    stored: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Go on.")]),
        ModelResponse(parts=[ToolCallPart(*REFUND, tool_call_id="a"), ToolCallPart("close_account", tool_call_id="b")]),
    ]
    result = await bench.run(history=stored)
    told = {part.tool_name: str(part.content) for part in returns(result)}
    assert "INTERRUPTED" in told["refund"]
    assert "narrowed" in told["close_account"]
    assert bench.desk.did == []


async def test_a_toolset_outside_of_all_that_takes_the_search_tool_alone_is_told_so_before_a_call_is_made() -> None:
    bench = Bench(refund, pins=["refund"])
    outside = around(lambda _: True, "search_tools")
    bench.agent = Agent(FunctionModel(bench._answer), deps_type=Desk, capabilities=[outside, bench.deferred])
    with pytest.raises(ConfigurationError, match=r"^search_tools: is not among the tools"):
        await bench.run([REFUND])
    assert (bench.shown, bench.desk.did) == ([["refund"]], [])


@pytest.mark.rule("ACT-8")
async def test_the_search_tool_alone_cannot_be_taken_away_and_no_model_is_asked_in_vain() -> None:
    bench = Bench(refund, pins=["refund"], capabilities=[prepared(lambda _: True, "refund")])
    with pytest.raises(ConfigurationError, match=r"^search_tools: is not among the tools .* filter it only together"):
        await bench.run([REFUND])
    assert (bench.shown, bench.desk.did) == ([], [])
