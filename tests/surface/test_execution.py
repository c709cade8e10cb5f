"""The order of one call, and what each station of it is told (MNT-2, MNT-4, MNT-7, MNT-9)."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from surface import CallContext, CallReport, Hooks, Lifecycle, PartKind, Presenter, Refused, Text, Tool, ToolError
from surface.input_model import PydanticInput
from tests.surface.neutral_dialect import NEUTRAL, answers_in, call, error_in, text_in, turn
from tests.surface.one_call import answer_of, mounted


class Amount(BaseModel):
    model_config = ConfigDict(extra="forbid")

    euros: int


class Station:
    """Writes down which stations a call passes, in order, and what each was given."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.given: dict[str, Any] = {}

    def at(self, name: str, *given: Any) -> None:
        self.passed.append(name)
        self.given[name] = given


def recorded_tool(station: Station, **changes: Any) -> Tool:
    """A tool that writes down its input model, lifecycle, handler, output type and presenter."""

    class RecordedInput:
        json_schema = PydanticInput(Amount).json_schema

        def validate(self, arguments: Any) -> Any:
            station.at("validation", arguments)
            return PydanticInput(Amount).validate(arguments)

    def before(value: Any, call: CallContext) -> None:
        station.at("lifecycle.before", value, call)

    async def handler(value: Amount, call: CallContext) -> dict[str, int]:
        station.at("handler", value, call)
        return {"euros": value.euros}

    class RecordedOutput(BaseModel):
        euros: int

        def model_post_init(self, context: Any) -> None:
            station.at("output validation")

    def after(output: Any, call: CallContext) -> Any:
        station.at("lifecycle.after", output, call)
        return output.model_copy(update={"euros": output.euros * 10})

    def present(output: Any) -> list[Text]:
        station.at("presenter", output)
        return [Text(text=f"{output.euros} EUR")]

    made: dict[str, Any] = {
        "name": "pay",
        "description": "Pays.",
        "input": RecordedInput(),
        "handler": handler,
        "output": RecordedOutput,
        "lifecycle": Lifecycle(before=before, after=after),
        "presenter": Presenter(kinds=frozenset({PartKind.TEXT}), present=present),
    }
    return Tool(**{**made, **changes})


def recorded_hooks(station: Station, *, replace_with: Any = None) -> Hooks:
    def before_call(arguments: Any, call: CallContext) -> Any:
        station.at("before_call", arguments, call)
        return arguments if replace_with is None else replace_with

    def after_call(report: CallReport) -> None:
        station.at("after_call", report)

    def on_error(error: Exception, call: CallContext) -> None:
        station.at("on_error", error, call)

    return Hooks(before_call=before_call, after_call=after_call, on_error=on_error)


def recorded_fence(station: Station, *, owns: bool = True) -> Any:
    def fence(call: CallContext) -> bool:
        station.at("fence", call)
        return owns

    return fence


WHOLE_ORDER = [
    "before_call",
    "validation",
    "fence",
    "lifecycle.before",
    "handler",
    "output validation",
    "lifecycle.after",
    "presenter",
    "after_call",
]


@pytest.mark.rule("MNT-1", "MNT-2")
async def test_a_call_passes_every_station_once_in_the_order_of_the_contract() -> None:
    station = Station()
    answer = await answer_of(
        recorded_tool(station), {"euros": 5}, hooks=recorded_hooks(station), fence=recorded_fence(station)
    )
    assert station.passed == WHOLE_ORDER
    assert text_in(answer) == "50 EUR"


@pytest.mark.rule("MNT-2")
async def test_every_station_may_be_async() -> None:
    passed: list[str] = []

    async def before_call(arguments: Any, call: CallContext) -> Any:
        passed.append("before_call")
        return arguments

    async def fence(call: CallContext) -> bool:
        passed.append("fence")
        return True

    async def before(value: Any, call: CallContext) -> None:
        passed.append("lifecycle.before")

    async def after(output: Any, call: CallContext) -> Any:
        passed.append("lifecycle.after")
        return output

    async def after_call(report: CallReport) -> None:
        passed.append("after_call")

    tool = Tool(
        name="pay",
        description="Pays.",
        input=PydanticInput(Amount),
        handler=lambda value, call: "paid",
        lifecycle=Lifecycle(before=before, after=after),
    )
    answer = await answer_of(
        tool, {"euros": 5}, hooks=Hooks(before_call=before_call, after_call=after_call), fence=fence
    )
    assert text_in(answer) == "paid"
    assert passed == ["before_call", "fence", "lifecycle.before", "lifecycle.after", "after_call"]


@pytest.mark.rule("MNT-2")
async def test_replaced_arguments_are_what_is_validated_and_handled() -> None:
    station = Station()
    await answer_of(recorded_tool(station), {"euros": 5}, hooks=recorded_hooks(station, replace_with={"euros": 7}))
    assert station.given["validation"] == ({"euros": 7},)
    assert station.given["handler"][0] == Amount(euros=7)
    (report,) = station.given["after_call"]
    assert report.original_arguments == {"euros": 5}
    assert report.effective_arguments == {"euros": 7}


@pytest.mark.rule("MNT-2")
async def test_replaced_arguments_that_break_the_input_model_are_a_validation_error() -> None:
    station = Station()
    answer = await answer_of(
        recorded_tool(station),
        {"euros": 5},
        hooks=recorded_hooks(station, replace_with={"euros": "many"}),
        fence=recorded_fence(station),
    )
    assert error_in(answer)["code"] == "VALIDATION_ERROR"
    assert station.passed == ["before_call", "validation", "on_error", "after_call"]


@pytest.mark.rule("MNT-2")
async def test_a_before_call_hook_can_mend_arguments_that_would_not_validate() -> None:
    station = Station()
    answer = await answer_of(
        recorded_tool(station), {"euro": "5"}, hooks=recorded_hooks(station, replace_with={"euros": 5})
    )
    assert text_in(answer) == "50 EUR"


@pytest.mark.rule("MNT-2")
async def test_a_before_call_hook_that_edits_in_place_changes_neither_the_history_nor_the_reported_original() -> None:
    reports: list[CallReport] = []

    def before_call(arguments: Any, call: CallContext) -> Any:
        arguments["euros"] = 9
        return arguments

    tool = Tool(name="pay", description="Pays.", input=PydanticInput(Amount), handler=lambda value, call: value.euros)
    run = mounted(tool, hooks=Hooks(before_call=before_call, after_call=reports.append)).mount(run_id="run-1")
    written = {"euros": 5}
    await run.dispatch([turn(call("pay", written))])
    assert written == {"euros": 5}
    assert reports[0].original_arguments == {"euros": 5}
    assert reports[0].effective_arguments == {"euros": 9}


@pytest.mark.rule("MNT-2")
async def test_after_call_is_told_the_outcome_the_duration_and_the_call() -> None:
    reports: list[CallReport] = []
    loop = asyncio.get_running_loop()
    started = loop.time()
    tool = Tool(name="pay", description="Pays.", input=PydanticInput(Amount), handler=lambda value, call: "paid")
    await answer_of(tool, {"euros": 5}, hooks=Hooks(after_call=reports.append), context="domain")
    (report,) = reports
    assert report.outcome == "ok"
    assert 0 <= report.seconds <= loop.time() - started
    assert report.call == CallContext(run_id="run-1", surface="all", call_id="call-1", tool="pay", context="domain")


FAILING = {
    "before_call": "INTERNAL",
    "validation": "VALIDATION_ERROR",
    "fence": "FENCED",
    "lifecycle.before": "REFUSED",
    "handler": "NOT_FOUND",
    "output validation": "INTERNAL",
    "lifecycle.after": "INTERNAL",
    "presenter": "INTERNAL",
}


@pytest.mark.rule("MNT-2", "MNT-3")
@pytest.mark.parametrize("failing", FAILING)
async def test_a_failure_at_a_station_ends_the_call_there_and_is_reported_once(failing: str) -> None:
    station = Station()

    def fail(*_: Any) -> Any:
        station.at(failing)
        match failing:
            case "lifecycle.before":
                raise Refused("Not on a Sunday.")
            case "handler":
                raise ToolError("NOT_FOUND", "There is no such account.")
            case _:
                raise RuntimeError("broken")

    def wrong_output(value: Any, call: CallContext) -> Any:
        station.at("handler")
        return {"euros": "many"}

    def passes(name: str) -> Any:
        def pass_on(first: Any, *_: Any) -> Any:
            station.at(name)
            return first

        return pass_on

    def before(value: Any, call: CallContext) -> None:
        station.at("lifecycle.before")

    handler = {"handler": fail, "output validation": wrong_output}.get(failing)
    tool = recorded_tool(
        station,
        **({} if handler is None else {"handler": handler}),
        lifecycle=Lifecycle(
            before=fail if failing == "lifecycle.before" else before,
            after=fail if failing == "lifecycle.after" else passes("lifecycle.after"),
        ),
        presenter=Presenter(
            kinds=frozenset({PartKind.TEXT}),
            present=fail if failing == "presenter" else lambda output: [Text(text="never seen")],
        ),
    )
    hooks = recorded_hooks(station)
    if failing == "before_call":
        hooks = Hooks(before_call=fail, after_call=hooks.after_call, on_error=hooks.on_error)
    arguments = {"euros": "many"} if failing == "validation" else {"euros": 5}
    answer = await answer_of(tool, arguments, hooks=hooks, fence=recorded_fence(station, owns=failing != "fence"))
    assert answer.outcome == FAILING[failing]
    reached = WHOLE_ORDER[: WHOLE_ORDER.index(failing) + 1]
    if failing == "output validation":
        reached.remove("output validation")  # the output model never comes to be
    assert station.passed == [*reached, "on_error", "after_call"]
    (report,) = station.given["after_call"]
    assert report.outcome == FAILING[failing]


@pytest.mark.rule("MNT-2")
async def test_on_error_sees_the_exception_as_it_was_raised() -> None:
    raised = RuntimeError("the database is gone")
    seen: list[Exception] = []

    def handler(value: Any, call: CallContext) -> None:
        raise raised

    tool = Tool(name="pay", description="Pays.", input=PydanticInput(Amount), handler=handler)
    await answer_of(tool, {"euros": 5}, hooks=Hooks(on_error=lambda error, call: seen.append(error)))
    assert seen == [raised]
    assert seen[0] is raised


class HookError(Exception):
    """A hook's own failure."""


@pytest.mark.rule("MNT-2", "EVD-2")
@pytest.mark.parametrize(
    "raised", [HookError("a secret"), asyncio.CancelledError("a secret")], ids=["error", "cancelled"]
)
async def test_failing_hooks_are_logged_by_class_and_change_nothing(
    raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise raised

    def broken(value: Any, call: CallContext) -> None:
        raise ToolError("NOT_FOUND", "There is no such account.")

    tool = Tool(name="pay", description="Pays.", input=PydanticInput(Amount), handler=broken)
    with caplog.at_level(logging.DEBUG):
        answer = await answer_of(tool, {"euros": 5}, hooks=Hooks(after_call=fail, on_error=fail))
    assert error_in(answer)["code"] == "NOT_FOUND"
    class_name = type(raised).__name__
    assert [record.getMessage() for record in caplog.records if record.name == "toolsurface"] == [
        f"the on_error hook raised {class_name}",
        f"the after_call hook raised {class_name}",
    ]
    assert "secret" not in caplog.text


@pytest.mark.rule("MNT-4")
@pytest.mark.parametrize("owns", [True, False])
async def test_the_fence_is_asked_exactly_once_for_each_call(owns: bool) -> None:  # noqa: FBT001
    asked: list[str] = []
    handled: list[str] = []

    def fence(call: CallContext) -> bool:
        asked.append(call.call_id)
        return owns

    def handler(value: Any, call: CallContext) -> str:
        handled.append(call.call_id)
        return "paid"

    tool = Tool(name="pay", description="Pays.", input=PydanticInput(Amount), handler=handler)
    run = mounted(tool, fence=fence).mount(run_id="run-1")
    calls = [call("pay", {"euros": at}, id=f"call-{at}") for at in range(3)]
    answers = answers_in(await run.dispatch([turn(*calls)]))
    assert sorted(asked) == ["call-0", "call-1", "call-2"]
    assert sorted(handled) == (["call-0", "call-1", "call-2"] if owns else [])
    assert {answer.outcome for answer in answers} == {"ok" if owns else "FENCED"}


@pytest.mark.rule("MNT-4")
async def test_a_fence_that_fails_lets_nothing_through() -> None:
    handled: list[str] = []

    def fence(call: CallContext) -> bool:
        raise ConnectionError("the lock server is gone")

    tool = Tool(
        name="pay", description="Pays.", input=PydanticInput(Amount), handler=lambda value, call: handled.append("paid")
    )
    answer = await answer_of(tool, {"euros": 5}, fence=fence)
    assert answer.outcome == "INTERNAL"
    assert handled == []


@pytest.mark.rule("MNT-7")
async def test_concurrent_calls_share_no_context() -> None:
    here: ContextVar[str] = ContextVar("here", default="nobody")
    seen: dict[str, tuple[str, CallContext]] = {}
    both_are_in = asyncio.Barrier(2)

    def before(value: Any, call: CallContext) -> None:
        here.set(call.call_id)

    async def handler(value: Any, call: CallContext) -> str:
        await both_are_in.wait()
        seen[call.call_id] = (here.get(), call)
        return call.call_id

    tool = Tool(
        name="pay",
        description="Pays.",
        input=PydanticInput(Amount),
        handler=handler,
        lifecycle=Lifecycle(before=before),
    )
    run = mounted(tool).mount(run_id="run-1")
    answers = answers_in(
        await run.dispatch([turn(call("pay", {"euros": 1}, id="a"), call("pay", {"euros": 2}, id="b"))])
    )
    assert [answer.call_id for answer in answers] == ["a", "b"]
    assert seen["a"][0] == "a"
    assert seen["b"][0] == "b"
    assert seen["a"][1] is not seen["b"][1]
    assert here.get() == "nobody"


@pytest.mark.rule("MNT-7")
async def test_calls_of_one_turn_with_the_same_arguments_object_do_not_touch_each_other() -> None:
    handled: list[int] = []

    def before_call(arguments: Any, call: CallContext) -> Any:
        arguments["euros"] += 1
        return arguments

    tool = Tool(
        name="pay",
        description="Pays.",
        input=PydanticInput(Amount),
        handler=lambda value, call: handled.append(value.euros),
    )
    run = mounted(tool, hooks=Hooks(before_call=before_call)).mount(run_id="run-1")
    shared = {"euros": 1}
    await run.dispatch([turn(call("pay", shared, id="a"), call("pay", shared, id="b"))])
    assert handled == [2, 2]


@pytest.mark.rule("MNT-9")
async def test_the_idempotency_key_is_the_same_for_every_attempt_and_for_no_other_call() -> None:
    keys: list[str] = []
    tool = Tool(
        name="pay",
        description="Pays.",
        input=PydanticInput(Amount),
        handler=lambda value, call: keys.append(call.idempotency_key),
    )
    first, second = (mounted(tool).mount(run_id=run_id) for run_id in ("run-1", "run-2"))
    one, other = (turn(call("pay", {"euros": 5}, id=call_id)) for call_id in ("call-1", "call-2"))
    await first.dispatch([one])
    await first.dispatch([one])
    assert keys[0] == keys[1]
    await first.dispatch([other])
    await second.dispatch([one])
    assert len(set(keys)) == 3


@pytest.mark.rule("MNT-9")
async def test_no_two_calls_have_one_idempotency_key_whatever_their_ids_hold() -> None:
    keys: list[str] = []
    tool = Tool(
        name="pay",
        description="Pays.",
        input=PydanticInput(Amount),
        handler=lambda value, call: keys.append(call.idempotency_key),
    )
    for run_id, call_id in (("run", "1/call"), ("run/1", "call")):
        await mounted(tool).mount(run_id=run_id).dispatch([turn(call("pay", {"euros": 5}, id=call_id))])
    assert keys[0] != keys[1]


@pytest.mark.rule("MNT-1")
async def test_no_advertised_tool_takes_the_name_and_the_arguments_of_another() -> None:
    tool = Tool(name="pay", description="Pays.", input=PydanticInput(Amount), handler=lambda value, call: None)
    step = await mounted(tool).mount(run_id="run-1").prepare_step([])
    assert step.names == ("pay",)
    assert [set(entry.input_schema["properties"]) for entry in step.tools] == [{"euros"}]
    assert NEUTRAL.tool_name.fullmatch("pay")
