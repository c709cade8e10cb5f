"""Other capabilities of the agent: no model is asked, a response is refused, a history is edited."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.exceptions import SkipModelRequest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models.test import TestModel

from surface import TranscriptError
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Calls, Desk, refund, returns
from tests.frameworks.test_pydantic_ai_journal import KilledError, Table, Teller


class Cache(AbstractCapability[Any]):
    """Gives turns that no model is asked for, in one of the two ways that pydantic-ai has for it."""

    def __init__(self, *turns: Calls, skips: bool) -> None:
        self.turns = [
            ModelResponse(parts=[ToolCallPart(name, args, tool_call_id=f"kept-{at}") for name, args in turn])
            for at, turn in enumerate(turns)
        ]
        self.skips = skips

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        if self.skips and self.turns:
            raise SkipModelRequest(self.turns.pop(0))
        return request_context

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
        if self.turns and not self.skips:
            return self.turns.pop(0)
        return await handler(request_context)


async def ran(bench: Bench, way: str) -> None:
    if way == "run":
        await bench.run()
        return
    bench.agent.model = TestModel(call_tools=[], custom_output_text="Done.")
    if way == "run_stream":
        async with bench.agent.run_stream("Go on.", deps=bench.desk) as result:
            await result.get_output()
    else:
        async with bench.agent.run_stream_events("Go on.", deps=bench.desk) as events:
            async for _ in events:
                pass


@pytest.mark.rule("REP-1", "REP-3")
@pytest.mark.parametrize("way", ["run", "run_stream", "run_stream_events"])
@pytest.mark.parametrize("skips", [True, False])
async def test_inactive_and_unknown_names_in_a_response_that_no_model_gave_are_answered_by_the_gate(
    way: str, *, skips: bool
) -> None:
    turns: list[Calls] = [[("refund", {"amount": 1})], [("nope", {})], [("nope", {})], [("refund", {"amount": 2})]]
    bench = Bench(refund, capabilities=[Cache(*turns, skips=skips)])
    await ran(bench, way)
    assert bench.outcomes == [("refund", "INACTIVE"), (None, "UNKNOWN_TOOL"), (None, "UNKNOWN_TOOL"), ("refund", "ok")]
    assert bench.desk.did == ["refund 2 in kept-3"]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("skips", [True, False])
async def test_a_call_of_a_response_that_no_model_gave_is_not_run_again_after_a_kill(*, skips: bool) -> None:
    teller, table = Teller(), Table()

    def bench() -> Bench:
        return Bench(teller.wire, journal=table, capabilities=[Cache([SEARCH], [("wire", {})], skips=skips)])

    with pytest.raises(KilledError):
        await bench().run()
    teller.dies = False
    result = await bench().run()
    assert teller.ran == ["wire kept-1"]
    assert "INTERRUPTED" in str(returns(result)[-1].content)


class Refuses(AbstractCapability[Any]):
    """Has the model asked again after its second response."""

    def __init__(self) -> None:
        self.seen = 0

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        self.seen += 1
        if self.seen == 2:
            raise ModelRetry("Once more.")
        return response


@pytest.mark.rule("ACT-1", "MNT-9")
async def test_a_response_that_a_capability_refuses_is_passed_over_and_its_calls_are_not_begun() -> None:
    table = Table()
    bench = Bench(refund, journal=table, capabilities=[Refuses()])
    await bench.run([SEARCH], [("refund", {"amount": 1})], [("refund", {"amount": 2})])
    assert bench.desk.did == ["refund 2 in call-2-0"]
    assert bench.shown[2] == ["search_tools", "refund"]
    assert not any("call-1-0" in name for name in table.texts)


async def test_a_stored_history_with_open_calls_and_a_prompt_behind_them_goes_on_without_them() -> None:
    bench = Bench(refund)
    stored: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Refund it.")]),
        ModelResponse(parts=[ToolCallPart("refund", {"amount": 1}, tool_call_id="a")]),
        ModelRequest(parts=[UserPromptPart("Never mind.")]),
    ]
    result = await bench.run(history=stored)
    assert (result.output, bench.desk.did, bench.shown) == ("Done.", [], [["search_tools"]])


@pytest.mark.rule("REP-2")
async def test_what_a_step_advertised_may_run_though_a_history_processor_forgot_the_search() -> None:
    def forgets(messages: list[ModelMessage]) -> list[ModelMessage]:
        return messages if len(messages) < 4 else [messages[0], messages[-1]]

    bench = Bench(refund, capabilities=[ProcessHistory(forgets)])
    await bench.run([SEARCH], [("refund", {"amount": 1})], [("refund", {"amount": 2})], [("refund", {"amount": 3})])
    found = ["search_tools", "refund"]
    # The next step is of the messages as they then are: it neither advertises the tool nor runs it.
    assert bench.shown == [["search_tools"], found, found, ["search_tools"], found]
    assert [each.split(" in ")[0] for each in bench.desk.did] == ["refund 1", "refund 2"]
    assert [outcome for _, outcome in bench.outcomes] == ["ok", "ok", "ok", "INACTIVE"]


@pytest.mark.rule("MNT-1")
@pytest.mark.parametrize("its_own", [True, False])
async def test_a_tool_of_a_surface_cannot_be_called_out_of_another_one(*, its_own: bool) -> None:
    def inner(ctx: RunContext[Desk]) -> str:
        """Does a part."""
        ctx.deps.did.append("inner")
        return "done"

    async def outer(ctx: RunContext[Desk]) -> str:
        """Does all of it."""
        manager: Any = ctx.tool_manager
        call = ToolCallPart("inner", {}, tool_call_id=(its_own and ctx.tool_call_id) or "fresh")
        try:
            return str(await manager.handle_call(call))
        except TranscriptError as error:
            return str(error)

    bench = Bench(inner, outer)
    result = await bench.run([SEARCH], [("outer", {})])
    assert bench.desk.did == []
    assert "holds no such call of inner; only a model calls the tools of a surface" in str(returns(result)[-1].content)
    assert bench.outcomes[1:] == [("outer", "ok")]


async def test_wrong_arguments_of_a_tool_beside_the_surface_are_pydantic_ais_own_affair() -> None:
    def look(amount: int) -> str:
        """Stands beside the surface."""
        return f"saw {amount}"

    bench = Bench(refund, tools=[look])
    result = await bench.run([("look", {"amount": "all"})], [("look", {"amount": 2})])
    assert returns(result)[-1].content == "saw 2"
    assert bench.outcomes == []
