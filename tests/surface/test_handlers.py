"""Sync and async handlers: where they run, and how timeout and cancellation reach them (MNT-2, MNT-5)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from pydantic import BaseModel

from surface import CallContext, CallReport, Hooks, Tool
from surface.catalog import build_catalog
from surface.execution import Executor
from surface.input_model import PydanticInput
from tests.surface.neutral_dialect import answers_in, call, text_in, turn
from tests.surface.one_call import answer_of, mounted


class Nothing(BaseModel):
    pass


def tool_of(handler: Any, *, name: str = "work", timeout: float | None = None) -> Tool:
    return Tool(name=name, description="Works.", input=PydanticInput(Nothing), handler=handler, timeout=timeout)


@pytest.mark.rule("MNT-5")
async def test_a_sync_handler_runs_off_the_event_loop() -> None:
    threads: list[int] = []
    await answer_of(tool_of(lambda value, call: threads.append(threading.get_ident())))
    assert threads
    assert threads[0] != threading.get_ident()


@pytest.mark.rule("MNT-5")
async def test_an_async_handler_runs_on_the_event_loop() -> None:
    async def handler(value: Any, call: CallContext) -> str:
        return str(threading.get_ident())

    assert text_in(await answer_of(tool_of(handler))) == str(threading.get_ident())


class Callable:
    """A handler that is an object with an async call."""

    async def __call__(self, value: Any, call: CallContext) -> str:
        return str(threading.get_ident())


@pytest.mark.rule("MNT-5")
async def test_an_object_with_an_async_call_is_an_async_handler() -> None:
    assert text_in(await answer_of(tool_of(Callable()))) == str(threading.get_ident())


@pytest.mark.rule("MNT-5")
async def test_a_plain_function_that_returns_an_awaitable_has_it_awaited() -> None:
    async def later() -> str:
        return "later"

    assert text_in(await answer_of(tool_of(lambda value, call: later()))) == "later"


@pytest.mark.rule("MNT-5")
async def test_a_blocking_sync_handler_does_not_hold_up_the_calls_beside_it() -> None:
    blocked_may_end = threading.Event()

    def blocked(value: Any, call: CallContext) -> str:
        assert blocked_may_end.wait(10)
        return "unblocked"

    async def release(value: Any, call: CallContext) -> str:
        blocked_may_end.set()
        return "released"

    run = mounted(tool_of(blocked, name="blocked"), tool_of(release, name="release")).mount(run_id="run-1")
    answers = answers_in(await run.dispatch([turn(call("blocked", id="a"), call("release", id="b"))]))
    assert [text_in(answer) for answer in answers] == ["unblocked", "released"]


@pytest.mark.rule("MNT-5")
async def test_a_timeout_reaches_an_async_handler() -> None:
    cancelled = asyncio.Event()

    async def handler(value: Any, call: CallContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    assert (await answer_of(tool_of(handler, timeout=0.01))).outcome == "TIMEOUT"
    await asyncio.wait_for(cancelled.wait(), 5)


@pytest.mark.rule("MNT-5")
async def test_an_async_handler_that_ignores_cancellation_is_answered_timeout_and_its_late_result_discarded() -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()
    reports: list[CallReport] = []

    async def handler(value: Any, call: CallContext) -> str:
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return "too late"

    hooks = Hooks(after_call=reports.append)
    answer = await asyncio.wait_for(answer_of(tool_of(handler, timeout=0.01), hooks=hooks), 5)
    may_end.set()
    await asyncio.wait_for(ended.wait(), 5)
    await asyncio.sleep(0)
    assert answer.outcome == "TIMEOUT"
    assert [report.outcome for report in reports] == ["TIMEOUT"]


@pytest.mark.rule("MNT-5")
async def test_a_sync_handler_out_of_time_is_abandoned_and_its_late_result_discarded() -> None:
    may_end, ended = threading.Event(), threading.Event()
    reports: list[CallReport] = []

    def handler(value: Any, call: CallContext) -> str:
        assert may_end.wait(10)
        ended.set()
        return "too late"

    answer = await answer_of(tool_of(handler, timeout=0.01), hooks=Hooks(after_call=reports.append))
    assert not ended.is_set()
    may_end.set()
    assert await asyncio.to_thread(ended.wait, 10)
    await asyncio.sleep(0)
    assert answer.outcome == "TIMEOUT"
    assert [report.outcome for report in reports] == ["TIMEOUT"]


@pytest.mark.rule("MNT-5")
async def test_a_tool_without_a_timeout_may_take_as_long_as_it_likes() -> None:
    may_end = asyncio.Event()

    async def handler(value: Any, call: CallContext) -> str:
        await may_end.wait()
        return "done"

    answering = asyncio.ensure_future(answer_of(tool_of(handler)))
    await asyncio.sleep(0)
    assert not answering.done()
    may_end.set()
    assert text_in(await answering) == "done"


@pytest.mark.rule("MNT-2", "MNT-5")
async def test_cancelling_the_run_reaches_an_async_handler_and_after_call_is_still_told() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()
    reports: list[CallReport] = []

    async def handler(value: Any, call: CallContext) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    running = asyncio.ensure_future(answer_of(tool_of(handler), hooks=Hooks(after_call=reports.append)))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(cancelled.wait(), 5)
    assert [report.outcome for report in reports] == ["CANCELLED"]


@pytest.mark.rule("MNT-2", "MNT-5")
async def test_cancelling_the_run_while_a_sync_handler_blocks_does_not_wait_for_it() -> None:
    loop, begun, may_end = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    reports: list[CallReport] = []

    def handler(value: Any, call: CallContext) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert may_end.wait(10)

    running = asyncio.ensure_future(answer_of(tool_of(handler), hooks=Hooks(after_call=reports.append)))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 5)
    may_end.set()
    assert [report.outcome for report in reports] == ["CANCELLED"]


@pytest.mark.rule("MNT-2")
async def test_an_async_after_call_hook_is_told_to_its_end_when_the_run_is_cancelled() -> None:
    begun = asyncio.Event()
    told: list[str] = []

    async def handler(value: Any, call: CallContext) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def after_call(report: CallReport) -> None:
        await asyncio.sleep(0)
        told.append(report.outcome)

    running = asyncio.ensure_future(answer_of(tool_of(handler), hooks=Hooks(after_call=after_call)))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert told == ["CANCELLED"]


@pytest.mark.rule("MNT-5")
async def test_an_execution_that_is_cancelled_from_outside_is_not_answered() -> None:
    begun = asyncio.Event()

    async def handler(value: Any, call: CallContext) -> None:
        begun.set()
        await asyncio.Event().wait()

    (made,) = build_catalog([tool_of(handler)]).tools.values()
    context = CallContext(run_id="run-1", surface="all", call_id="call-1", tool="work")
    executing = asyncio.ensure_future(Executor(hooks=Hooks(), fence=None).execute(made, {}, context))
    await begun.wait()
    executing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await executing
