"""Signals that end a command: SIGTERM as Ctrl-C does, so that what was done is accounted for and last words are said;
neither once the command's exit code is settled; and Ctrl-C only where it is understood.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Answer = TypeVar("Answer")
_ENDING = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""What ends a command, and how it is handled where nobody has said otherwise."""


class TerminatedError(KeyboardInterrupt):
    """Somebody sent SIGTERM: a pipeline that is cancelled, a container that is stopped."""


class EndingSignals:
    """SIGINT and SIGTERM, each an exception while something is done that they may end, and nothing after that.

    A signal that somebody else handles already is left to them, and so are both where signals cannot be handled.
    Nothing is put back, as an exit code stands only if nothing comes after it: `restored` does that for a command that
    does not end its process.
    """

    def __init__(self) -> None:
        able = threading.current_thread() is threading.main_thread()
        self._ours = [one for one, usual in _ENDING.items() if able and signal.getsignal(one) is usual]
        self._heard = False

    def heard_in(self, work: Callable[[], Answer]) -> Answer:
        """Does the work, in which SIGTERM raises `TerminatedError`, SIGINT `KeyboardInterrupt`; from its end on neither
        does anything.
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
            raise TerminatedError if number == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def restored() -> Iterator[None]:
    """At the end of the block SIGINT and SIGTERM are handled as at its beginning."""
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
