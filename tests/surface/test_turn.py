"""A turn that a framework answers one call at a time: the same gate, and tools that the framework runs itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from surface import CallContext, CallReport, DialectError, Hooks, TranscriptError
from surface.call import CallAnswer, Outcome
from surface.evidence import CallEvidence, Evidence
from surface.execution import Passed
from surface.transcript import Call
from tests.surface.deferred import Shop
from tests.surface.neutral_dialect import NEUTRAL, answers_in, text_in, turn
from tests.surface.rankers import proposing

FORECAST, DELETE = "weather_forecast", "file_delete"


def call(call_id: str, name: str, **arguments: Any) -> Call:
    return Call(id=call_id, name=name, arguments=arguments)


class Framework:
    """A loop that runs `weather_forecast` itself."""

    def __init__(self, **options: Any) -> None:
        self.events: list[Evidence] = []
        self.ran: list[CallContext] = []
        self.shop = Shop()
        app = self.shop.application(ranker=proposing(FORECAST), observer=self.events.append, **options)
        self.run = app.mount(run_id="run-1", surface="reader")
        self.messages: list[Any] = []

    async def execute(self, context: CallContext) -> Passed[str]:
        self.ran.append(context)
        return Passed(value="sunny", outcome="SUNNY")

    async def searched(self) -> None:
        self.messages += [turn(call("s", "search_tools", query="weather"))]
        self.messages += await self.run.dispatch(self.messages)
        self.events.clear()

    def outcomes(self) -> list[tuple[str | None, str]]:
        return [(event.tool, event.outcome) for event in self.events if isinstance(event, CallEvidence)]


@pytest.mark.rule("REP-1", "REP-2", "REP-3", "EVD-1")
async def test_calls_answered_one_by_one_are_answered_as_dispatch_answers_them_together() -> None:
    def calls() -> Sequence[Any]:
        return [call("a", FORECAST), call("b", DELETE), call("c", "nope"), call("d", "search_tools", query="weather")]

    together, single = Framework(), Framework()
    for framework in (together, single):
        await framework.searched()
        framework.messages.append(turn(*calls()))
    whole = answers_in(await together.run.dispatch(together.messages))
    opened = await single.run.open_turn(single.messages)
    assert [await opened.answer(each.id) for each in calls()] == whole
    assert sorted(single.outcomes(), key=repr) == sorted(together.outcomes(), key=repr)
    assert single.shop.handled == [FORECAST]


@pytest.mark.rule("MNT-1", "EVD-1")
async def test_what_a_framework_makes_of_an_active_call_is_passed_on_and_reported() -> None:
    reports: list[CallReport] = []
    framework = Framework(hooks=Hooks(after_call=reports.append))
    await framework.searched()
    framework.messages.append(turn(call("a", FORECAST, city="Paris")))
    opened = await framework.run.open_turn(framework.messages)
    assert opened.runs("a")
    assert await opened.pass_on("a", framework.execute) == Passed(value="sunny", outcome="SUNNY")
    assert framework.outcomes() == [(FORECAST, "SUNNY")]
    assert [(report.outcome, report.original_arguments) for report in reports] == [("SUNNY", {"city": "Paris"})]
    assert framework.ran[0].idempotency_key == reports[0].call.idempotency_key


@pytest.mark.rule("REP-1", "REP-2")
async def test_a_framework_never_gets_to_run_a_call_that_is_not_active() -> None:
    framework = Framework()
    framework.messages.append(turn(call("a", FORECAST), call("b", "nope"), call("c", "search_tools")))
    opened = await framework.run.open_turn(framework.messages)
    answers = [await opened.pass_on(call_id, framework.execute) for call_id in "abc"]
    assert [answer.outcome for answer in answers] == ["INACTIVE", "UNKNOWN_TOOL", "VALIDATION_ERROR"]
    assert framework.ran == []


@pytest.mark.rule("MNT-4")
async def test_a_fenced_call_never_reaches_the_framework_and_on_error_hears_of_it() -> None:
    heard: list[str] = []
    framework = Framework(
        fence=lambda _: False, hooks=Hooks(on_error=lambda error, _: heard.append(type(error).__name__))
    )
    await framework.searched()
    framework.messages.append(turn(call("a", FORECAST)))
    answer = await (await framework.run.open_turn(framework.messages)).pass_on("a", framework.execute)
    assert isinstance(answer, CallAnswer)
    assert (answer.outcome, framework.ran, heard) == ("FENCED", [], ["FencedError"])


@pytest.mark.rule("MNT-9")
async def test_after_a_restart_a_framework_runs_only_what_may_run_twice() -> None:
    framework = Framework()
    await framework.searched()
    framework.messages.append(turn(call("a", FORECAST)))
    opened = await framework.run.open_turn(framework.messages)
    answer = await opened.pass_on("a", framework.execute, restarted=True)
    assert isinstance(answer, CallAnswer)
    assert (answer.outcome, framework.ran) == ("INTERRUPTED", [])
    assert framework.outcomes() == [(FORECAST, "INTERRUPTED")]


@pytest.mark.rule("MNT-3", "EVD-1")
async def test_what_a_framework_raises_goes_on_and_counts_as_internal() -> None:
    heard: list[str] = []
    framework = Framework(hooks=Hooks(on_error=lambda error, _: heard.append(type(error).__name__)))
    await framework.searched()
    framework.messages.append(turn(call("a", FORECAST)))

    async def fail(_: CallContext) -> Passed[str]:
        raise LookupError("secret")

    opened = await framework.run.open_turn(framework.messages)
    with pytest.raises(LookupError, match="secret"):
        await opened.pass_on("a", fail)
    assert (framework.outcomes(), heard) == ([(FORECAST, "INTERNAL")], ["LookupError"])


@pytest.mark.rule("MNT-5", "EVD-1")
async def test_what_a_framework_runs_is_cancelled_with_its_task_and_told_as_that_and_as_no_error() -> None:
    begun, told = asyncio.Event(), list[Any]()
    framework = Framework(
        hooks=Hooks(on_error=lambda error, _: told.append(error), after_call=lambda report: told.append(report.outcome))
    )
    await framework.searched()
    framework.messages.append(turn(call("a", FORECAST)))

    async def waits(_: CallContext) -> Passed[str]:
        begun.set()
        await asyncio.Event().wait()
        return Passed(value="never")

    opened = await framework.run.open_turn(framework.messages)
    running = asyncio.ensure_future(opened.pass_on("a", waits))
    await asyncio.wait_for(begun.wait(), 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert told == ["CANCELLED"]
    assert framework.outcomes() == [(FORECAST, "CANCELLED")]


@pytest.mark.rule("EVD-1")
async def test_arguments_that_the_framework_refused_are_reported() -> None:
    framework = Framework()
    framework.messages.append(turn(call("a", FORECAST)))
    await (await framework.run.open_turn(framework.messages)).rejected("a")
    assert framework.outcomes() == [(FORECAST, "VALIDATION_ERROR")]


async def test_arguments_that_the_framework_changed_take_the_place_of_the_written_ones() -> None:
    reports: list[CallReport] = []
    framework = Framework(hooks=Hooks(after_call=reports.append))
    framework.messages.append(turn(call("a", "help", topic="all")))
    opened = await framework.run.open_turn(framework.messages)
    answer = await opened.answer("a", arguments={"topic": "some"})
    assert (answer.outcome, reports[0].original_arguments) == (Outcome.OK, {"topic": "some"})
    await framework.searched()
    framework.messages.append(turn(call("b", FORECAST, city="Paris")))
    opened = await framework.run.open_turn(framework.messages)
    await opened.pass_on("b", framework.execute, arguments={"city": "Rome"})
    assert reports[-1].effective_arguments == {"city": "Rome"}


async def test_a_turn_that_is_not_there_or_holds_no_such_call_is_refused() -> None:
    framework = Framework()
    with pytest.raises(TranscriptError, match="no assistant turn"):
        await framework.run.open_turn([])
    opened = await framework.run.open_turn([turn(call("a", "help"))])
    with pytest.raises(TranscriptError, match="no call of the id"):
        await opened.answer("b")


@pytest.mark.rule("MNT-1")
def test_a_tool_that_one_framework_runs_is_mounted_by_no_other_dialect() -> None:
    shop = Shop()
    shop.tools[0] = replace(shop.tools[0], framework="elsewhere")
    with pytest.raises(DialectError, match="only elsewhere runs it"):
        shop.application()
    shop.tools[0] = replace(shop.tools[0], framework=NEUTRAL.name)
    assert shop.application().registry.surfaces.keys() == {"reader"}


@pytest.mark.rule("RCP-7")
async def test_an_answer_brings_its_receipt_and_the_projection_holds_what_a_model_needs() -> None:
    framework = Framework()
    framework.messages.append(turn(call("s", "search_tools", query="weather")))
    (answered,) = answers_in(await framework.run.dispatch(framework.messages))
    assert answered.receipt is not None
    assert answered.receipt.to_json() == text_in(answered)
    assert answered.receipt.projection().keys() == {"status", "matches", "next"}
    framework.messages[-1] = turn(call("s", "search_tools", query="x" * 3_000))
    (refused,) = answers_in(await framework.run.dispatch(framework.messages))
    assert refused.receipt is not None
    assert refused.receipt.projection()["reason"] == "query_too_long"
