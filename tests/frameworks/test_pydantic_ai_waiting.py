"""Calls that only wait for somebody, and what a restart makes of them that is handed no decision."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import RunContext, Tool
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults
from pydantic_ai.toolsets import FunctionToolset

from surface import Tool as CatalogTool
from surface.adapters.pydantic_ai import catalog_tools, listed_tools
from surface.adapters.pydantic_ai.approvals import WAITS
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Desk, returns
from tests.frameworks.test_pydantic_ai_journal import KilledError

OUTPUT: Any = [str, DeferredToolRequests]
RAN: list[str] = []


def stored(result: Any) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(result.all_messages_json())


def wire(ctx: RunContext[Desk]) -> str:
    """Wires money."""
    RAN.append(str(ctx.tool_call_id))
    return "wired"


async def needs_approval() -> list[CatalogTool]:
    return catalog_tools(Tool(wire, requires_approval=True))


async def of_a_guarded_toolset() -> list[CatalogTool]:
    return await listed_tools(FunctionToolset([wire]).approval_required())


async def asks_itself() -> list[CatalogTool]:
    def asking(ctx: RunContext[Desk]) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return wire(ctx)

    return catalog_tools(Tool(asking, name="wire", description="Wires money."))


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("tools", [needs_approval, of_a_guarded_toolset, asks_itself])
async def test_a_call_that_only_waited_asks_again_whoever_asked_and_runs_once_it_is_approved(tools: Any) -> None:
    asked = await Bench(made=await tools(), output_type=OUTPUT).run([SEARCH], [("wire", {})])
    for _ in range(2):
        asked = await Bench(made=await tools(), output_type=OUTPUT).run(history=stored(asked))
        assert [call.tool_call_id for call in asked.output.approvals] == ["call-1-0"]
    assert RAN == []
    given = DeferredToolResults(approvals={"call-1-0": True})
    done = await Bench(made=await tools(), output_type=OUTPUT).run(history=stored(asked), deferred_tool_results=given)
    assert (returns(done)[-1].content, RAN) == ("wired", ["call-1-0"])


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("tools", [needs_approval, of_a_guarded_toolset, asks_itself])
async def test_a_call_that_waited_and_is_approved_within_the_run_that_found_it_may_have_run(tools: Any) -> None:
    def leave(ctx: RunContext[Desk], requests: Any) -> DeferredToolResults:
        return DeferredToolResults(approvals={call.tool_call_id: True for call in requests.approvals})

    asked = await Bench(made=await tools(), output_type=OUTPUT).run([SEARCH], [("wire", {})])
    bench = Bench(made=await tools(), output_type=OUTPUT, capabilities=[HandleDeferredToolCalls(handler=leave)])
    assert "INTERRUPTED" in str(returns(await bench.run(history=stored(asked)))[-1].content)
    assert RAN == []


@pytest.mark.rule("MNT-9")
async def test_of_two_calls_that_wait_each_asks_again() -> None:
    asked = await Bench(made=await asks_itself(), output_type=OUTPUT).run([SEARCH], [("wire", {}), ("wire", {})])
    asked = await Bench(made=await asks_itself(), output_type=OUTPUT).run(history=stored(asked))
    assert [call.tool_call_id for call in asked.output.approvals] == ["call-1-0", "call-1-1"]


@pytest.mark.rule("MNT-9")
async def test_work_that_a_tool_handed_to_somebody_else_is_not_handed_on_again() -> None:
    def order() -> str:
        """Orders."""
        RAN.append("ordered")
        raise CallDeferred

    asked = await Bench(order, output_type=OUTPUT).run([SEARCH], [("order", {})])
    assert [call.tool_call_id for call in asked.output.calls] == ["call-1-0"]
    again = await Bench(order, output_type=OUTPUT).run(history=stored(asked))
    assert "INTERRUPTED" in str(returns(again)[-1].content)
    assert RAN == ["ordered"]


async def test_that_a_call_waits_is_noted_beside_what_the_application_keeps_and_not_in_what_it_handed_over() -> None:
    def bench() -> Bench:
        def asking() -> str:
            """Wires money."""
            raise ApprovalRequired

        return Bench(made=catalog_tools(asking, read_only=["asking"]), output_type=OUTPUT)

    history = stored(await bench().run([SEARCH], [("asking", {})]))
    response = history[-1]
    assert isinstance(response, ModelResponse)
    response.metadata = {"mine": 1}
    kept = (await bench().run(history=history)).all_messages()[-1]
    assert response.metadata == {"mine": 1}
    assert kept.metadata == {"mine": 1, WAITS: ["call-1-0"]}


@pytest.mark.rule("MNT-9")
async def test_beside_an_answered_call_too_an_approved_one_that_began_does_not_run_again() -> None:
    def dies(ctx: RunContext[Desk]) -> str:
        RAN.append(str(ctx.tool_call_id))
        raise KilledError

    def bench() -> Bench:
        wires = Tool(dies, name="wire", description="Wires money.", requires_approval=True)
        return Bench(wires, look, pins=["wire", "look"], output_type=OUTPUT)

    asked = await bench().run([("look", {}), ("wire", {})])
    given = DeferredToolResults(approvals={"call-0-1": True})
    later, kept = bench(), [stored(asked)]

    async def drive() -> None:
        handed: dict[str, Any] = {"message_history": kept[0], "deferred_tool_results": given}
        async with later.agent.iter(deps=later.desk, **handed) as run:
            node: Any = run.next_node
            while True:
                node = await run.next(node)
                kept[0] = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(run.all_messages()))

    with pytest.raises(KilledError):
        await drive()
    assert RAN == ["call-0-1"]
    result = await bench().run(history=kept[0], deferred_tool_results=given)
    assert "INTERRUPTED" in str(returns(result)[-1].content)
    assert RAN == ["call-0-1"]


@pytest.mark.rule("ACT-5", "SRC-1")
async def test_where_the_rest_of_a_turn_is_left_unanswered_the_model_is_shown_what_its_search_selected() -> None:
    def bench() -> Bench:
        return Bench(Tool(wire, requires_approval=True), look, pins=["wire"], output_type=OUTPUT)

    asked = await bench().run([SEARCH, ("wire", {})])
    assert [call.tool_call_id for call in asked.output.approvals] == ["call-0-1"]
    later = bench()
    later.turns = [[("look", {})]]
    result = await later.agent.run(message_history=stored(asked), deps=later.desk)
    assert later.shown[0] == ["search_tools", "wire", "look"]
    assert [part.content for part in returns(result)][1:] == ["saw"]
    assert RAN == []


def look() -> str:
    """Looks."""
    return "saw"
