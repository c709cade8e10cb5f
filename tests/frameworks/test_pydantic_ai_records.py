"""What stands in a journal, and which attempt at a call it settles: what was begun and no more, once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from pydantic_ai import RunContext, ToolReturn
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.tools import DeferredToolResults

from surface import ConfigurationError, ToolError, tool
from surface.adapters.pydantic_ai import catalog_tools
from surface.adapters.pydantic_ai.journal import digest
from surface.call import CallContext
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Desk, refund, returns
from tests.frameworks.test_pydantic_ai_journal import OUTPUT, Table, Teller

REFUND = ("refund", {"amount": 1})


@pytest.mark.rule("MNT-9")
async def test_only_a_call_that_may_not_run_twice_leaves_a_mark_that_it_began() -> None:
    table = Table()
    teller = Teller()
    teller.dies = False
    made = [*catalog_tools(refund), *catalog_tools(teller.balance, idempotent=["balance"])]
    await Bench(made=made, journal=table).run([SEARCH], [REFUND], [("balance", {})])
    begun = [name for name in table.texts if name.startswith("toolsurface.begun:")]
    assert begun == ["toolsurface.begun:run-1:call-1-0:1.1"]


@pytest.mark.rule("MNT-4", "MNT-9")
async def test_a_call_that_a_fence_refused_runs_where_there_is_no_fence_any_more() -> None:
    table, told = Table(), []
    for controlled in ({"fence": lambda _: False}, {}, {}):
        bench = Bench(refund, journal=table, pins=["refund"], controlled=controlled)
        told.append(str(returns(await bench.run([REFUND]))[-1].content))
    assert "FENCED" in told[0]
    assert told[1:] == ["refunded 1"] * 2


@tool(name="refund")
def library_refund(amount: int) -> str:
    """Refunds an amount."""
    return f"refunded {amount}"


@pytest.mark.rule("MNT-4")
@pytest.mark.parametrize("made", [catalog_tools(refund), [library_refund]], ids=["pydantic-ai's", "the library's"])
async def test_the_fence_is_asked_once_in_each_life_of_a_call_and_told_whose_call_it_is(made: list[Any]) -> None:
    table = Table()
    asked: list[tuple[object, ...]] = []
    told: list[str] = []
    # Refused, as a restart is; then let through to a second attempt; then as the record of that says.
    for answers in ([False], [False], [True], [True]):

        def fence(call: CallContext, answers: list[bool] = answers) -> bool:
            asked.append((call.run_id, call.surface, call.call_id, call.tool, type(call.context)))
            return answers.pop(0)

        bench = Bench(made=made, journal=table, pins=["refund"], controlled={"fence": fence})
        told.append(str(returns(await bench.run([REFUND]))[-1].content))
        assert answers == []
    assert ["FENCED" in each for each in told] == [True, True, False, False]
    assert told[2:] == ["refunded 1"] * 2
    assert set(asked) == {("run-1", "desk", "call-0-0", "refund", Desk)}
    calls = [name for name in table.texts if name.startswith("toolsurface.call:")]
    assert calls == [f"toolsurface.call:run-1:call-0-0:1.{attempt}" for attempt in (1, 2)]


@pytest.mark.rule("MNT-4")
async def test_a_fence_that_changes_its_mind_makes_no_second_attempt_of_the_same_call() -> None:
    answers = [False, True, True]
    bench = Bench(refund, journal=Table(), pins=["refund"], controlled={"fence": lambda _: answers.pop(0)})
    assert "FENCED" in str(returns(await bench.run([REFUND]))[-1].content)
    assert answers == [True, True]


@pytest.mark.rule("MNT-4")
async def test_the_fence_is_asked_once_in_a_life_that_comes_by_several_attempts() -> None:
    def wire(ctx: RunContext[Desk]) -> str:
        """Wires money, with leave."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        ctx.deps.did.append("wire")
        return "wired"

    table = Table()
    answers: list[bool] = []

    def bench() -> Bench:
        fence = {"fence": lambda _: answers.pop(0)}
        return Bench(wire, journal=table, pins=["wire"], controlled=fence, output_type=OUTPUT)

    answers[:] = [False]
    await bench().run([("wire", {})])
    answers[:] = [True]
    asked = await bench().run([("wire", {})])
    assert [call.tool_name for call in asked.output.approvals] == ["wire"]
    # Comes by the attempt that the fence refused and the one that waited, to the one that runs.
    answers[:] = [True]
    last = bench()
    given = DeferredToolResults(approvals={"call-0-0": True})
    result = await last.run(history=asked.all_messages(), deferred_tool_results=given)
    assert (returns(result)[-1].content, last.desk.did, answers) == ("wired", ["wire"], [])


@pytest.mark.rule("MNT-4")
async def test_the_fence_is_asked_once_though_a_journal_holds_two_attempts_that_it_refused() -> None:
    table, answers = Table(), [False]
    await Bench(refund, journal=table, pins=["refund"], controlled={"fence": lambda _: answers.pop()}).run([REFUND])
    # So did a release that asked again in the attempt, where the answer had changed in between.
    for kind in ("begun", "call"):
        name = f"toolsurface.{kind}:run-1:call-0-0:1"
        table.texts[f"{name}.2"] = table.texts[f"{name}.1"]
    answers = [True]
    again = Bench(refund, journal=table, pins=["refund"], controlled={"fence": lambda _: answers.pop()})
    assert returns(await again.run([REFUND]))[-1].content == "refunded 1"


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("controlled", [{}, {"fence": lambda _: True}])
async def test_a_tool_that_fails_with_the_code_of_a_fence_has_begun(controlled: dict[str, Any]) -> None:
    ran: list[str] = []

    @tool
    def pay() -> str:
        """Pays, or finds the gate of the car park closed."""
        ran.append("pay")
        raise ToolError("FENCED", "The car park is fenced off.")

    table = Table()
    for _ in range(2):
        bench = Bench(made=[pay], journal=table, pins=["pay"], controlled=controlled)
        assert "car park" in str(returns(await bench.run([("pay", {})]))[-1].content)
    assert ran == ["pay"]


@pytest.mark.rule("MNT-4", "MNT-9")
async def test_a_call_that_a_restart_finds_and_that_the_fence_had_refused_has_not_begun() -> None:
    table = Table()
    bench = Bench(refund, journal=table, pins=["refund"], controlled={"fence": lambda _: False})
    refused = await bench.run([REFUND])
    left = ModelMessagesTypeAdapter.validate_python(refused.all_messages()[:2])
    again = Bench(refund, journal=table, pins=["refund"])
    result = await again.run(history=left)
    assert returns(result)[-1].content == "refunded 1"


@pytest.mark.rule("MNT-9")
async def test_an_approved_call_that_ended_is_not_made_again_for_another_approval() -> None:
    ran: list[str] = []

    def wire(ctx: RunContext[Desk]) -> str:
        """Wires money, with leave."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"form": b"\xff\x00"})
        ran.append("wire")
        raise ToolFailed("no money")

    table = Table()
    asked = await Bench(wire, journal=table, output_type=OUTPUT).run([SEARCH], [("wire", {})])
    assert asked.output.metadata == {"call-1-0": {"form": "_wA="}}
    stored = asked.all_messages_json()
    for by in ("clerk", "boss"):
        given = DeferredToolResults(approvals={"call-1-0": True}, metadata={"call-1-0": {"by": by}})
        history = ModelMessagesTypeAdapter.validate_json(stored)
        bench = Bench(wire, journal=table, output_type=OUTPUT)
        result = await bench.run(history=history, deferred_tool_results=given)
        assert returns(result)[-1].content == "no money"
    assert ran == ["wire"]


async def test_a_record_of_the_same_call_under_another_id_is_refused() -> None:
    class Forgets(Table):
        """Finds a record by its kind, whatever the rest of its name."""

        async def __call__(self, name: str, work: Callable[[], Coroutine[Any, Any, str]]) -> str:
            return await super().__call__(name if "call-0" in name else name.partition(":")[0], work)

    teller = Teller()
    teller.dies = False
    bench = Bench(made=catalog_tools(teller.balance, read_only=["balance"]), journal=Forgets())
    with pytest.raises(ConfigurationError, match=r"^journal: gave another record than that of call call-2-0"):
        await bench.run([SEARCH], [("balance", {})], [("balance", {})])
    assert len(teller.ran) == 1


@pytest.mark.skipif("tools" not in ToolReturn.__dataclass_fields__, reason="in this release a result reveals no tools")
async def test_tools_that_a_result_reveals_stand_in_its_record() -> None:
    revealing: Any = {"tools": ["balance"]}

    def show() -> ToolReturn:
        """Shows more."""
        return ToolReturn(return_value="shown", **revealing)

    table = Table()
    for _ in range(2):
        result = await Bench(show, journal=table).run([SEARCH], [("show", {})])
        assert "balance" in str(result.all_messages()[4])


def test_a_digest_tells_values_apart_and_fails_for_none() -> None:
    class SecretThing:
        pass

    circle: list[Any] = []
    circle.append(circle)
    odd = [{"a": 1}, {"a": 2}, b"\xff", b"\xfe", SecretThing(), circle, {"a": float("nan")}]
    assert len({digest(each) for each in odd}) == len(odd)
    assert digest({"a": SecretThing(), "b": 1}) == digest({"a": SecretThing(), "b": 1})
    assert digest({"a": SecretThing(), "b": 1}) != digest({"a": SecretThing(), "b": 2})
