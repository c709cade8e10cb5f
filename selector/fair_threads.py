"""Threads that are shared fairly: whoever asks one thing waits for one thing of another asker, however many that has.

Rules kept here:

1. Each asker has a queue of its own, in the order of asking. A thread that is free takes one thing of each in turn.
2. A thing that weighs more is taken in one turn as well, and its asker then lets so many turns pass while others wait.
3. What was given up takes no turn: neither its asker nor anybody else waits for it.
4. The interpreter does not wait for these threads at its end: what they wait for may hang for as long as it likes.

Not done here: how many may stand in the queues (`places.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import chain
from threading import Condition, Thread
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from surface.worker_thread import fulfil

P = ParamSpec("P")
T = TypeVar("T")

_ASKER: Final[ContextVar[str]] = ContextVar("toolsurface_asker", default="")
_WEIGHT: Final[ContextVar[int]] = ContextVar("toolsurface_weight", default=1)


class _Work(NamedTuple):
    future: Future[Any]
    call: Callable[[], Any]
    weight: int


def asker() -> str:
    """Whose work this is: the id of a key, or empty where nobody said."""
    return _ASKER.get()


@contextmanager
def asked_by(name: str) -> Iterator[None]:
    """Inside of it, and in tasks that are made there, work is this asker's."""
    before = _ASKER.set(name)
    try:
        yield
    finally:
        _ASKER.reset(before)


@contextmanager
def weighing(weight: int) -> Iterator[None]:
    """Inside of it, a thing that is asked counts as so many, at least one."""
    before = _WEIGHT.set(weight)
    try:
        yield
    finally:
        _WEIGHT.reset(before)


class FairThreads(Executor):
    """So many threads; any thread may ask them."""

    def __init__(self, threads: int, *, name: str) -> None:
        self._changed = Condition()
        self._waiting: dict[str, deque[_Work]] = {}
        """By asker, in the order of their turns."""
        self._owed: dict[str, int] = {}
        """The turns that an asker with more in its queue lets pass."""
        self._closed = False
        self._threads = [Thread(target=self._run, name=f"{name}-{at}", daemon=True) for at in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """See `Executor`; it is the work of whoever `asker` says."""
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("cannot take more work after shutdown")
            self._waiting.setdefault(asker(), deque()).append(
                _Work(future, partial(fn, *args, **kwargs), _WEIGHT.get())
            )
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - Executor's
        """See `Executor`."""
        with self._changed:
            self._closed = True
            left = [*chain.from_iterable(self._waiting.values())] if cancel_futures else []
            if cancel_futures:
                self._waiting.clear()
            self._changed.notify_all()
        for work in left:
            work.future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            fulfil(work.future, work.call)
            del work  # which holds what was asked, and its answer

    def _next(self) -> _Work | None:
        """What is to be done next; None once there is nothing more."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return None
                self._changed.wait()
            first = self._whose_turn()
            own = self._waiting.pop(first)
            work = own.popleft()
            while own and work.future.cancelled():
                work.future.set_running_or_notify_cancel()
                work = own.popleft()
            if own:
                self._waiting[first] = own  # behind the others
                self._owed[first] = work.weight - 1
            return work

    def _whose_turn(self) -> str:
        while owed := self._owed.pop(first := next(iter(self._waiting)), 0):
            if len(self._waiting) == 1:
                break
            self._owed[first] = owed - 1
            self._waiting[first] = self._waiting.pop(first)
        return first
