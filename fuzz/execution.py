"""Running one input: what came of it, how long it took, and where it broke.

What is slow by the clock is run again by the processor's own time, so a busy machine makes nothing slow. What does not
end at all is ended by a timer.
"""

from __future__ import annotations

import signal
import time
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Any

from fuzz.targets import Target

SLOW = 0.5
"""Seconds that no input below 1 MiB may take."""
HANGS = 15
"""Seconds after which, and before twice of them, an input is taken to never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How an input broke: equal failures have one cause."""

    what: str
    """The class of the exception, or that it is slow."""
    where: str
    """File and line in the code under test."""
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of one input: a word, or a failure."""

    word: str
    failure: Failure | None = None
    traceback: str = ""


class _HangsError(BaseException):
    """Not an Exception, so that no handler on the way swallows it."""


class Execution:
    """Runs inputs under one timer, which ends an input that the timer has seen twice."""

    def __init__(self) -> None:
        self._inputs = 0
        self._running = False
        self._seen = 0

    def __enter__(self) -> Execution:
        self._previous = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, HANGS, HANGS)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._previous)

    def run(self, target: Target, made: Any) -> Ran:
        """Runs an input; never raises for what the input does."""
        started = time.perf_counter()
        ran = self._outcome(target, made)
        if ran.failure is None and time.perf_counter() - started > SLOW:
            # Perhaps the machine was busy: the processor's own time decides. It is slow to read, so only now.
            started = time.thread_time()
            self._outcome(target, made)
            seconds = time.thread_time() - started
            if seconds > SLOW:
                return Ran(word="failure", failure=Failure(what="slow", where=target.name, seconds=seconds))
        return ran

    def fails_so(self, target: Target, made: Any, failure: Failure) -> bool:
        """Whether an input fails for this cause."""
        found = self.run(target, made).failure
        return found is not None and (found.what, found.where) == (failure.what, failure.where)

    def _outcome(self, target: Target, made: Any) -> Ran:
        self._inputs += 1
        self._running = True
        try:
            return Ran(word=target.check(made))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - finding any other outcome is what this is for
            return Ran(word="failure", failure=_failure(error), traceback=_shown(error))
        finally:
            self._running = False

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        if self._running and self._seen == self._inputs:
            raise _HangsError(f"no outcome within {HANGS} s")
        self._seen = self._inputs


def _failure(error: BaseException) -> Failure:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/surface/" in frame.filename.replace("\\", "/")] or list(frames)
    where = f"{ours[-1].filename}:{ours[-1].lineno}" if ours else "?"
    # What hangs is interrupted at another line each time.
    return Failure(what=type(error).__name__, where="?" if isinstance(error, _HangsError) else where)


def _shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-8))[-6_000:]
