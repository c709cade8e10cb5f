"""Shows progress to whoever waits: a bar on a terminal, a line every few seconds anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from indexer import progress as port

EVERY_S = 5.0
_ANNOUNCED = 100
"""Steps from which a stage may be long, so it is announced before it starts."""


@contextmanager
def shown_progress(stream: TextIO | None = None) -> Iterator[port.Progress]:
    """Progress on `stream` (standard error where none is given) until the block ends."""
    stream = stream or sys.stderr
    if stream is None:  # closed, as a daemon may have it
        yield port.silent
        return
    if not stream.isatty():
        yield LineProgress(stream)
        return
    columns = (
        TextColumn("{task.description:>12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(file=cast("TextIO", _Heedless(stream)))) as bar:
        yield BarProgress(bar)


class _Heedless:
    """A terminal that may be gone, which is no reason to end what is under way."""

    __slots__ = ("_stream",)

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class BarProgress:
    """One bar for each stage."""

    __slots__ = ("_bar", "_tasks")

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Moves the stage's bar."""
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=total)
        self._bar.update(self._tasks[stage], completed=done, total=total)


class LineProgress:
    """A line when a long stage begins and ends and every few seconds between, with an estimate of what is left."""

    __slots__ = ("_clock", "_every_s", "_said", "_started", "_stream")

    def __init__(
        self, stream: TextIO, *, every_s: float = EVERY_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._every_s = every_s
        self._clock = clock
        # By stage; stages may take turns.
        self._started: dict[str, float] = {}
        self._said: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Says where the stage is, unless it was said a moment ago."""
        now = self._clock()
        if stage not in self._started:
            self._started[stage] = self._said[stage] = now
            if total >= _ANNOUNCED and not done:
                self._say(f"{stage}: {total:,} to do")
        elapsed = now - self._started[stage]
        if done >= total:
            # A stage that took no time needs no line.
            if elapsed >= 1.0:
                count = f"{total:,} " if total > 1 else ""
                self._say(f"{stage}: {count}done in {_duration(elapsed)}")
            self._started.pop(stage)
        elif now - self._said[stage] >= self._every_s:
            self._said[stage] = now
            left = f", about {_duration(elapsed / done * (total - done))} left" if done else ""
            self._say(f"{stage}: {done:,} of {total:,}{left}")

    def _say(self, line: str) -> None:
        with suppress(OSError):  # nobody listens, which is no reason to end what is under way
            print(line, file=self._stream, flush=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
