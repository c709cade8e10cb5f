"""What a step advertises, and that everything about it follows from the messages (ACT-1, ACT-5 to ACT-9, SRC-1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from surface import (
    ConfigurationError,
    Limits,
    MountedRun,
    PinsRefusedError,
    StepChanges,
    StepView,
    TranscriptError,
    UnknownSurfaceError,
)
from surface.activation import SelectionSource
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from tests.surface.deferred import Shop, Talk, receipt_in
from tests.surface.neutral_dialect import call, turn
from tests.surface.rankers import ScriptedRanker, proposing, ranking
from tests.surface.shop import make_tool


def mounted(
    shop: Shop | None = None,
    *,
    run_id: str = "run-1",
    pins: Any = (),
    prepare_step: Any = None,
    context: Any = None,
    **other: Any,
) -> MountedRun:
    application = (shop or Shop()).application(**other)
    return application.mount(run_id=run_id, surface="reader", pins=pins, prepare_step=prepare_step, context=context)


async def advertised_bytes(run: MountedRun, messages: Sequence[Any]) -> bytes:
    """The tools list as it would go over the wire."""
    return json.dumps((await run.prepare_step(messages)).tools, ensure_ascii=False).encode("utf-8")


def anthropic_turn(*calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in calls]
    return {"role": "assistant", "content": blocks}


@pytest.mark.rule("ACT-6")
async def test_a_step_advertises_search_tool_always_on_selection_and_pins_in_this_order_without_duplicates() -> None:
    talk = Talk(
        mounted(
            always_on=["weather_forecast", "help"],
            pins=["invoices_send", "file_delete"],
            ranker=proposing("help", "invoices_list", "invoices_send"),
        )
    )
    await talk.searches()
    step = await talk.run.prepare_step(talk.messages)
    assert step.names == (
        "search_tools",
        "weather_forecast",
        "help",
        "invoices_list",
        "invoices_send",
        "file_delete",
    )
    assert [entry.name for entry in step.tools] == list(step.names)
    assert step.activation is not None
    assert step.activation.base == ("search_tools", "weather_forecast", "help")
    assert step.activation.pins == ("invoices_send", "file_delete")
    assert step.activation.selected == ("help", "invoices_list", "invoices_send")


@pytest.mark.rule("ACT-8")
async def test_the_base_is_a_byte_identical_prefix_of_every_steps_list() -> None:
    run = mounted(
        dialect=ANTHROPIC_MESSAGES,
        always_on=["weather_forecast", "help"],
        pins=lambda context, transcript: ["file_delete"] if len(transcript.steps) % 2 else [],
        ranker=proposing("invoices_list"),
    )
    base = json.dumps((await run.prepare_step([])).tools, ensure_ascii=False).encode().removesuffix(b"]")
    messages: list[Any] = []
    lists: set[bytes] = set()
    for at, name in enumerate(("search_tools", "invoices_send", "help", "search_tools", "nobody")):
        messages.append(anthropic_turn((f"c{at}", name, {"query": "q"})))
        messages.extend(await run.dispatch(messages))
        made = await advertised_bytes(run, messages)
        lists.add(made)
        assert made.startswith(base)
        assert len(made) > len(base)
    assert len(lists) > 1


@pytest.mark.rule("ACT-8")
async def test_two_steps_with_the_same_selection_and_pins_have_byte_identical_lists() -> None:
    ranker = ScriptedRanker(
        lambda request: (
            ranking(request, "invoices_list", "file_delete") if request.query == "invoices" else ranking(request)
        )
    )
    run = mounted(dialect=ANTHROPIC_MESSAGES, pins=["weather_forecast"], ranker=ranker)
    messages: list[Any] = [anthropic_turn(("s", "search_tools", {"query": "invoices"}))]
    messages.extend(await run.dispatch(messages))
    first = await advertised_bytes(run, messages)
    for id_, name, given in (
        ("a", "invoices_list", {}),
        ("b", "search_tools", {"query": "zebras"}),
        ("c", "search_tools", {"query": ""}),
        ("d", "nobody", {}),
        ("e", "search_tools", {"query": "invoices"}),
    ):
        messages.append(anthropic_turn((id_, name, given)))
        messages.extend(await run.dispatch(messages))
        assert await advertised_bytes(run, messages) == first


@pytest.mark.rule("ACT-8", "CAT-3")
async def test_the_list_has_the_same_bytes_in_whatever_order_tools_were_declared() -> None:
    shop, backwards = Shop(), Shop()
    backwards.tools.reverse()
    lists = [
        await advertised_bytes(mounted(each, dialect=ANTHROPIC_MESSAGES, pins=["file_delete"]), [])
        for each in (shop, backwards)
    ]
    assert lists[0] == lists[1]


@pytest.mark.rule("ACT-1", "ACT-5")
async def test_two_mounts_agree_on_every_prefix_of_a_run() -> None:
    talk = Talk(mounted(ranker=proposing("invoices_list"), pins=["weather_forecast"]))
    await talk.searches()
    await talk.calls("invoices_list")
    await talk.calls("file_delete")
    for length in range(len(talk.messages) + 1):
        prefix = talk.messages[:length]
        other = mounted(ranker=proposing("help"), pins=["weather_forecast"])
        assert (await other.prepare_step(prefix)).names == (await talk.run.prepare_step(prefix)).names


@pytest.mark.rule("ACT-1")
async def test_a_run_remembers_nothing_that_its_messages_do_not_say() -> None:
    talk = Talk(mounted(ranker=proposing("invoices_list")))
    first = await talk.advertised()
    await talk.searches()
    assert await talk.advertised() != first
    assert (await talk.run.prepare_step([])).names == first


@pytest.mark.rule("ACT-1")
async def test_preparing_and_dispatching_leave_the_messages_as_they_were() -> None:
    run = mounted(dialect=ANTHROPIC_MESSAGES, ranker=proposing("invoices_list"))
    messages = [anthropic_turn(("s", "search_tools", {"query": "invoices"}), ("h", "help", {"a": [1]}))]
    before = json.dumps(messages)
    await run.prepare_step(messages)
    await run.dispatch(messages)
    assert json.dumps(messages) == before


@pytest.mark.rule("ACT-5")
async def test_another_run_gets_the_base_set_whatever_the_transcript_holds() -> None:
    shop = Shop()
    talk = Talk(mounted(shop, ranker=proposing("invoices_list")))
    await talk.searches()
    await talk.calls("file_delete")
    successor = mounted(shop, run_id="run-2")
    assert (await successor.prepare_step(talk.messages)).names == ("search_tools", "help")


@pytest.mark.rule("ACT-9")
async def test_after_compaction_a_tool_is_inactive_and_its_call_is_told_to_try_again() -> None:
    shop = Shop()
    talk = Talk(mounted(shop, ranker=proposing("invoices_list")))
    await talk.searches()
    assert "invoices_list" in await talk.advertised()
    cut = Talk(talk.run, ["everything so far, in one sentence"])
    assert await cut.advertised() == ("search_tools", "help")
    given = await cut.calls("invoices_list")
    assert receipt_in(given).status == "SEARCH_REQUIRED"
    assert shop.handled == []
    assert (await cut.calls("invoices_list")).outcome == "ok"


@pytest.mark.rule("ACT-6")
async def test_pins_are_asked_anew_for_each_step_with_the_context_and_the_transcript() -> None:
    asked: list[tuple[Any, int]] = []

    def pins(context: Any, transcript: Any) -> list[str]:
        asked.append((context, len(transcript.steps)))
        return ["invoices_list"] if len(transcript.steps) == 0 else ["file_delete"]

    talk = Talk(mounted(pins=pins, context="the customer's page"))
    assert await talk.advertised() == ("search_tools", "help", "invoices_list")
    await talk.calls("help")
    assert await talk.advertised() == ("search_tools", "help", "file_delete")
    assert asked == [("the customer's page", 0), ("the customer's page", 0), ("the customer's page", 1)]


@pytest.mark.rule("ACT-6")
async def test_pins_may_be_asked_asynchronously() -> None:
    async def pins(context: Any, transcript: Any) -> list[str]:
        await asyncio.sleep(0)
        return ["file_delete"]

    assert await Talk(mounted(pins=pins)).advertised() == ("search_tools", "help", "file_delete")


@pytest.mark.rule("ACT-6")
async def test_pins_are_never_written_into_a_receipt() -> None:
    talk = Talk(mounted(pins=["file_delete"], ranker=proposing("invoices_list")))
    receipt = await talk.searches()
    assert receipt.selected == ("invoices_list",)
    assert "file_delete" not in receipt.to_json()


@pytest.mark.rule("ACT-6")
@pytest.mark.parametrize(
    ("pins", "limits", "message"),
    [
        (["nobody"], Limits(), r"nobody is no tool of surface reader"),
        (["search_tools"], Limits(), r"search_tools is no tool of surface reader"),
        (["file_delete", "file_delete"], Limits(), r"file_delete is repeated"),
        (["file_delete", "invoices_list"], Limits(max_active_tools=3), r"limits\.max_active_tools = 3"),
        (["giant"], Limits(), r"limits\.max_schema_bytes = 65536"),
    ],
    ids=["unknown", "search tool", "repeated", "too many", "too heavy"],
)
async def test_pins_that_cannot_be_refuse_the_step_and_say_why(pins: list[str], limits: Limits, message: str) -> None:
    run = mounted(tools=[make_tool("giant", "x" * 70_000)], pins=pins, limits=limits)
    with pytest.raises(PinsRefusedError, match=message):
        await run.prepare_step([])
    with pytest.raises(PinsRefusedError, match=message):
        await run.dispatch([turn(call("help"))])


@pytest.mark.rule("ACT-6")
async def test_refused_pins_leave_the_run_unharmed() -> None:
    pinned = ["nobody"]
    shop = Shop()
    talk = Talk(mounted(shop, pins=lambda context, transcript: pinned))
    with pytest.raises(PinsRefusedError):
        await talk.advertised()
    pinned[:] = ["file_delete"]
    assert await talk.advertised() == ("search_tools", "help", "file_delete")
    assert shop.handled == []


@pytest.mark.rule("ACT-6")
async def test_a_selection_loses_its_lowest_ranks_to_new_pins_for_that_step_only() -> None:
    pinned: list[str] = []
    talk = Talk(
        mounted(
            ranker=proposing("invoices_list", "invoices_send"),
            pins=lambda context, transcript: list(pinned),
            limits=Limits(max_active_tools=4),
        )
    )
    await talk.searches()
    whole = ("search_tools", "help", "invoices_list", "invoices_send")
    assert await talk.advertised() == whole
    pinned[:] = ["file_delete"]
    step = await talk.run.prepare_step(talk.messages)
    assert step.names == ("search_tools", "help", "invoices_list", "file_delete")
    assert step.activation is not None
    assert step.activation.evicted == ("invoices_send",)
    pinned.clear()
    assert await talk.advertised() == whole


@pytest.mark.rule("ACT-7")
async def test_the_applications_own_changes_are_handed_on_untouched() -> None:
    asked_for = StepChanges(instructions="Be brief.", messages=["a summary"], model_settings={"temperature": 0})
    step = await mounted(prepare_step=lambda view: asked_for).prepare_step([])
    assert step.changes is asked_for
    assert step.names == ("search_tools", "help")


@pytest.mark.rule("ACT-7")
async def test_the_application_sees_its_context_the_transcript_and_what_would_be_active() -> None:
    seen: list[StepView] = []
    talk = Talk(mounted(prepare_step=seen.append, context="domain", pins=["file_delete"]))
    await talk.advertised()
    assert seen[0].context == "domain"
    assert seen[0].active == ("search_tools", "help", "file_delete")
    assert seen[0].transcript.steps == ()


@pytest.mark.rule("ACT-7")
@pytest.mark.parametrize(
    ("active_tools", "names"),
    [
        (["file_delete", "weather_forecast", "nobody"], ("search_tools", "help", "file_delete")),
        (["invoices_list"], ("search_tools", "help", "invoices_list")),
        ([], ("search_tools", "help")),
        (None, ("search_tools", "help", "invoices_list", "file_delete")),
    ],
    ids=repr,
)
async def test_the_applications_active_tools_narrow_the_step_and_never_widen_it_or_take_the_base(
    active_tools: list[str] | None, names: tuple[str, ...]
) -> None:
    async def prepare(view: StepView) -> StepChanges:
        await asyncio.sleep(0)
        return StepChanges(active_tools=active_tools)

    talk = Talk(mounted(prepare_step=prepare, pins=["file_delete"], ranker=proposing("invoices_list")))
    await talk.searches()
    assert await talk.advertised() == names


@pytest.mark.rule("ACT-7")
async def test_an_application_that_changes_nothing_may_return_nothing() -> None:
    step = await mounted(prepare_step=lambda view: None).prepare_step([])
    assert step.changes == StepChanges()


@pytest.mark.rule("EVD-1")
async def test_a_step_says_whether_its_selection_is_new_rebuilt_or_none() -> None:
    talk = Talk(mounted(ranker=proposing("invoices_list")))
    sources: list[SelectionSource] = []

    async def look() -> None:
        activation = (await talk.run.prepare_step(talk.messages)).activation
        assert activation is not None
        sources.append(activation.source)

    await look()
    await talk.searches()
    await look()
    await talk.calls("help")
    await look()
    assert sources == [SelectionSource.NONE, SelectionSource.CURRENT, SelectionSource.DURABLE]


async def test_nothing_unanswered_is_answered_with_nothing() -> None:
    talk = Talk(mounted())
    await talk.calls("help")
    for messages in ([], ["a prompt"], [turn()], talk.messages):
        assert await talk.run.dispatch(messages) == []
        assert await talk.run.resume(messages) == []


@pytest.mark.rule("MNT-7")
async def test_answers_stand_in_call_order_even_when_they_end_the_other_way_round() -> None:
    second_is_done = asyncio.Event()

    async def script(request: Any) -> Any:
        if request.query == "first":
            await second_is_done.wait()
        second_is_done.set()
        return ranking(request, "invoices_list")

    talk = Talk(mounted(ranker=ScriptedRanker(script)))
    answers = await talk.says(
        *(call("search_tools", {"query": query}, id=query) for query in ("first", "second")), call("help", id="third")
    )
    assert [answer.call_id for answer in answers] == ["first", "second", "third"]


async def test_messages_of_another_dialect_are_refused() -> None:
    run = mounted()
    for method in (run.prepare_step, run.dispatch, run.resume):
        with pytest.raises(TranscriptError):
            await method([{"role": "user", "content": "hello"}])


@pytest.mark.parametrize("run_id", ["", "a" * 257, "é", "new\nline", "\x7f"], ids=ascii)
def test_a_run_id_that_is_no_run_id_is_refused_where_it_enters(run_id: str) -> None:
    with pytest.raises(ConfigurationError, match="run_id"):
        mounted(run_id=run_id)


@pytest.mark.parametrize("run_id", ["a" * 256, "with a space", '"\\quoted"', "~"])
async def test_any_printable_run_id_carries_an_activation(run_id: str) -> None:
    talk = Talk(mounted(run_id=run_id, ranker=proposing("invoices_list")))
    assert (await talk.searches()).run_id == run_id
    assert "invoices_list" in await talk.advertised()


def test_an_unknown_surface_is_refused_where_it_enters_and_names_the_ones_there_are() -> None:
    application = Shop().application()
    with pytest.raises(UnknownSurfaceError, match=r"no writer in shop; there are reader"):
        application.mount(run_id="run-1", surface="writer")
