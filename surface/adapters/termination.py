"""Signals that end a command: SIGTERM, and SIGHUP of a terminal that is closed, as Ctrl-C does, so that what was done
is accounted for and last words are said; none of them once the command's exit code is settled; and Ctrl-C only where it
is understood.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Answer = TypeVar("Answer")


class TerminatedError(KeyboardInterrupt):
    """Somebody sent SIGTERM: a pipeline that is cancelled, a container that is stopped."""


class HungUpError(KeyboardInterrupt):
    """The terminal is gone: its window was closed, its connection was lost. `nohup` keeps a command from this."""


_ENDING: dict[int, tuple[object, type[KeyboardInterrupt]]] = {
    signal.SIGINT: (signal.default_int_handler, KeyboardInterrupt),
    signal.SIGTERM: (signal.SIG_DFL, TerminatedError),
}
"""What ends a command: how it is handled where nobody has said otherwise, and what it is raised as here."""
if sys.platform != "win32":
    _ENDING[signal.SIGHUP] = (signal.SIG_DFL, HungUpError)


class EndingSignals:
    """SIGINT, SIGTERM and SIGHUP, each an exception while something is done that they may end, and nothing after that.

    A signal that somebody else handles already is left to them, and so are all where signals cannot be handled.
    Nothing is put back, as an exit code stands only if nothing comes after it: `restored` does that for a command that
    does not end its process.
    """

    def __init__(self) -> None:
        able = threading.current_thread() is threading.main_thread()
        self._ours = [one for one, usual in _ENDING.items() if able and signal.getsignal(one) is usual[0]]
        self._heard = False

    def heard_in(self, work: Callable[[], Answer]) -> Answer:
        """Does the work, in which SIGTERM raises `TerminatedError`, SIGHUP `HungUpError`, SIGINT `KeyboardInterrupt`;
        from its end on none of them does anything.
        """
        try:
            try:
                self._heard = True
                for one in self._ours:
                    signal.signal(one, self._raise)
                return work()
            finally:
                self._ignore()
        except KeyboardInterrupt:
            self._ignore()  # it may have come in the line before
            raise

    def _ignore(self) -> None:
        self._heard = False
        for one in self._ours:
            signal.signal(one, signal.SIG_IGN)  # ours would be forgotten before the interpreter has ended

    def _raise(self, number: int, _: object) -> None:
        if self._heard:
            if _ENDING[number][1] is HungUpError:
                # A shell sends its own beside the terminal's: the second must not cut short what the first began.
                signal.signal(number, signal.SIG_IGN)
            raise _ENDING[number][1]


def ignored_from_now_on() -> None:
    """None of the signals does anything any more, but for what somebody else handles: the process is about to end."""
    if threading.current_thread() is threading.main_thread():
        for one, (usual, _) in _ENDING.items():
            if signal.getsignal(one) is usual:
                signal.signal(one, signal.SIG_IGN)


@contextmanager
def restored() -> Iterator[None]:
    """At the end of the block SIGINT, SIGTERM and SIGHUP are handled as at its beginning."""
    before = {one: signal.getsignal(one) for one in _ENDING}
    try:
        yield
    finally:
        for one, handler in before.items():
            if signal.getsignal(one) is not handler:
                signal.signal(one, handler)


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Ctrl-C inside the block is raised at its end, where nobody else handles it and signals can be handled.

    For imports: a library may tell an interruption of its own beginning as a fault of its own.
    """
    untouched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not untouched or threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if asked.is_set():
            raise KeyboardInterrupt
