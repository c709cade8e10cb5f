"""A real `serve` process on a loopback port, for tests."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

REPOSITORY = Path(__file__).parents[2]
DEADLINE = 20.0
"""Seconds after which a test gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcess:
    process: subprocess.Popen[str]
    url: str
    log: Path
    """Everything the process writes to standard error."""

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> int:
        """Asks the process to end and waits; its exit code."""
        self.process.send_signal(signum)
        return self.process.wait(timeout=15)


async def until(holds: Callable[[], object]) -> None:
    """Asks again and again, giving way to whoever else runs, until it holds or the deadline has passed."""
    deadline = time.monotonic() + DEADLINE
    while not await asyncio.to_thread(holds):
        assert time.monotonic() < deadline, "it never came to hold"


@contextmanager
def running_server(store: Path | str, *arguments: str, log: Path, poll: float = 0.05) -> Iterator[ServerProcess]:
    """A server that has looked at its store once, well or not; it is ended with the block."""
    command = [sys.executable, "-m", "selector", "serve", "--store", str(store), "--port", "0"]
    command += ["--poll", str(poll), "--threads", "1", "--drain", "0", *arguments]
    with log.open("w") as stderr:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=stderr, stdin=subprocess.DEVNULL, text=True
        )
    with process:
        try:
            assert process.stdout is not None
            # Ends when the process does, so a server that fails to start fails the test at once.
            line = process.stdout.readline()
            assert line.startswith("serving http://127.0.0.1:"), log.read_text()
            url = line.removeprefix("serving ").strip()
            deadline = time.monotonic() + DEADLINE
            while httpx2.get(f"{url}/health/ready").json().get("code") == "loading":
                assert time.monotonic() < deadline, log.read_text()
            yield ServerProcess(process=process, url=url, log=log)
        finally:
            process.kill()
