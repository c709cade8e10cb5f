"""Threads for one piece of work, which nobody waits for once that has failed, and cores that share one.

Python before 3.13 takes a thread for ended when Ctrl-C comes while somebody joins it. The process that ends then takes
the engine away under a thread that still runs in it, and aborts. So whoever fails joins nothing: the interpreter does,
when it ends. No more is begun, and what is under way ends by itself.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final, TypeVar

__all__ = ["Cores", "working_threads"]

T = TypeVar("T")

_TURN: Final = 8
"""Pieces that a core does before it goes to another asker: all of a query's. From one piece to the next, the other's
thread wakes up meanwhile: that cost a fifth of the time of both."""


@contextmanager
def working_threads(most: int, *, name: str) -> Iterator[ThreadPoolExecutor]:
    """At most so many threads, all of them done at the end of the block unless it raises. `name` begins each name."""
    pool = ThreadPoolExecutor(most, thread_name_prefix=name)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


class Cores:
    """So many cores for all who work here; any thread may ask them.

    Whoever has work does it in its own thread, piece after piece, and is helped where cores are idle. A core does some
    pieces at a time and goes to whoever has waited longest, so nobody starves. Beside as many askers as there are cores
    nobody is helped: threads of each would only wait for one another, which cost a twentieth of a query's time.

    Work asks for no core of the same ones: it would wait for itself.
    """

    def __init__(self, count: int, *, name: str) -> None:
        """`name` begins the names of the threads that help."""
        self._count = count
        self._name = name
        self._lock = Lock()
        self._free = count
        self._waiting: deque[Lock] = deque()
        """Of each that waits for a core, what is let go of once it has one."""

    @property
    def count(self) -> int:
        """How many there are."""
        return self._count

    def do(self, work: Callable[[T], None], pieces: Iterable[T]) -> None:
        """The work of each piece, once, begun in their order; returns when all is done.

        Raises what the work raises; then no other piece is begun.
        """
        left = deque(pieces)

        def do_what_is_left() -> None:
            try:
                while left:
                    with self._one():
                        for piece in _taken(left, _TURN):
                            work(piece)
            except BaseException:
                left.clear()
                raise

        helpers = self._idle(most=min(self._count, len(left)) - 1)
        if not helpers:
            do_what_is_left()
            return
        # Made for this call: starting threads costs microseconds beside the work, and leaves nothing to close.
        try:
            with working_threads(helpers, name=self._name) as pool:
                helping = [*self._helping(pool, do_what_is_left, helpers)]
                do_what_is_left()
                for each in helping:
                    each.result()
        except BaseException:
            left.clear()
            raise

    @staticmethod
    def _helping(pool: ThreadPoolExecutor, work: Callable[[], None], helpers: int) -> Iterator[Future[None]]:
        for _ in range(helpers):
            try:
                yield pool.submit(work)
            except RuntimeError:  # the system has no thread left; it goes without
                return

    def _idle(self, *, most: int) -> int:
        """How many more threads would find a core now; the one that asks takes one itself."""
        with self._lock:
            return max(0, min(most, self._free - 1))

    @contextmanager
    def _one(self) -> Iterator[None]:
        """A core, in the order of asking: whoever gives one back and asks again at once stands behind the others."""
        turn = Lock()
        with self._lock:
            waits = not self._free
            if waits:
                turn.acquire()
                self._waiting.append(turn)
            else:
                self._free -= 1
        try:
            if waits:
                turn.acquire()
            yield
        finally:
            self._give_back(turn)

    def _give_back(self, turn: Lock) -> None:
        with self._lock:
            if turn in self._waiting:  # interrupted before it had one
                self._waiting.remove(turn)
            elif self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


def _taken(left: deque[T], most: int) -> Iterator[T]:
    """The next pieces of what several threads take from."""
    with suppress(IndexError):  # there is no more, or another thread took the last one
        for _ in range(most):
            yield left.popleft()
