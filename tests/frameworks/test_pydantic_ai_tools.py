"""Tools that are written for pydantic-ai keep what they had: schema, context, retries, approval, hooks, streaming."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from typing import Any

import anyio
import pytest
from pydantic_ai import Agent, RunContext, Tool, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.messages import ToolReturnPart as Return
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDefinition, ToolDenied
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset

from surface import ConfigurationError, Surface, create_deferred_agent_tool_surface, tool
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.pydantic_ai import DeferredTools, catalog_tools, listed_tools
from surface.errors import DialectError
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Calls, Desk, close_account, refund, returns


def test_the_schema_of_a_catalog_is_the_one_that_pydantic_ai_sends() -> None:
    (made,) = catalog_tools(refund)
    written = Tool(refund).tool_def
    assert (made.name, made.description) == (written.name, written.description)
    assert made.input.json_schema == written.parameters_json_schema
    assert "amount" in written.parameters_json_schema["properties"]
    assert "ctx" not in json.dumps(written.parameters_json_schema)


@pytest.mark.rule("MNT-1", "MNT-9")
async def test_a_function_keeps_its_context_and_its_retries() -> None:
    bench = Bench(refund)
    result = await bench.run([SEARCH], [("refund", {"amount": 500})], [("refund", {"amount": 50})])
    assert bench.desk.did == ["refund 50 in call-2-0"]
    assert bench.shown == [["search_tools"], *[["search_tools", "refund"]] * 3]
    assert [part.outcome for part in returns(result)][-1] == "success"
    assert bench.outcomes == [("search_tools", "ok"), ("refund", "RETRY"), ("refund", "ok")]


@pytest.mark.rule("MNT-3", "EVD-1")
async def test_arguments_that_pydantic_ai_refuses_are_refused_in_its_words_and_reported() -> None:
    bench = Bench(refund)
    await bench.run([SEARCH], [("refund", {"amount": "much"})], [("refund", {"amount": 5})])
    assert bench.outcomes == [("search_tools", "ok"), ("refund", "VALIDATION_ERROR"), ("refund", "ok")]


@pytest.mark.rule("REP-1", "REP-2", "REP-3")
async def test_inactive_and_unknown_calls_cost_no_retries_however_often_they_are_made() -> None:
    bench = Bench(refund, close_account)
    wrong: Calls = [("refund", {"amount": "no number"}), ("close_acount", {})]
    result = await bench.run(wrong, [("nope", {})], [("nope", {})], [("nope", {})], retries=0)
    assert result.output == "Done."
    assert bench.desk.did == []
    assert [code for _, code in bench.outcomes] == ["INACTIVE", *["UNKNOWN_TOOL"] * 4]
    told = [str(part.content) for part in returns(result)]
    assert "SEARCH_REQUIRED" in told[0]
    assert not any("close_account" in each or "refund" in each for each in told[1:])


@pytest.mark.rule("MNT-1")
async def test_a_tool_that_needs_approval_waits_for_it_and_runs_once_it_is_given() -> None:
    bench = Bench(Tool(close_account, requires_approval=True), refund, output_type=[str, DeferredToolRequests])
    asked = await bench.run([SEARCH], [("close_account", {}), ("refund", {"amount": 5})])
    assert [call.tool_name for call in asked.output.approvals] == ["close_account"]
    assert bench.desk.did == ["refund 5 in call-1-1"]
    # The approval may come in another process, on messages from the disk.
    stored = ModelMessagesTypeAdapter.validate_json(asked.all_messages_json())
    given = DeferredToolResults(approvals={asked.output.approvals[0].tool_call_id: True})
    result = await bench.run(history=stored, deferred_tool_results=given)
    assert bench.desk.did == ["refund 5 in call-1-1", "close"]
    assert result.output == "Done."


@pytest.mark.rule("REP-1", "REP-2")
async def test_a_tool_that_needs_approval_is_not_even_asked_for_while_it_is_inactive() -> None:
    bench = Bench(Tool(close_account, requires_approval=True), output_type=[str, DeferredToolRequests])
    result = await bench.run([("close_account", {})])
    assert result.output == "Done."
    assert bench.outcomes == [("close_account", "INACTIVE")]


@pytest.mark.rule("MNT-1")
async def test_any_toolset_can_be_listed_and_stays_what_it_wraps() -> None:
    guarded = FunctionToolset([refund, close_account]).approval_required(lambda _, made, __: made.name != "refund")
    made = await listed_tools(guarded, read_only=["refund"])
    assert [(each.name, each.read_only) for each in made] == [("refund", True), ("close_account", False)]
    bench = Bench(made=made, output_type=[str, DeferredToolRequests])
    asked = await bench.run([SEARCH], [("refund", {"amount": 5}), ("close_account", {})])
    assert [call.tool_name for call in asked.output.approvals] == ["close_account"]
    assert sorted(bench.outcomes[-2:], key=repr) == [("close_account", "DEFERRED"), ("refund", "ok")]


@pytest.mark.rule("MNT-9")
async def test_a_call_that_a_restart_finds_is_run_again_only_where_that_is_safe() -> None:
    bench = Bench(made=catalog_tools(refund, close_account, read_only=["close_account"]))
    searched = await bench.run([SEARCH])
    left = ModelResponse(
        parts=[
            ToolCallPart(tool_name="refund", args={"amount": 5}, tool_call_id="a"),
            ToolCallPart(tool_name="close_account", args={}, tool_call_id="b"),
        ]
    )
    history = [*searched.all_messages()[:-1], left]
    result = await bench.run(history=history)
    assert bench.desk.did == ["close"]
    assert bench.outcomes[-2:] == [("refund", "INTERRUPTED"), ("close_account", "ok")]
    assert returns(result)[-2].outcome == "failed"


@pytest.mark.rule("RCP-3", "ACT-4")
async def test_a_receipt_in_the_metadata_of_another_tool_activates_nothing() -> None:
    def leak(ctx: RunContext[Desk]) -> ToolReturn:
        """Repeats a receipt."""
        stored = [part.metadata for message in ctx.messages for part in message.parts if isinstance(part, Return)]
        return ToolReturn(return_value="leaked", metadata=stored[0])

    bench = Bench(leak, refund)
    found = await bench.run([SEARCH], [("leak", {})])
    earlier = [message for message in found.all_messages() if "search_tools" not in str(message)]
    await bench.run([("refund", {"amount": 5})], history=earlier[:-1])
    assert bench.desk.did == []
    assert bench.outcomes[-1] == ("refund", "INACTIVE")


@pytest.mark.rule("ACT-7", "REP-2")
async def test_what_the_agents_own_preparation_takes_away_does_not_run_and_what_it_wraps_sees_every_call() -> None:
    seen: list[str] = []

    class Policy(AbstractCapability[Desk]):
        async def prepare_tools(self, ctx: Any, tool_defs: Any) -> Any:
            return [each for each in tool_defs if each.name != "close_account"]

        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            seen.append(call.tool_name)
            return {"amount": 7} if call.tool_name == "refund" else args

    bench = Bench(refund, close_account, capabilities=[Policy()])
    result = await bench.run([SEARCH], [("close_account", {}), ("refund", {"amount": 5})])
    assert bench.shown[1] == ["search_tools", "refund"]
    assert bench.desk.did == ["refund 7 in call-1-1"]
    assert seen == ["search_tools", "close_account", "refund"]
    assert "narrowed" in str(returns(result)[1].content)


async def test_the_other_tools_of_an_agent_stay_beside_the_surface() -> None:
    bench = Bench(refund, tools=[close_account])
    await bench.run([SEARCH, ("close_account", {})], [("close_account", {})])
    assert bench.desk.did == ["close", "close"]
    assert bench.shown[0] == ["close_account", "search_tools"]


async def test_what_a_tool_raises_on_purpose_or_by_accident_is_pydantic_ais_affair() -> None:
    def fails() -> None:
        """Fails for good."""
        raise ToolFailed("gone")

    def breaks() -> None:
        """Breaks."""
        raise LookupError("broken")

    bench = Bench(fails, breaks)
    with pytest.raises(LookupError, match="broken"):
        await bench.run([SEARCH], [("fails", {})], [("breaks", {})])
    assert bench.outcomes[1:] == [("fails", "TOOL_FAILED"), ("breaks", "INTERNAL")]


def test_what_cannot_work_is_refused_where_it_is_put_together() -> None:
    own = [Surface(key="desk", tools=catalog_tools(refund))]
    with pytest.raises(DialectError, match="only pydantic-ai runs it"):
        create_deferred_agent_tool_surface(application="shop", surfaces=own, dialect=ANTHROPIC_MESSAGES)
    with pytest.raises(ConfigurationError, match="await listed_tools"):
        catalog_tools(FunctionToolset([refund]).prefixed("x"))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="called refnud"):
        catalog_tools(refund, read_only=["refnud"])
    ours = Surface(key="desk", tools=[tool(name="look", description="Looks.")(lambda: "seen")])
    raw = create_deferred_agent_tool_surface(application="shop", surfaces=[ours], dialect=ANTHROPIC_MESSAGES)
    with pytest.raises(ConfigurationError, match="dialect=PYDANTIC_AI"):
        DeferredTools(raw, surface="desk", run_id="run-1")


async def test_a_surface_whose_tools_are_renamed_says_so() -> None:
    bench = Bench(refund)
    agent = Agent(FunctionModel(bench._answer), deps_type=Desk, capabilities=[bench.deferred.prefix_tools("x")])
    with pytest.raises(ConfigurationError, match="do not rename"):
        await agent.run("Go on.", deps=bench.desk)


async def test_a_timeout_of_a_tool_stays_its_own() -> None:
    async def hangs() -> None:
        """Never ends."""
        await asyncio.Event().wait()

    bench = Bench(Tool(hangs, timeout=0.01), refund)
    await bench.run([SEARCH], [("hangs", {})], [("refund", {"amount": 5})])
    assert bench.outcomes == [("search_tools", "ok"), ("hangs", "RETRY"), ("refund", "ok")]


@pytest.mark.rule("ACT-7")
async def test_a_tool_that_prepares_itself_is_shown_as_it_says_and_only_when_it_says_so() -> None:
    async def prepare(ctx: RunContext[Desk], described: ToolDefinition) -> ToolDefinition | None:
        return None if ctx.deps.did else replace(described, description="Refunds once.")

    described: list[str | None] = []

    class Reads(AbstractCapability[Desk]):
        async def prepare_tools(self, ctx: Any, tool_defs: Any) -> Any:
            described.extend(each.description for each in tool_defs if each.name == "refund")
            return tool_defs

    bench = Bench(Tool(refund, prepare=prepare), capabilities=[Reads()])
    await bench.run([SEARCH], [("refund", {"amount": 5})], [("refund", {"amount": 6})])
    assert bench.shown == [["search_tools"], ["search_tools", "refund"], *[["search_tools"]] * 2]
    assert described == ["Refunds once."]
    assert bench.desk.did == ["refund 5 in call-1-0"]


@pytest.mark.rule("MNT-1")
async def test_an_approval_may_change_the_arguments_and_a_denial_is_told() -> None:
    bench = Bench(Tool(refund, requires_approval=True), output_type=[str, DeferredToolRequests])
    asked = await bench.run([SEARCH], [("refund", {"amount": 5}), ("refund", {"amount": 6})])
    given = DeferredToolResults(
        approvals={"call-1-0": ToolApproved(override_args={"amount": 7}), "call-1-1": ToolDenied("Not today.")}
    )
    result = await bench.run(history=asked.all_messages(), deferred_tool_results=given)
    assert bench.desk.did == ["refund 7 in call-1-0"]
    assert [part.content for part in returns(result)][1:] == ["refunded 7", "Not today."]


@pytest.mark.rule("MNT-1", "REP-2")
async def test_a_tool_that_somebody_else_runs_is_asked_for_once_it_is_active_and_its_result_is_taken() -> None:
    outside = ToolDefinition(name="wire", description="Wires money.", kind="external")
    made = await listed_tools(ExternalToolset([outside]))
    bench = Bench(made=made, output_type=[str, DeferredToolRequests])
    asked = await bench.run([("wire", {})], [("wire", {})])
    assert [call.tool_call_id for call in asked.output.calls] == ["call-1-0"]
    given = DeferredToolResults(calls={"call-1-0": "wired"})
    result = await bench.run(history=asked.all_messages(), deferred_tool_results=given)
    assert returns(result)[-1].content == "wired"
    assert bench.outcomes[0] == ("wire", "INACTIVE")


async def limit() -> float:
    """Says within how many seconds it has to end."""
    return round(anyio.current_effective_deadline() - anyio.current_time())


@pytest.mark.parametrize(
    ("made", "seconds"),
    [
        (catalog_tools(limit), 50),
        (catalog_tools(Tool(limit, timeout=70)), 70),
        (catalog_tools(FunctionToolset([limit], timeout=90)), 90),
    ],
)
async def test_the_tool_timeout_of_an_agent_holds_for_tools_given_one_by_one_that_have_none_of_their_own(
    made: list[Any], seconds: int
) -> None:
    bench = Bench(made=made, tool_timeout=50)
    assert returns(await bench.run([SEARCH], [("limit", {})]))[-1].content == seconds


async def test_a_tool_that_takes_longer_than_the_agents_tool_timeout_is_ended() -> None:
    async def nap() -> str:
        """Naps."""
        await asyncio.Event().wait()
        return "slept"

    bench = Bench(nap, tool_timeout=0.01)
    async with asyncio.timeout(20):
        result = await bench.run([SEARCH], [("nap", {})])
    told = [part for message in result.all_messages() for part in message.parts if "Timed out" in str(part)]
    assert [part.tool_name for part in told] == ["nap"]


async def test_the_tool_timeout_of_an_agent_is_not_for_a_toolset_of_its_own() -> None:
    async def unhurried() -> str:
        """Has all the time there is."""
        return "yes" if anyio.current_effective_deadline() == math.inf else "no"

    bench = Bench(made=catalog_tools(FunctionToolset([unhurried])), tool_timeout=50)
    assert returns(await bench.run([SEARCH], [("unhurried", {})]))[-1].content == "yes"
