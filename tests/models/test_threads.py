"""Threads for one piece of work, and cores that share one."""

from __future__ import annotations

import signal
from concurrent.futures import Future
from contextlib import suppress
from threading import Barrier, Event, Thread, current_thread, main_thread
from threading import enumerate as running
from typing import NoReturn

import pytest

from models.threads import Cores, working_threads


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


def test_idle_cores_help_and_each_piece_is_done_once() -> None:
    at_once, done = Barrier(3), list[int]()

    def work(piece: int) -> None:
        if piece < 3:
            at_once.wait(timeout=10)  # ends only where three pieces are under way at once
        done.append(piece)

    Cores(3, name="helping").do(work, range(20))
    assert sorted(done) == list(range(20))
    assert not [one for one in running() if one.name.startswith("helping")]


def test_one_core_is_the_caller_s_and_takes_the_pieces_in_their_order() -> None:
    done: list[tuple[int, str]] = []
    Cores(1, name="helping").do(lambda piece: done.append((piece, current_thread().name)), range(5))
    assert done == [(piece, current_thread().name) for piece in range(5)]


def test_nobody_is_helped_while_others_work_on_every_other_core() -> None:
    cores, begun, released = Cores(2, name="helping"), Event(), Event()

    def hold(_: int) -> None:
        begun.set()
        assert released.wait(timeout=10)

    other = Thread(target=cores.do, args=(hold, [0]))
    other.start()
    there: set[str] = set()
    try:
        assert begun.wait(timeout=10)
        cores.do(lambda _: there.update(one.name for one in running()), range(50))
    finally:
        released.set()
        other.join()
    assert not [name for name in there if name.startswith("helping")]


def test_nobody_works_beside_as_many_as_there_are_cores() -> None:
    cores, begun, released, done = Cores(1, name="helping"), Event(), Event(), list[str]()

    def hold(_: int) -> None:
        begun.set()
        assert released.wait(timeout=10)
        done.append("first")

    other = Thread(target=cores.do, args=(hold, [0]))
    other.start()
    assert begun.wait(timeout=10)
    last = Thread(target=cores.do, args=(lambda _: done.append("second"), [0]))
    last.start()
    last.join(timeout=0.2)
    released.set()
    for each in (other, last):
        each.join()
    assert done == ["first", "second"]


def test_whoever_waits_for_a_core_has_it_after_some_pieces_of_another() -> None:
    cores, done = Cores(1, name="helping"), list[int]()
    other = Thread(target=cores.do, args=(done.append, [-1]))

    def work(piece: int) -> None:
        if piece == 0:
            other.start()
            while not cores._waiting and other.is_alive():
                other.join(timeout=0.001)
        done.append(piece)

    cores.do(work, range(100))
    other.join()
    assert done == [*range(8), -1, *range(8, 100)]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals for one thread")
def test_who_is_interrupted_while_waiting_for_a_core_takes_none() -> None:
    cores, begun, released, done = Cores(1, name="helping"), Event(), Event(), list[int]()

    def hold(_: int) -> None:
        begun.set()
        assert released.wait(timeout=10)

    def interrupt() -> None:
        while not cores._waiting:
            released.wait(timeout=0.001)
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)

    other = Thread(target=cores.do, args=(hold, [0]))
    other.start()
    assert begun.wait(timeout=10)
    interrupting = Thread(target=interrupt)
    interrupting.start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            cores.do(done.append, [1])
    finally:
        signal.signal(signal.SIGINT, before)
        released.set()
        for each in (other, interrupting):
            each.join()
    cores.do(done.append, [2, 3])
    assert done == [2, 3]


def test_work_that_fails_is_raised_and_no_other_piece_is_begun() -> None:
    begun: list[int] = []

    def work(piece: int) -> None:
        begun.append(piece)
        if piece == 0:
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        Cores(1, name="helping").do(work, range(100))
    assert begun == [0]


def test_where_no_thread_can_be_started_the_caller_does_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    done: list[int] = []
    monkeypatch.setattr(Thread, "start", refuse)
    Cores(3, name="helping").do(done.append, range(20))
    assert done == list(range(20))


def test_who_is_interrupted_while_helpers_are_started_leaves_them_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    start, done = Thread.start, list[int]()

    def start_one(thread: Thread) -> None:
        if any(one.name.startswith("interrupted") for one in running()):
            raise KeyboardInterrupt
        start(thread)

    def work(piece: int) -> None:
        assert released.wait(timeout=10)
        done.append(piece)

    released = Event()
    monkeypatch.setattr(Thread, "start", start_one)
    with pytest.raises(KeyboardInterrupt):
        Cores(3, name="interrupted").do(work, range(60))
    begun = [one for one in running() if one.name.startswith("interrupted")]
    released.set()
    for each in begun:
        each.join()
    assert len(done) <= 1


def test_what_a_helper_raises_is_raised_and_the_caller_begins_no_other_piece() -> None:
    failed, begun = Event(), list[int]()

    def work(piece: int) -> None:
        begun.append(piece)
        if current_thread().name.startswith("helping"):
            failed.set()
            raise RuntimeError("out of memory")
        assert failed.wait(timeout=10)

    with pytest.raises(RuntimeError, match="out of memory"):
        Cores(2, name="helping").do(work, range(300_000))
    assert len(begun) < 300_000
