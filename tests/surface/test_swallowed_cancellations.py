"""A task that lived through a cancellation, as a job runner's does, is served like any other (MNT-3, SRC-8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from surface import CallContext, CallReport, Hooks, Surface, Tool, create_deferred_agent_tool_surface
from surface.call import CallAnswer
from surface.execution import Passed
from surface.protocol import RankReply
from surface.ranking import RankRequest
from surface.turn import Turn
from tests.surface.neutral_dialect import NEUTRAL, call, turn
from tests.surface.rankers import ScriptedRanker
from tests.surface.test_call_errors import raising, tool_of
from tests.surface.test_guarded_ranking import assert_fell_back, ranked_by

T = TypeVar("T")
FAILURES: list[tuple[BaseException, str]] = [
    (ValueError("secret"), "INTERNAL"),
    (asyncio.CancelledError("secret"), "CANCELLED"),
]
failures = pytest.mark.parametrize(("raised", "outcome"), FAILURES, ids=["ValueError", "CancelledError"])


async def after_a_swallowed_cancellation(work: Callable[[], Awaitable[T]]) -> T:
    """What the work gives in a task that swallowed a cancellation before."""

    async def runner() -> T:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            assert task.cancelling() == 1
        return await work()

    return await asyncio.create_task(runner())


async def opened(tool: Tool, hooks: Hooks | None = None) -> Turn:
    """The turn of one call of the tool."""
    controller = create_deferred_agent_tool_surface(
        application="test",
        surfaces=[Surface(key="desk", tools=[tool], always_on=[tool.name])],
        dialect=NEUTRAL,
        hooks=hooks,
    )
    return await controller.mount(run_id="run-1", surface="desk").open_turn([turn(call(tool.name, {"euros": 5}))])


def call_id_of(made: Turn) -> str:
    (only,) = made.step.calls
    return only.id


@pytest.mark.rule("MNT-3")
@failures
async def test_a_handler_that_raises_is_answered_with_a_code(raised: BaseException, outcome: str) -> None:
    async def work() -> CallAnswer:
        made = await opened(tool_of(raising(raised, sync=False)))
        return await made.answer(call_id_of(made))

    answer = await after_a_swallowed_cancellation(work)
    assert answer.outcome == outcome
    assert "secret" not in repr(answer)


@pytest.mark.rule("MNT-2")
async def test_a_hook_that_raises_changes_nothing() -> None:
    def bad(*_: Any) -> None:
        raise ValueError("secret")

    async def work() -> CallAnswer:
        made = await opened(tool_of(lambda *_: "fine"), Hooks(after_call=bad))
        return await made.answer(call_id_of(made))

    assert (await after_a_swallowed_cancellation(work)).outcome == "ok"


@pytest.mark.rule("MNT-2")
async def test_what_a_framework_ran_is_told_as_a_failure_and_no_cancellation() -> None:
    told: list[Any] = []
    hooks = Hooks(on_error=lambda error, _: told.append(type(error)), after_call=lambda it: told.append(it.outcome))

    async def fails(_: CallContext) -> Passed[None]:
        raise ValueError("its own")

    async def work() -> None:
        made = await opened(tool_of(lambda *_: "fine"), hooks)
        with pytest.raises(ValueError, match="its own"):
            await made.pass_on(call_id_of(made), fails)

    await after_a_swallowed_cancellation(work)
    assert told == [ValueError, "INTERNAL"]


@pytest.mark.rule("SRC-8")
@failures
async def test_a_ranker_that_raises_has_failed(raised: BaseException, outcome: str) -> None:
    del outcome

    async def fails(_: RankRequest) -> RankReply:
        raise raised

    made = await after_a_swallowed_cancellation(lambda: ranked_by(ScriptedRanker(fails)))
    assert_fell_back(made, "ranker_failed")


@pytest.mark.rule("MNT-5")
async def test_a_cancellation_that_comes_while_a_handler_runs_still_ends_the_task() -> None:
    begun, told = asyncio.Event(), list[CallReport]()

    async def waits(*_: Any) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async def work() -> CallAnswer:
        made = await opened(tool_of(waits), Hooks(after_call=told.append))
        return await made.answer(call_id_of(made))

    running = asyncio.ensure_future(after_a_swallowed_cancellation(work))
    await asyncio.wait_for(begun.wait(), 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [each.outcome for each in told] == ["CANCELLED"]


@pytest.mark.rule("MNT-5")
async def test_a_cancellation_that_was_under_way_ends_the_task_before_the_handler_runs() -> None:
    ran, told = list[str](), list[CallReport]()

    async def runner() -> CallAnswer:
        made = await opened(tool_of(lambda *_: ran.append("ran")), Hooks(after_call=told.append))
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return await made.answer(call_id_of(made))

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(runner())
    assert ran == []
    assert [each.outcome for each in told] == ["CANCELLED"]
