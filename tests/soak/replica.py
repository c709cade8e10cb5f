"""A replica that can be ended in any way and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx2

from tests.selector.server_process import REPOSITORY

_DRAINING_S = 0.3
"""Between taking a replica out of the balancer and asking it to end, as a deployment's preStop does."""


class Replica:
    """One `serve` process after the other on one port."""

    def __init__(self, name: str, *, options: list[str], folder: Path) -> None:
        self.name = name
        self.life = 0
        """Which process this is."""
        self.killed = 0
        """The last life that was cut off without warning."""
        self.open = False
        """Whether requests may be sent: a balancer would know by the readiness probe."""
        self.log = folder / f"{name}.log"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self._port = int(one.getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}"

    async def start(self, http: httpx2.AsyncClient) -> None:
        """Starts the process and returns once it is ready."""
        self.life += 1
        command = [sys.executable, "-m", "selector", "serve", "--port", str(self._port), *self._options]
        self._process = await asyncio.to_thread(self._begin, command)
        async with asyncio.timeout(90):
            while not await self._ready(http):
                if self._process.poll() is not None:
                    raise RuntimeError(f"replica {self.name} ended by itself; see {self.log}")
                await asyncio.sleep(0.2)
        self.open = True

    async def end(self, how: signal.Signals) -> int:
        """Ends the process; its exit status."""
        self.open = False
        if self._process is None:
            return 0
        if how is signal.SIGKILL:
            self.killed = self.life
        else:
            await asyncio.sleep(_DRAINING_S)
        self._process.send_signal(how)
        return await asyncio.to_thread(self._process.wait, 30)

    def _begin(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    @property
    def memory_mb(self) -> float:
        """What is resident, in millions of bytes."""
        if self._process is None:
            return 0.0
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    async def _ready(self, http: httpx2.AsyncClient) -> bool:
        with suppress(httpx2.HTTPError):
            return (await http.get(f"{self.url}/health/ready")).status_code == 200
        return False
