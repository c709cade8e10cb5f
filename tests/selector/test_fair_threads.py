"""Threads that askers share: each its turn, whoever floods them, and an end that nothing is lost in."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, wait
from threading import Event

import pytest

from selector.fair_threads import FairThreads, asked_by, asker, weighing


@pytest.fixture
def threads() -> Iterator[FairThreads]:
    with FairThreads(1, name="test") as threads:
        yield threads


@pytest.fixture
def held(threads: FairThreads) -> Iterator[Event]:
    """The one thread is busy until this is set."""
    held = Event()
    threads.submit(held.wait, 30)
    yield held
    held.set()


def test_each_asker_has_its_turn_and_its_own_order(threads: FairThreads, held: Event) -> None:
    done: list[str] = []
    asked: list[Future[None]] = []
    for name, count in (("flood", 50), ("one", 1), ("two", 2)):
        with asked_by(name):
            asked += [threads.submit(done.append, f"{name} {at}") for at in range(count)]
    held.set()
    for each in asked:
        each.result(30)
    assert done[:5] == ["flood 0", "one 0", "two 0", "flood 1", "two 1"]
    assert done[5:] == [f"flood {at}" for at in range(2, 50)]


def test_who_comes_late_waits_for_one_thing_of_a_flood(threads: FairThreads, held: Event) -> None:
    done: list[str] = []
    with asked_by("flood"):
        asked = [threads.submit(done.append, "flood") for _ in range(50)]
    with asked_by("late"):
        asked.append(threads.submit(done.append, "late"))
    held.set()
    for each in asked:
        each.result(30)
    assert done.index("late") == 1


def test_what_weighs_more_lets_as_many_turns_of_others_pass_and_none_where_nobody_waits(
    threads: FairThreads, held: Event
) -> None:
    done: list[str] = []
    asked: list[Future[None]] = []
    with asked_by("heavy"), weighing(3):
        asked += [threads.submit(done.append, f"heavy {at}") for at in range(4)]
    for name, count in (("one", 5), ("two", 2)):
        with asked_by(name):
            asked += [threads.submit(done.append, f"{name} {at}") for at in range(count)]
    held.set()
    for each in asked:
        each.result(30)
    assert done[:3] == ["heavy 0", "one 0", "two 0"]
    assert done.index("heavy 1") == len(["heavy 0", "one 0", "two 0", "one 1", "two 1", "one 2"])
    assert done[-2:] == ["heavy 2", "heavy 3"]
    assert threads.submit(int, "1").result(30) == 1  # a debt ends with the queue


def test_two_that_both_owe_turns_keep_no_thread_from_its_work(threads: FairThreads, held: Event) -> None:
    done: list[str] = []
    asked: list[Future[None]] = []
    for name in ("one", "two"):
        with asked_by(name), weighing(100):
            asked += [threads.submit(done.append, name) for _ in range(3)]
    held.set()
    for each in asked:
        each.result(30)
    assert done == ["one", "two"] * 3


def test_an_asker_is_named_only_inside(threads: FairThreads) -> None:
    assert asker() == ""
    with asked_by("a"):
        with asked_by("b"):
            assert asker() == "b"
        assert asker() == "a"
    assert asker() == ""


def test_what_fails_raises_in_whoever_waits_and_the_thread_goes_on(threads: FairThreads) -> None:
    with pytest.raises(ZeroDivisionError):
        threads.submit(divmod, 1, 0).result(30)
    assert threads.submit(divmod, 7, 2).result(30) == (3, 1)


def test_what_was_given_up_is_not_done(threads: FairThreads, held: Event) -> None:
    done: list[str] = []
    given_up, other = threads.submit(done.append, "given up"), threads.submit(done.append, "other")
    assert given_up.cancel()
    held.set()
    other.result(30)
    assert done == ["other"]


def test_what_was_given_up_takes_no_turn_from_what_its_asker_asks_later(threads: FairThreads, held: Event) -> None:
    done: list[str] = []
    with asked_by("flood"):
        asked = [threads.submit(done.append, f"flood {at}") for at in range(20)]
    with asked_by("impatient"):
        with weighing(8):
            given_up = [threads.submit(done.append, "given up") for _ in range(100)]
        asked.append(threads.submit(done.append, "patient"))
    for each in given_up:
        assert each.cancel()
    held.set()
    wait([*asked, *given_up], timeout=30)
    assert done.index("patient") <= 1
    assert len(done) == len(asked)


def test_at_the_end_what_waits_is_done_and_nothing_more_is_taken(held: Event, threads: FairThreads) -> None:
    waits = threads.submit(int, "1")
    threads.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="after shutdown"):
        threads.submit(int, "2")
    held.set()
    assert waits.result(30) == 1


def test_an_end_that_is_in_a_hurry_cancels_what_waits(held: Event, threads: FairThreads) -> None:
    waits = threads.submit(int, "1")
    threads.shutdown(wait=False, cancel_futures=True)
    assert waits.cancelled()


def test_a_thread_that_rests_holds_nothing_of_what_it_did(threads: FairThreads) -> None:
    class Answer:
        pass

    answer = Answer()
    gone = weakref.ref(answer)
    threads.submit(lambda _: None, answer).result(30)
    threads.submit(int).result(30)
    threads.submit(int).result(30)
    del answer
    gc.collect()
    assert gone() is None
