"""Work is waited for no longer than its deadline, whatever it does about being cancelled."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from surface.deadline import OutOfTimeError, within


async def test_work_that_ends_in_time_gives_its_result() -> None:
    async def work() -> int:
        return 7

    assert await within(10, work()) == 7


async def test_without_a_deadline_work_may_take_as_long_as_it_likes() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def work() -> int:
        begun.set()
        await may_end.wait()
        return 7

    waiting = asyncio.ensure_future(within(None, work()))
    await begun.wait()
    assert not waiting.done()
    may_end.set()
    assert await waiting == 7


async def test_an_exception_of_the_work_is_the_one_that_was_raised() -> None:
    raised = LookupError("not here")

    async def work() -> None:
        raise raised

    with pytest.raises(LookupError) as caught:
        await within(10, work())
    assert caught.value is raised


@pytest.mark.rule("MNT-5")
async def test_work_that_is_out_of_time_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(OutOfTimeError):
        await within(0.01, work())
    await asyncio.wait_for(cancelled.wait(), 5)


@pytest.mark.rule("MNT-5")
async def test_work_that_ignores_its_cancellation_is_not_waited_for() -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return "too late"

    with pytest.raises(OutOfTimeError):
        await asyncio.wait_for(within(0.01, work()), 5)
    assert not ended.is_set()
    may_end.set()
    await asyncio.wait_for(ended.wait(), 5)


@pytest.mark.rule("MNT-5")
async def test_cancelling_who_waits_cancels_the_work_and_does_not_wait_for_it() -> None:
    begun, cancelled, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            await may_end.wait()

    waiting = asyncio.ensure_future(within(None, work()))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, 5)
    await asyncio.wait_for(cancelled.wait(), 5)
    may_end.set()


@pytest.mark.rule("MNT-5", "EVD-2")
async def test_a_late_exception_of_abandoned_work_is_logged_by_nobody(caplog: pytest.LogCaptureFixture) -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await may_end.wait()
            ended.set()
            raise RuntimeError("a secret") from None

    with caplog.at_level(logging.DEBUG):
        with pytest.raises(OutOfTimeError):
            await within(0.01, work())
        may_end.set()
        await asyncio.wait_for(ended.wait(), 5)
        await asyncio.sleep(0)
        gc.collect()
    assert caplog.records == []


async def test_a_deadline_of_work_that_cancels_itself_is_a_cancellation_not_a_timeout() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await within(10, work())
