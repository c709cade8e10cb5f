"""The demo's child processes: each in a session of its own, none left behind.

Rules kept here:

1. Ctrl-C reaches the demo alone, which then ends its children; they never print tracebacks over its output.
2. Leaving `Children` ends every child, whatever happened: politely, then after `PATIENCE` seconds by SIGKILL, with
   everything that a child may have started itself.
3. What a child says on standard error goes to a log file (or to the terminal where it draws progress); when it fails,
   the end of that log is part of the error, with what to do.

POSIX only.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

T = TypeVar("T")

PATIENCE = 5.0
"""Seconds that a child has to end when it is told to."""
GRACE = 0.5
"""Seconds in which the death of a process is noticed."""
MAX_LINE = 4 * 1024 * 1024
"""Bytes in one line of a child's output."""
TAIL_LINES = 15


class ChildFailedError(Exception):
    """A child process did not do its work."""

    def __init__(self, child: str, what: str, *, advice: str, tail: Sequence[str] = ()) -> None:
        self.child = child
        self.what = what
        self.advice = advice
        self.tail = tuple(tail)
        super().__init__(f"the {child} {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One running process. Made by `Children.start`."""

    name: str
    process: asyncio.subprocess.Process
    log: Path | None
    """Where its standard error goes; None: to the demo's own."""
    advice: str
    """What a person can do when it fails."""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self.process.pid

    async def line(self) -> bytes:
        """The next line of its standard output; empty at the end."""
        assert self.process.stdout is not None  # noqa: S101 - every child is started with a pipe
        return await self.process.stdout.readline()

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines of its standard output, until it closes it."""
        while line := await self.line():
            yield line

    async def succeed(self) -> bytes:
        """All of its standard output, once it has ended well; ChildFailedError otherwise."""
        assert self.process.stdout is not None  # noqa: S101 - every child is started with a pipe
        output = await self.process.stdout.read()
        if await self.process.wait() != 0:
            raise self.failure(f"failed ({self.ending})")
        return output

    async def kill(self) -> int:
        """Ends the process as a power cut would, and gives its exit status."""
        with suppress(ProcessLookupError):
            self.process.kill()
        return await self.process.wait()

    async def stop(self) -> None:
        """Ends the process, politely first."""
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(PATIENCE):
                await self.process.wait()
        except TimeoutError:
            pass
        finally:
            # Also what it may have started and left.
            self._signal(signal.SIGKILL)
            await self.process.wait()

    async def alive_during(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work gives; ChildFailedError as soon as this process ends before the work does."""
        working = asyncio.ensure_future(work)
        ending = asyncio.ensure_future(self.process.wait())
        try:
            await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
            if working.done() and working.exception() is not None:
                # Work that fails may fail because this process has just died: that would be the cause to tell.
                await asyncio.wait({ending}, timeout=GRACE)
            if ending.done():
                raise self.failure(f"ended early ({self.ending})")
            return working.result()
        finally:
            working.cancel()
            ending.cancel()
            await asyncio.gather(working, ending, return_exceptions=True)

    @property
    def ending(self) -> str:
        """How the process ended, for a person."""
        code = self.process.returncode
        if code is None:
            return "still running"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def failure(self, what: str) -> ChildFailedError:
        """An error about this process, with the end of its log."""
        return ChildFailedError(self.name, what, advice=self.advice, tail=_tail(self.log))

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """Every process the demo has started; an async context manager that ends them all."""

    logs: Path
    """The folder for what they say on standard error."""
    environment: Mapping[str, str]
    """Beside the demo's own."""
    _started: list[Child] = field(default_factory=list)

    async def start(self, name: str, arguments: Sequence[str], *, advice: str, on_screen: bool = False) -> Child:
        """Starts ``python -m ARGUMENTS``. `on_screen`: its standard error is the demo's, for its progress."""
        log = None if on_screen else self.logs / f"{name}.log"
        stderr = None if log is None else log.open("ab")
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **self.environment},
                limit=MAX_LINE,
                start_new_session=True,
            )
        finally:
            if stderr is not None:
                stderr.close()
        child = Child(name=name, process=process, log=log, advice=advice)
        self._started.append(child)
        return child

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        running = [child for child in self._started if child.process.returncode is None]
        await asyncio.gather(*(child.stop() for child in running))


def _tail(log: Path | None) -> list[str]:
    if log is None or not log.exists():
        return []
    return log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
