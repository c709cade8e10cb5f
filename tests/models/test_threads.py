"""Threads for one piece of work."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from threading import Event
from threading import enumerate as running
from typing import NoReturn

from models.threads import working_threads


def test_at_the_end_all_is_done_and_no_thread_is_left() -> None:
    done: list[int] = []
    with working_threads(2, name="sound") as pool:
        for number in range(10):
            pool.submit(done.append, number)
    assert sorted(done) == list(range(10))
    assert not [one for one in running() if one.name.startswith("sound")]


def test_who_fails_waits_for_no_thread_and_begins_nothing_more() -> None:
    # Ctrl-C while a thread is joined makes Python before 3.13 take it for ended.
    begun, released, more = Event(), Event(), Event()

    def work() -> bool:
        begun.set()
        return released.wait(timeout=10)

    def interrupted() -> NoReturn:
        begun.wait()
        raise KeyboardInterrupt

    under_way: Future[bool] = Future()
    with suppress(KeyboardInterrupt), working_threads(1, name="failing") as pool:
        under_way = pool.submit(work)
        pool.submit(more.set)
        interrupted()
    assert not under_way.done()
    (thread,) = (one for one in running() if one.name.startswith("failing"))
    released.set()
    thread.join()
    assert under_way.result()
    assert not more.is_set()
