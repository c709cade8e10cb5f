"""The same work at the same time is done once, also beside a work that was given up."""

from __future__ import annotations

import asyncio

from selector.single_flight import SingleFlight


async def test_a_flight_that_was_given_up_takes_no_later_one_with_it() -> None:
    flights: SingleFlight[int] = SingleFlight()
    begun, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def work() -> int:
        begun.release()
        await go_on.wait()
        return 1

    given_up = asyncio.create_task(flights.run(b"key", work))
    await begun.acquire()
    given_up.cancel()
    await asyncio.sleep(0)  # it has been told, and its work has not ended yet
    second = asyncio.create_task(flights.run(b"key", work))
    await begun.acquire()
    third = asyncio.create_task(flights.run(b"key", work))
    await asyncio.sleep(0)
    go_on.set()
    assert [await second, await third] == [1, 1]
    assert flights.joined == 1
    assert begun.locked()
