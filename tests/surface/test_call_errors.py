"""What a model reads of a call that failed (MNT-3): a typed error, and nothing of an unexpected exception."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from surface import CallContext, Hooks, Lifecycle, Refused, Tool, ToolError, mount_agent
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.input_model import PydanticInput
from surface.transcript import UNPARSABLE
from tests.surface.neutral_dialect import answers_in, call, error_in, text_in, turn
from tests.surface.one_call import answer_of, mounted

SECRET = "hunter2"  # noqa: S105 - planted to be looked for


class Amount(BaseModel):
    euros: int


class OddError(BaseException):
    """What a foreign library may raise past `except Exception`, as PyO3 does when it panics."""


def tool_of(handler: Callable[[Any, CallContext], Any], **changes: Any) -> Tool:
    return Tool(name="pay", description="Pays.", input=PydanticInput(Amount), handler=handler, **changes)


def raising(error: BaseException, *, sync: bool) -> Callable[[Any, CallContext], Any]:
    def in_a_thread(value: Any, call: CallContext) -> None:
        raise error

    async def on_the_loop(value: Any, call: CallContext) -> None:
        raise error

    return in_a_thread if sync else on_the_loop


both_kinds = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])


@pytest.mark.rule("MNT-3")
@both_kinds
@pytest.mark.parametrize(
    "raised",
    [
        RuntimeError(SECRET),
        ValueError(SECRET),
        TimeoutError(SECRET),
        StopIteration(SECRET),
        StopAsyncIteration(SECRET),
        ExceptionGroup(SECRET, [ValueError(SECRET)]),
        GeneratorExit(SECRET),
        OddError(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_unexpected_exception_is_internal_and_nothing_of_it_reaches_the_model(
    raised: BaseException,
    sync: bool,  # noqa: FBT001
) -> None:
    answer = await answer_of(tool_of(raising(raised, sync=sync)), {"euros": 5})
    assert error_in(answer)["code"] == "INTERNAL"
    assert SECRET not in repr(answer)
    assert type(raised).__name__ not in repr(answer)


@pytest.mark.rule("MNT-3")
@both_kinds
async def test_an_unexpected_exception_does_not_take_the_other_calls_of_the_turn_with_it(sync: bool) -> None:  # noqa: FBT001
    broken = tool_of(raising(OddError(SECRET), sync=sync))
    sound = Tool(name="look", description="Looks.", input=PydanticInput(Amount), handler=lambda value, call: "seen")
    run = mounted(broken, sound).mount(run_id="run-1")
    answers = answers_in(
        await run.dispatch([turn(call("pay", {"euros": 1}, id="a"), call("look", {"euros": 1}, id="b"))])
    )
    assert [answer.outcome for answer in answers] == ["INTERNAL", "ok"]


@pytest.mark.rule("MNT-3")
@both_kinds
async def test_a_handler_that_exits_the_interpreter_is_internal(sync: bool) -> None:  # noqa: FBT001
    """`sys.exit` in a tool, as argparse calls it. In a thread of its own: it would take the test's event loop along."""
    tool = tool_of(raising(SystemExit(3), sync=sync))
    (ended,) = await asyncio.gather(
        asyncio.to_thread(lambda: asyncio.run(answer_of(tool, {"euros": 5})).outcome), return_exceptions=True
    )
    assert ended == "INTERNAL"


@pytest.mark.rule("MNT-3", "MNT-5")
@both_kinds
async def test_a_handler_that_was_cancelled_by_somebody_else_is_cancelled(sync: bool) -> None:  # noqa: FBT001
    answer = await answer_of(tool_of(raising(asyncio.CancelledError(SECRET), sync=sync)), {"euros": 5})
    assert error_in(answer)["code"] == "CANCELLED"
    assert SECRET not in repr(answer)


@pytest.mark.rule("MNT-3")
@both_kinds
async def test_a_tool_error_is_read_with_its_code_message_and_hint(sync: bool) -> None:  # noqa: FBT001
    raised = ToolError("NOT_FOUND", "There is no account 7.", "List the accounts first.")
    answer = await answer_of(tool_of(raising(raised, sync=sync)), {"euros": 5})
    assert answer.outcome == "NOT_FOUND"
    assert error_in(answer) == {
        "code": "NOT_FOUND",
        "message": "There is no account 7.",
        "hint": "List the accounts first.",
    }


@pytest.mark.rule("MNT-3")
async def test_a_tool_error_without_a_hint_shows_none() -> None:
    answer = await answer_of(tool_of(raising(ToolError("NOT_FOUND", "No."), sync=True)), {"euros": 5})
    assert error_in(answer) == {"code": "NOT_FOUND", "message": "No."}


@pytest.mark.rule("MNT-3", "EVD-2")
@pytest.mark.parametrize("code", ["ok", "", "not found", f"NOT_FOUND {SECRET}", "A" * 65, "É"])
async def test_a_tool_error_whose_code_is_no_constant_gets_one(code: str) -> None:
    answer = await answer_of(tool_of(raising(ToolError(code, "No."), sync=True)), {"euros": 5})
    assert answer.outcome == "TOOL_ERROR"
    assert error_in(answer) == {"code": "TOOL_ERROR", "message": "No."}


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    "careless",
    [
        ToolError(404, "No."),  # type: ignore[arg-type]
        ToolError("NOT_FOUND", KeyError("account")),  # type: ignore[arg-type]
        ToolError("NOT_FOUND", "No.", hint=["list", b"them"]),  # type: ignore[arg-type]
        Refused(KeyError("account")),  # type: ignore[arg-type]
    ],
    ids=["code", "message", "hint", "refusal"],
)
async def test_an_error_made_of_the_wrong_types_still_answers_the_call(careless: Exception) -> None:
    """`raise ToolError("NOT_FOUND", error)` is an easy mistake; it must not cost the whole turn its answers."""
    run = mount_agent([tool_of(raising(careless, sync=True))], dialect=ANTHROPIC_MESSAGES).mount(run_id="run-1")
    block = {"type": "tool_use", "id": "call-1", "name": "pay", "input": {"euros": 5}}
    (message,) = await run.dispatch([{"role": "assistant", "content": [block]}])
    (result,) = message["content"]
    assert result["is_error"]
    assert json.loads(json.dumps(result)) == result


@pytest.mark.rule("MNT-2", "MNT-3")
async def test_a_refusal_shows_its_reason_and_the_handler_does_not_run() -> None:
    handled: list[str] = []

    def before(value: Any, call: CallContext) -> None:
        raise Refused("Payments are closed on Sundays.")

    answer = await answer_of(
        tool_of(lambda value, call: handled.append("paid"), lifecycle=Lifecycle(before=before)), {"euros": 5}
    )
    assert error_in(answer) == {"code": "REFUSED", "message": "Payments are closed on Sundays."}
    assert handled == []


@pytest.mark.rule("MNT-3", "MNT-4")
async def test_a_fenced_call_says_that_nothing_was_done() -> None:
    handled: list[str] = []
    answer = await answer_of(
        tool_of(lambda value, call: handled.append("paid")), {"euros": 5}, fence=lambda call: False
    )
    assert error_in(answer)["code"] == "FENCED"
    assert "nothing was done" in error_in(answer)["message"]
    assert handled == []


@pytest.mark.rule("MNT-3", "MNT-5")
@both_kinds
async def test_a_call_out_of_time_says_that_it_may_have_had_an_effect(sync: bool) -> None:  # noqa: FBT001
    answered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def in_a_thread(value: Any, call: CallContext) -> str:
        asyncio.run_coroutine_threadsafe(answered.wait(), loop).result(10)
        return SECRET

    async def on_the_loop(value: Any, call: CallContext) -> str:
        await answered.wait()
        return SECRET

    answer = await answer_of(tool_of(in_a_thread if sync else on_the_loop, timeout=0.01), {"euros": 5})
    answered.set()
    assert error_in(answer)["code"] == "TIMEOUT"
    assert "may" in error_in(answer)["message"]


@pytest.mark.rule("MNT-2", "MNT-3")
async def test_an_output_that_breaks_the_declared_type_is_internal_and_shown_nowhere() -> None:
    seen: list[Exception] = []
    answer = await answer_of(
        tool_of(lambda value, call: {"total": SECRET}, output=dict[str, int]),
        {"euros": 5},
        hooks=Hooks(on_error=lambda error, call: seen.append(error)),
    )
    assert error_in(answer)["code"] == "INTERNAL"
    assert SECRET not in repr(answer)
    assert [type(error).__name__ for error in seen] == ["ValidationError"]


@pytest.mark.rule("MNT-2", "MNT-3")
@pytest.mark.parametrize("output", [object(), b"\xff", {"a": {1: object()}}], ids=["object", "bytes", "nested"])
async def test_an_output_that_is_no_json_value_is_internal(output: Any) -> None:
    answer = await answer_of(tool_of(lambda value, call: output), {"euros": 5})
    assert error_in(answer)["code"] == "INTERNAL"


@pytest.mark.rule("MNT-2")
async def test_an_output_is_answered_as_the_declared_type_writes_it() -> None:
    class Balance(BaseModel):
        euros: float

    answer = await answer_of(tool_of(lambda value, call: {"euros": "5"}, output=Balance), {"euros": 5})
    assert answer.parts[0].value == {"euros": 5.0}  # type: ignore[union-attr]


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize("output", ["caf\udce9.txt", {"name": "caf\udce9.txt"}], ids=["text", "json"])
async def test_an_output_with_a_lone_surrogate_can_still_be_sent_to_a_provider(output: Any) -> None:
    """As `os.listdir` gives them for file names that are no UTF-8; the provider's client encodes as UTF-8."""
    run = mount_agent([tool_of(lambda value, call: output)], dialect=ANTHROPIC_MESSAGES).mount(run_id="run-1")
    block = {"type": "tool_use", "id": "call-1", "name": "pay", "input": {"euros": 5}}
    answered = await run.dispatch([{"role": "assistant", "content": [block]}])
    json.dumps(answered, ensure_ascii=False).encode("utf-8")


@pytest.mark.rule("MNT-3")
async def test_arguments_that_are_no_json_are_a_validation_error() -> None:
    run = mounted(tool_of(lambda value, call: "paid")).mount(run_id="run-1")
    (answer,) = answers_in(await run.dispatch([turn(call("pay", UNPARSABLE))]))
    assert error_in(answer)["code"] == "VALIDATION_ERROR"
    assert "must be valid JSON" in error_in(answer)["message"]


@pytest.mark.rule("MNT-3")
@both_kinds
async def test_the_outcome_an_application_reports_is_the_code_the_model_reads(sync: bool) -> None:  # noqa: FBT001
    outcomes: list[str] = []
    hooks = Hooks(after_call=lambda report: outcomes.append(report.outcome))
    for raised in (ToolError("NOT_FOUND", "No."), RuntimeError(SECRET), Refused("No.")):
        await answer_of(tool_of(raising(raised, sync=sync)), {"euros": 5}, hooks=hooks)
    assert outcomes == ["NOT_FOUND", "INTERNAL", "REFUSED"]
    assert text_in(await answer_of(tool_of(lambda value, call: "paid"), {"euros": 5}, hooks=hooks)) == "paid"
    assert outcomes[-1] == "ok"
