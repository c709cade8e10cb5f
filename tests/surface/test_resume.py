"""Restarts and successors: new objects over messages that went through JSON (ACT-5, MNT-9, the recovery matrix)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from surface import CallContext, Hooks, MountedRun, Receipt, Tool, mount_agent, parse_receipt
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.input_model import PydanticInput
from tests.surface.deferred import AnyArguments, Shop
from tests.surface.rankers import ScriptedRanker, proposing, ranking


def restarted(messages: Sequence[Any]) -> list[Any]:
    """The messages as a store gives them back."""
    loaded: list[Any] = json.loads(json.dumps(messages))
    return loaded


def says(*calls: tuple[str, str]) -> dict[str, Any]:
    """An assistant message with calls, id → name."""
    blocks = [{"type": "tool_use", "id": id_, "name": name, "input": {"query": "invoices"}} for id_, name in calls]
    return {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, *blocks]}


def results_in(messages: Sequence[Any]) -> dict[str, str]:
    """The text of each recorded result, by call id."""
    return {
        block["tool_use_id"]: block["content"][0]["text"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }


def error_codes(messages: Sequence[Any]) -> dict[str, str]:
    return {id_: json.loads(text).get("error", {}).get("code", "") for id_, text in results_in(messages).items()}


def mounted(shop: Shop, *, run_id: str = "run-1", pins: Sequence[str] = (), **other: Any) -> MountedRun:
    return shop.application(dialect=ANTHROPIC_MESSAGES, **other).mount(run_id=run_id, surface="reader", pins=pins)


def journaling(handled: list[str], name: str, **declared: Any) -> Tool:
    def handler(value: Any, call: CallContext) -> str:
        handled.append(name)
        return json.dumps("done")

    return Tool(name=name, description="Works.", input=PydanticInput(AnyArguments), handler=handler, **declared)


@pytest.mark.rule("ACT-1", "ACT-5", "RCP-6", "RCP-7")
async def test_a_restart_restores_the_same_list_byte_for_byte_without_a_new_search() -> None:
    ranker = proposing("invoices_send", "invoices_list")
    first = mounted(Shop(), ranker=ranker)
    messages: list[Any] = [{"role": "user", "content": "Which invoices are late?"}, says(("s", "search_tools"))]
    messages += await first.dispatch(messages)
    before = await first.prepare_step(messages)
    later_ranker = proposing("file_delete")
    second = mounted(Shop(), ranker=later_ranker)
    after = await second.prepare_step(restarted(messages))
    assert json.dumps(after.tools) == json.dumps(before.tools)
    assert after.names == ("search_tools", "help", "invoices_send", "invoices_list")
    assert later_ranker.asked == []


@pytest.mark.rule("RCP-6")
async def test_a_receipt_comes_back_from_a_restart_byte_for_byte() -> None:
    run = mounted(Shop(), ranker=proposing("invoices_list"))
    messages = [says(("s", "search_tools"))]
    messages += await run.dispatch(messages)
    text = results_in(messages[1:])["s"]
    receipt = parse_receipt(results_in(restarted(messages)[1:])["s"])
    assert isinstance(receipt, Receipt)
    assert receipt.to_json() == text


@pytest.mark.rule("ACT-5")
@pytest.mark.parametrize("run_id", ["run-2", "run-1 ", "RUN-1"])
async def test_a_successor_with_the_whole_history_starts_from_the_base_set(run_id: str) -> None:
    shop = Shop()
    first = mounted(shop, ranker=proposing("invoices_send"))
    messages = [says(("s", "search_tools"))]
    messages += await first.dispatch(messages)
    messages.append(says(("r", "file_delete")))
    messages += await first.dispatch(messages)
    assert len((await first.prepare_step(messages)).names) == 4
    successor = mounted(shop, run_id=run_id)
    history = [*restarted(messages), {"role": "user", "content": "And now something else."}]
    assert (await successor.prepare_step(history)).names == ("search_tools", "help")
    history.append(says(("d", "invoices_send")))
    await successor.dispatch(history)
    assert shop.handled == []


@pytest.mark.rule("MNT-9", "SRC-8")
async def test_a_search_that_a_restart_finds_unanswered_is_answered() -> None:
    run = mounted(Shop(), ranker=proposing("invoices_list"))
    messages = restarted([says(("s", "search_tools"))])
    assert (await run.prepare_step(messages)).names == ("search_tools", "help")
    messages += await run.resume(messages)
    assert (await run.prepare_step(messages)).names == ("search_tools", "help", "invoices_list")


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize(
    ("declared", "runs"),
    [({}, False), ({"read_only": True}, True), ({"idempotent": True}, True)],
    ids=["neither", "read only", "idempotent"],
)
async def test_an_unanswered_call_is_run_again_only_where_that_is_safe(declared: Any, runs: bool) -> None:  # noqa: FBT001
    handled: list[str] = []
    run = mounted(Shop(), tools=[journaling(handled, "work", **declared)], always_on=["work"])
    messages = restarted([says(("c", "work"))])
    answered = await run.resume(messages)
    assert handled == (["work"] if runs else [])
    if not runs:
        assert error_codes(answered) == {"c": "INTERRUPTED"}
        assert "may have run" in results_in(answered)["c"]
    assert await run.resume([*messages, *answered]) == []


@pytest.mark.rule("MNT-9")
async def test_without_a_restart_every_call_is_run() -> None:
    handled: list[str] = []
    run = mounted(Shop(), tools=[journaling(handled, "work")], always_on=["work"])
    await run.dispatch([says(("c", "work"))])
    assert handled == ["work"]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_the_application_decides_about_a_call_that_may_have_run(again: bool, is_async: bool) -> None:  # noqa: FBT001
    handled: list[str] = []
    asked: list[CallContext] = []

    def decide(call: CallContext) -> bool:
        asked.append(call)
        return again

    async def decide_later(call: CallContext) -> bool:
        await asyncio.sleep(0)
        return decide(call)

    tools = [journaling(handled, "work"), journaling(handled, "look", read_only=True)]
    run = mounted(Shop(), tools=tools, always_on=["work", "look"], on_interrupted=decide_later if is_async else decide)
    answered = await run.resume(restarted([says(("c", "work"), ("l", "look"))]))
    assert sorted(handled) == (["look", "work"] if again else ["look"])
    assert [call.tool for call in asked] == ["work"]
    assert (
        asked[0].idempotency_key
        == CallContext(run_id="run-1", surface="reader", call_id="c", tool="work").idempotency_key
    )
    assert ("INTERRUPTED" in results_in(answered)["c"]) is not again


@pytest.mark.rule("MNT-9")
async def test_the_application_is_not_asked_about_calls_that_are_not_restarted() -> None:
    asked: list[CallContext] = []
    handled: list[str] = []

    def decide(call: CallContext) -> bool:
        asked.append(call)
        return False

    run = mounted(Shop(), tools=[journaling(handled, "work")], always_on=["work"], on_interrupted=decide)
    await run.dispatch([says(("c", "work"))])
    await run.resume([says(("c", "file_delete"), ("d", "nobody"), ("s", "search_tools"))])
    assert asked == []
    assert handled == ["work"]


@pytest.mark.rule("MNT-9", "REP-1")
async def test_a_call_of_a_tool_that_was_a_pin_before_the_restart_may_have_run() -> None:
    handled: list[str] = []
    tools = [journaling(handled, "work"), journaling(handled, "look", read_only=True)]
    messages = [says(("c", "work"), ("l", "look"))]
    await mounted(Shop(), tools=tools, pins=["work", "look"]).dispatch(messages)
    answered = await mounted(Shop(), tools=tools).resume(restarted(messages))  # the result was lost, the pins are gone
    assert error_codes(answered) == {"c": "INTERRUPTED", "l": ""}
    assert "SEARCH_REQUIRED" in results_in(answered)["l"]
    assert sorted(handled) == ["look", "work"]


@pytest.mark.rule("MNT-9")
async def test_a_partly_answered_turn_is_answered_for_the_rest_only() -> None:
    handled: list[str] = []
    tools = [journaling(handled, "one", idempotent=True), journaling(handled, "two", idempotent=True)]
    run = mounted(Shop(), tools=tools, always_on=["one", "two"])
    messages = [
        says(("a", "one"), ("b", "two")),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "done"}]},
    ]
    answered = await run.resume(restarted(messages))
    assert handled == ["two"]
    assert set(results_in(answered)) == {"b"}


@pytest.mark.rule("MNT-9", "MNT-2")
async def test_an_interrupted_call_passes_no_hook_and_no_fence() -> None:
    handled: list[str] = []
    passed: list[str] = []

    def pass_on(*given: Any) -> Any:
        passed.append("something")
        return given[0]

    run = mounted(
        Shop(),
        tools=[journaling(handled, "work")],
        always_on=["work"],
        fence=pass_on,
        hooks=Hooks(before_call=pass_on, after_call=pass_on, on_error=pass_on),
    )
    await run.resume([says(("c", "work"))])
    assert passed == []


@pytest.mark.rule("MNT-4", "MNT-9")
async def test_a_call_that_is_run_again_is_still_fenced() -> None:
    handled: list[str] = []
    run = mounted(
        Shop(),
        tools=[journaling(handled, "work", idempotent=True)],
        always_on=["work"],
        fence=lambda call: False,
    )
    answered = await run.resume([says(("c", "work"))])
    assert error_codes(answered) == {"c": "FENCED"}
    assert handled == []


@pytest.mark.rule("RCP-4", "ACT-5")
async def test_after_a_redeploy_an_untouched_tool_stays_and_an_edited_one_falls_back_to_the_receipt_before() -> None:
    script = {"invoices": ("invoices_list",), "files": ("file_delete",)}
    ranker = ScriptedRanker(lambda request: ranking(request, *script[request.query]))
    run = mounted(Shop(), ranker=ranker)
    messages: list[Any] = []
    for id_, query in (("a", "invoices"), ("b", "files")):
        block = {"type": "tool_use", "id": id_, "name": "search_tools", "input": {"query": query}}
        messages.append({"role": "assistant", "content": [block]})
        messages += await run.dispatch(messages)
    base = ("search_tools", "help")
    assert (await run.prepare_step(messages)).names == (*base, "file_delete")
    untouched = Shop(invoices_list="List the invoices, edited", file_delete="Delete a file from the disk", help="Help")
    assert (await mounted(untouched).prepare_step(restarted(messages))).names == (*base, "file_delete")
    edited = Shop(invoices_list="List the invoices of a customer", file_delete="Delete a file, edited", help="Help")
    assert (await mounted(edited).prepare_step(restarted(messages))).names == (*base, "invoices_list")
    gone = Shop(weather_forecast="Tell the weather", help="Help")
    assert (await mounted(gone).prepare_step(restarted(messages))).names == base


@pytest.mark.rule("RCP-3")
async def test_a_run_that_goes_on_at_another_surface_starts_from_its_base_set() -> None:
    run = mounted(Shop(), ranker=proposing("invoices_list"))
    messages = [says(("s", "search_tools"))]
    messages += await run.dispatch(messages)
    elsewhere = Shop().application(dialect=ANTHROPIC_MESSAGES, key="writer").mount(run_id="run-1", surface="writer")
    assert (await elsewhere.prepare_step(restarted(messages))).names == ("search_tools", "help")


@pytest.mark.rule("MNT-8", "MNT-9")
async def test_an_ordinary_mount_resumes_by_the_same_rule() -> None:
    handled: list[str] = []
    tools = [journaling(handled, "work"), journaling(handled, "look", read_only=True)]
    run = mount_agent(tools, dialect=ANTHROPIC_MESSAGES).mount(run_id="run-1")
    answered = await run.resume(restarted([says(("c", "work"), ("l", "look"))]))
    assert handled == ["look"]
    assert "INTERRUPTED" in results_in(answered)["c"]
