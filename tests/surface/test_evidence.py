"""One event for each search, prepared step and dispatched call: counts, bytes, codes (EVD-1, EVD-3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from surface import CallContext, CallEvidence, ConfigurationError, Limits, SearchEvidence, StepEvidence, Tool, ToolError
from surface.input_model import PydanticInput
from surface.receipt import Provenance
from tests.surface.deferred import AnyArguments, Shop, Talk, receipt_in
from tests.surface.neutral_dialect import Answered, answers_in, call, turn
from tests.surface.one_call import answer_of, mounted
from tests.surface.rankers import proposing, raising
from tests.surface.shop import make_tool, selecting


def observed(shop: Shop | None = None, *, pins: Sequence[str] = (), **other: Any) -> tuple[Talk, list[Any]]:
    events: list[Any] = []
    application = (shop or Shop()).application(observer=events.append, **other)
    return Talk(application.mount(run_id="run-1", surface="reader", pins=pins)), events


def of_kind(events: Sequence[Any], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.rule("EVD-1")
async def test_each_search_step_and_call_is_one_event() -> None:
    talk, events = observed(ranker=proposing("invoices_list"))
    await talk.advertised()
    await talk.searches()
    await talk.calls("help")
    await talk.says(call("help", id="a"), call("file_delete", id="b"), call("nobody", id="c"))
    assert [type(event) for event in events[:3]] == [StepEvidence, SearchEvidence, CallEvidence]
    assert len(of_kind(events, StepEvidence)) == 1
    assert len(of_kind(events, SearchEvidence)) == 1
    assert len(of_kind(events, CallEvidence)) == 5


@pytest.mark.rule("EVD-1")
async def test_every_event_says_application_surface_and_run() -> None:
    talk, events = observed(ranker=proposing("invoices_list"))
    await talk.advertised()
    await talk.searches()
    assert {(event.application, event.surface, event.run_id) for event in events} == {("shop", "reader", "run-1")}
    assert all(event.seconds >= 0 for event in events)


@pytest.mark.rule("EVD-1")
async def test_a_search_says_what_was_ranked_rejected_skipped_and_selected_and_by_whom() -> None:
    limits = Limits()
    talk, events = observed(
        tools=[make_tool("giant", "x" * 70_000)],
        ranker=proposing("nobody", "giant", "invoices_list", "invoices_list", index_version="v7"),
        limits=limits,
    )
    answer = await talk.calls("search_tools", {"query": "invoices"})
    (search,) = of_kind(events, SearchEvidence)
    assert (search.ranked, search.rejected, search.skipped, search.selected) == (4, 2, 1, 1)
    assert (search.status, search.reason) == ("SELECTED", None)
    assert (search.ranker, search.index_version, search.degraded) == ("scripted", "v7", None)
    assert search.result_bytes == receipt_in(answer).size()
    assert search.limits == limits


@pytest.mark.rule("EVD-1", "SRC-8")
async def test_a_degraded_search_says_so_with_a_code() -> None:
    talk, events = observed(ranker=raising(RuntimeError("no")))
    receipt = await talk.searches()
    (search,) = of_kind(events, SearchEvidence)
    assert (search.ranker, search.degraded) == ("lexical", "ranker_failed")
    assert receipt.provenance == Provenance(
        ranker="lexical", index_version=search.index_version, degraded="ranker_failed"
    )


@pytest.mark.rule("EVD-1")
async def test_a_search_that_no_ranker_was_asked_for_says_so() -> None:
    talk, events = observed(limits=Limits(max_query_bytes=3))
    await talk.searches("too long")
    (search,) = of_kind(events, SearchEvidence)
    assert (search.status, search.reason) == ("SELECTION_REFUSED", "query_too_long")
    assert (search.ranker, search.ranked) == ("none", 0)


@pytest.mark.rule("EVD-1")
async def test_a_step_says_its_counts_bytes_and_ceilings() -> None:
    limits = Limits(max_active_tools=5)
    talk, events = observed(
        pins=["weather_forecast"], ranker=proposing("invoices_list", "invoices_send"), limits=limits
    )
    await talk.searches()
    await talk.advertised()
    (step,) = of_kind(events, StepEvidence)
    assert (step.catalog, step.base, step.pinned, step.selected, step.active) == (5, 2, 1, 2, 5)
    assert step.evicted == 0
    assert step.source == "current"
    surface = talk.run.surface
    active = ("search_tools", "help", "invoices_list", "invoices_send", "weather_forecast")
    assert step.schema_bytes == sum(surface.weight(name) for name in active)
    assert step.catalog_schema_bytes == surface.catalog.manifest.schema_bytes
    assert step.limits == limits


@pytest.mark.rule("EVD-1", "ACT-6")
async def test_a_step_counts_what_new_pins_evicted() -> None:
    talk, _ = observed(ranker=proposing("invoices_list", "invoices_send"))
    await talk.searches()
    events: list[Any] = []
    pinned = Shop().application(observer=events.append, limits=Limits(max_active_tools=4))
    run = pinned.mount(run_id="run-1", surface="reader", pins=["weather_forecast"])
    await run.prepare_step(talk.messages)
    (step,) = of_kind(events, StepEvidence)
    assert (step.selected, step.evicted, step.active) == (1, 1, 4)


@pytest.mark.rule("EVD-1", "ACT-4")
async def test_a_step_counts_the_receipts_that_changed_nothing_by_reason() -> None:
    talk, events = observed()
    receipt = selecting(talk.run.surface, "file_delete", run_id="run-2").to_json()
    for id_, name, text in (
        ("a", "search_tools", receipt),
        ("b", "help", receipt),
        ("c", "search_tools", "no receipt"),
    ):
        given = (await _answer_with(id_, name, text),)
        talk.messages += [turn(call(name, {"query": "q"}, id=id_)), Answered(answers=given)]
    await talk.advertised()
    (step,) = of_kind(events, StepEvidence)
    assert dict(step.ignored) == {"foreign_run": 1, "misplaced": 1, "malformed": 1}
    assert step.source == "none"


async def _answer_with(id_: str, name: str, text: str) -> Any:
    echo = Tool(name=name, description="", input=PydanticInput(AnyArguments), handler=lambda value, call: text)
    run = mounted(echo).mount(run_id="run-1")
    (answer,) = answers_in(await run.dispatch([turn(call(name, id=id_))]))
    return answer


def _not_found(value: Any, call: CallContext) -> None:
    raise ToolError("NOT_FOUND", "No.")


@pytest.mark.rule("EVD-1")
async def test_a_call_says_its_outcome_code() -> None:
    lost = Tool(name="lost", description="", input=PydanticInput(AnyArguments), handler=_not_found)
    broken = Tool(name="broken", description="", input=PydanticInput(AnyArguments), handler=lambda: None)
    talk, events = observed(tools=[lost, broken], always_on=["help", "lost", "broken"])
    names = ("help", "lost", "broken", "file_delete", "nobody")
    await talk.says(*(call(name, id=name) for name in names), call("search_tools", {"query": ""}, id="s"))
    assert sorted((event.tool or "", event.outcome) for event in of_kind(events, CallEvidence)) == [
        ("", "UNKNOWN_TOOL"),
        ("broken", "INTERNAL"),
        ("file_delete", "INACTIVE"),
        ("help", "ok"),
        ("lost", "NOT_FOUND"),
        ("search_tools", "VALIDATION_ERROR"),
    ]


@pytest.mark.rule("EVD-1", "MNT-4")
async def test_a_fenced_call_says_so() -> None:
    talk, events = observed(fence=lambda call: False)
    await talk.calls("help")
    assert [event.outcome for event in of_kind(events, CallEvidence)] == ["FENCED"]


@pytest.mark.rule("EVD-1", "MNT-5")
async def test_a_call_that_was_cancelled_with_its_run_says_so() -> None:
    begun = asyncio.Event()
    events: list[Any] = []

    async def handler(value: Any, call: CallContext) -> None:
        begun.set()
        await asyncio.Event().wait()

    slow = Tool(name="slow", description="", input=PydanticInput(AnyArguments), handler=handler)
    running = asyncio.ensure_future(answer_of(slow, observer=events.append))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [(event.tool, event.outcome) for event in events] == [("slow", "CANCELLED")]


class ObserverError(Exception):
    """An observer's own failure."""


@pytest.mark.rule("EVD-3", "EVD-2")
async def test_an_observer_that_raises_changes_nothing_and_is_logged_by_class(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: Any) -> None:
        raise ObserverError("hunter2")

    shop = Shop()
    run = shop.application(observer=fail, ranker=proposing("invoices_list")).mount(run_id="run-1", surface="reader")
    talk = Talk(run)
    with caplog.at_level(logging.DEBUG):
        await talk.advertised()
        assert (await talk.searches()).selected == ("invoices_list",)
        assert (await talk.calls("invoices_list")).outcome == "ok"
    told = {record.getMessage() for record in caplog.records if record.name == "toolsurface"}
    assert told == {"the evidence observer raised ObserverError"}
    assert "hunter2" not in caplog.text


@pytest.mark.rule("EVD-3")
async def test_without_an_observer_a_run_is_the_same() -> None:
    seen, _ = observed(ranker=proposing("invoices_list"))
    unseen = Talk(Shop().application(ranker=proposing("invoices_list")).mount(run_id="run-1", surface="reader"))
    for talk in (seen, unseen):
        await talk.searches()
        await talk.calls("file_delete")
    assert seen.messages == unseen.messages


class _AsyncObject:
    async def __call__(self, _: Any) -> None:
        return None


async def _async_function(_: Any) -> None:
    return None


@pytest.mark.rule("EVD-3")
@pytest.mark.parametrize("observer", [_async_function, _AsyncObject()], ids=["function", "object"])
def test_an_async_observer_which_nobody_would_await_is_refused_at_construction(observer: Any) -> None:
    for mount in (lambda: Shop().application(observer=observer), lambda: mounted(observer=observer)):
        with pytest.raises(ConfigurationError, match=r"^observer: needs a plain function"):
            mount()
