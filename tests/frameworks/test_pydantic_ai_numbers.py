"""Journals where a model gives calls of several turns one id and a history is cut: no record answers another call."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Tool
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.tools import DeferredToolResults

from surface.adapters.pydantic_ai import catalog_tools
from tests.frameworks.pydantic_ai_bench import Bench, Calls, close_account, refund, returns, said_at
from tests.frameworks.test_pydantic_ai_attempts import counting_anew
from tests.frameworks.test_pydantic_ai_journal import OUTPUT, Table

REFUND: Calls = [("refund", {"amount": 1})]


def first_and_last(messages: list[ModelMessage]) -> list[ModelMessage]:
    """A history processor that forgets all but the prompt and the turn just answered."""
    return [messages[0], *messages[1:][-2:]]


def left_open(turn: int, name: str = "refund", args: Any = None) -> list[ModelMessage]:
    """What is left of a history: the prompt, and an open call of this turn under the id of an earlier one."""
    call = ToolCallPart(name, {"amount": 1} if args is None else args, tool_call_id="call_0")
    return [ModelRequest(parts=[UserPromptPart("Go on.")]), ModelResponse(parts=[call], timestamp=said_at(turn))]


async def refunded_once(table: Table, **options: Any) -> Bench:
    """A bench whose journal has the record of the first turn's refund."""
    await counting_anew(Bench(refund, journal=table, pins=["refund"]), REFUND).run()
    assert sum(name.startswith("toolsurface.call:") for name in table.texts) == 1
    return counting_anew(Bench(refund, close_account, journal=table, pins=["refund", "close_account"], **options))


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("amounts", [[1, 5, 1], [1, 5, 2], [1, 1, 1]])
async def test_a_later_call_of_the_same_id_runs_though_a_history_processor_forgot_the_earlier_one(
    amounts: list[int],
) -> None:
    table, did = Table(), []
    for _ in range(2):
        capabilities = [ProcessHistory(first_and_last)]
        bench = Bench(refund, journal=table, pins=["refund"], capabilities=capabilities)
        await counting_anew(bench, *[[("refund", {"amount": amount})] for amount in amounts]).run()
        did.append(bench.desk.did)
    # The second life is a replay: it finds each of them.
    assert did == [[f"refund {amount} in call_0" for amount in amounts], []]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize(
    ("name", "args"), [("refund", {"amount": 1}), ("refund", {"amount": 2}), ("close_account", {})]
)
async def test_a_call_that_a_restart_finds_in_a_cut_history_is_not_answered_by_the_record_of_an_earlier_one(
    name: str, args: dict[str, Any]
) -> None:
    table = Table()
    bench = await refunded_once(table)
    for _ in range(2):
        result = await bench.run(history=left_open(3, name, args))
        assert "INTERRUPTED" in str(returns(result)[-1].content)
    assert bench.desk.did == []


@pytest.mark.rule("MNT-9")
async def test_an_approved_call_in_a_cut_history_does_not_run_while_a_record_of_its_number_is_another_calls() -> None:
    table = Table()
    await refunded_once(table)
    made = catalog_tools(Tool(refund, requires_approval=True))
    bench = counting_anew(Bench(made=made, journal=table, pins=["refund"], output_type=OUTPUT))
    given = DeferredToolResults(approvals={"call_0": True})
    result = await bench.run(history=left_open(3), deferred_tool_results=given)
    assert "INTERRUPTED" in str(returns(result)[-1].content)
    assert bench.desk.did == []


@pytest.mark.rule("MNT-9")
async def test_a_tool_that_may_run_twice_runs_beside_a_record_of_another_call_and_then_has_its_own() -> None:
    table = Table()
    await refunded_once(table)
    did = []
    for _ in range(2):
        made = catalog_tools(refund, idempotent=["refund"])
        bench = counting_anew(Bench(made=made, journal=table, pins=["refund"]))
        assert returns(await bench.run(history=left_open(3)))[-1].content == "refunded 1"
        did.append(bench.desk.did)
    assert did == [["refund 1 in call_0"], []]


@pytest.mark.rule("MNT-9")
async def test_the_record_of_the_very_call_that_a_restart_finds_is_its_answer() -> None:
    table = Table()
    bench = await refunded_once(table)
    assert returns(await bench.run(history=left_open(1)))[-1].content == "refunded 1"
    assert bench.desk.did == []
