"""What hooks, handlers and threads may do with what they are given, and what of it reaches anybody else."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from typing import Any

import pytest

from surface import CallContext, CallReport, Hooks, Tool, mount_agent
from surface.adapters.json_schema import JsonSchemaInput
from tests.surface.neutral_dialect import NEUTRAL, call, turn
from tests.surface.one_call import answer_of, mounted

ANY = JsonSchemaInput({"type": "object"})


def editing(value: Any, call: CallContext) -> str:
    value.clear()
    return "done"


@pytest.mark.rule("MNT-2", "MNT-7", "ACT-1")
async def test_an_after_call_hook_that_edits_its_report_changes_neither_the_history_nor_the_next_hook() -> None:
    reports: list[CallReport] = []

    def redact(report: CallReport) -> None:
        reports.append(report)
        report.original_arguments.pop("secret")
        report.effective_arguments.pop("secret")

    written = {"secret": 1}
    pay = Tool(name="pay", description="Pays.", input=ANY, handler=lambda value, call: "paid")
    await mounted(pay, hooks=Hooks(after_call=redact)).mount(run_id="run-1").dispatch([turn(call("pay", written))])
    assert written == {"secret": 1}
    assert len(reports) == 1


@pytest.mark.rule("MNT-2")
async def test_what_a_handler_does_to_its_arguments_is_not_what_is_reported() -> None:
    reports: list[CallReport] = []
    pay = Tool(name="pay", description="Pays.", input=ANY, handler=editing)
    await answer_of(pay, {"euros": 5}, hooks=Hooks(after_call=reports.append))
    assert reports[0].effective_arguments == {"euros": 5}


@pytest.mark.rule("MNT-3", "EVD-2")
async def test_an_unexpected_failure_is_logged_by_its_class_and_an_expected_one_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(value: Any, call: CallContext) -> None:
        raise RuntimeError("a secret")

    await answer_of(Tool(name="pay", description="Pays.", input=ANY, handler=broken), {})
    await answer_of(Tool(name="pay", description="Pays.", input=ANY, handler=broken), "no object")
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert told == ["tool pay failed: RuntimeError"]


@pytest.mark.rule("MNT-2")
async def test_on_error_sees_that_a_handler_was_cancelled_by_somebody_else() -> None:
    seen: list[BaseException] = []

    async def cancelled(value: Any, call: CallContext) -> None:
        raise asyncio.CancelledError

    pay = Tool(name="pay", description="Pays.", input=ANY, handler=cancelled)
    assert (
        await answer_of(pay, {}, hooks=Hooks(on_error=lambda error, call: seen.append(error)))
    ).outcome == "CANCELLED"
    assert [type(error) for error in seen] == [asyncio.CancelledError]


@pytest.mark.rule("MNT-5")
async def test_no_more_calls_of_a_step_run_at_once_than_was_said_and_all_are_answered_in_order() -> None:
    running: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def handler(value: Any, call: CallContext) -> int:
        with lock:
            running.append(value["at"])
            most.append(len(running))
        with lock:
            running.remove(value["at"])
        return int(value["at"])

    pay = Tool(name="pay", description="Pays.", input=ANY, handler=handler, timeout=30.0)
    run = mount_agent([pay], dialect=NEUTRAL, max_concurrent_calls=2).mount(run_id="run-1")
    (answered,) = await run.dispatch([turn(*(call("pay", {"at": at}, id=f"c{at}") for at in range(40)))])
    assert [answer.call_id for answer in answered.answers] == [f"c{at}" for at in range(40)]
    assert all(answer.outcome == "ok" for answer in answered.answers)
    assert max(most) <= 2


ABANDONING = """
import asyncio, threading
from surface import Tool, mount_agent
from surface.adapters.json_schema import JsonSchemaInput
from tests.surface.neutral_dialect import NEUTRAL, call, turn

stuck = Tool(name="stuck", description="", input=JsonSchemaInput({"type": "object"}), timeout=0.05,
             handler=lambda value, call: threading.Event().wait())
run = mount_agent([stuck], dialect=NEUTRAL).mount(run_id="run-1")
(answered,) = asyncio.run(run.dispatch([turn(call("stuck", {}))]))
print(answered.answers[0].outcome)
"""


@pytest.mark.rule("MNT-5")
def test_an_abandoned_sync_handler_does_not_keep_the_process_from_ending() -> None:
    ended = subprocess.run([sys.executable, "-c", ABANDONING], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "TIMEOUT", "")
