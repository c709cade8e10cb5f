"""Calls whose arguments are no JSON: LangChain keeps them apart from the others, and the library answers them too."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage

from surface import tool
from surface.adapters.langchain import LANGCHAIN_MESSAGES
from surface.adapters.langchain.messages import RECEIPT, left_open
from surface.mounted_run import MountedRun
from surface.search_tool import DEFAULT_NAME as SEARCH
from surface.transcript import UNPARSABLE
from tests.frameworks.langchain_agents import controller_of

ASKED = HumanMessage("Please.")


def run_of(ran: list[str]) -> MountedRun:
    @tool
    def pay(euros: int) -> str:
        """Pays."""
        ran.append(f"pay {euros}")
        return f"paid {euros}"

    @tool
    def look() -> str:
        """Looks."""
        return "saw"

    return controller_of([pay, look], always_on=["pay"]).mount(run_id="run-1", surface="desk")


def broken(call_id: str | None, *, name: str | None = "pay", beside: bool = False) -> AIMessage:
    """A turn with a call that was cut off, alone or beside a good one."""
    cut: Any = {"name": name, "args": '{"euros": ', "id": call_id, "error": None, "type": "invalid_tool_call"}
    good: Any = {"name": "pay", "args": {"euros": 1}, "id": "good", "type": "tool_call"}
    return AIMessage("", tool_calls=[good] if beside else [], invalid_tool_calls=[cut])


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_call_that_was_cut_off_is_answered_alone_and_beside_others(*, restarted: bool) -> None:
    ran: list[str] = []
    run = run_of(ran)
    answer = run.resume if restarted else run.dispatch
    (alone,) = await answer([ASKED, broken("cut")])
    assert (alone.tool_call_id, alone.name, alone.status) == ("cut", "pay", "error")
    assert ("INTERRUPTED" if restarted else "must be valid JSON") in alone.text
    good, cut = await answer([ASKED, broken("cut", beside=True)])
    assert (good.tool_call_id, cut.tool_call_id) == ("good", "cut")
    assert ran == ([] if restarted else ["pay 1"])
    assert await answer([ASKED, broken("cut", beside=True), good, cut]) == []


async def test_what_a_stream_left_of_a_call_is_one_that_was_cut_off() -> None:
    chunk: Any = {"name": "pay", "args": '["euros', "id": "cut", "index": 0}
    streamed = AIMessageChunk(content="", tool_call_chunks=[chunk])
    (call,) = LANGCHAIN_MESSAGES.read([ASKED, streamed]).unanswered
    assert (call.id, call.name, call.arguments) == ("cut", "pay", UNPARSABLE)


@pytest.mark.rule("REP-1", "ACT-2")
async def test_one_of_an_inactive_tool_activates_it_and_one_of_a_search_or_of_no_name_says_what_is_wrong() -> None:
    run = run_of([])
    told = broken("cut", name="look")
    (repaired,) = await run.dispatch([ASKED, told])
    assert "SEARCH_REQUIRED" in repaired.artifact[RECEIPT]
    assert (await run.prepare_step([ASKED, told, repaired])).names == (SEARCH, "pay", "look")
    # Also once a later request follows it.
    assert (await run.prepare_step([ASKED, told, repaired, ASKED])).names == (SEARCH, "pay", "look")
    (searched,) = await run.dispatch([ASKED, broken("cut", name=SEARCH)])
    assert "VALIDATION_ERROR" in searched.text
    (unnamed,) = await run.dispatch([ASKED, broken("cut", name=None)])
    assert "UNKNOWN_TOOL" in unnamed.text


async def test_one_that_nobody_answered_ends_no_conversation_and_one_without_an_id_is_none() -> None:
    run = run_of([])
    assert await run.resume([ASKED, broken("cut"), ASKED]) == []
    assert await run.dispatch([ASKED, broken(None)]) == []
    assert await run.dispatch([ASKED, broken("cut"), ASKED, broken("later")]) != []


def test_langchains_own_agents_answer_it_themselves() -> None:
    assert left_open([ASKED, broken("cut")]) == []
    assert [call.id for call in left_open([ASKED, broken("cut", beside=True)])] == ["good"]
    answered = ToolMessage("could not be executed", tool_call_id="cut", status="error")
    assert [call.id for call in left_open([ASKED, broken("cut", beside=True), answered])] == ["good"]
