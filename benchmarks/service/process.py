"""The real `serve` process, and what the system says of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.service.catalogs import APPLICATION, SURFACE

PATH = f"/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A server that takes requests."""

    process: subprocess.Popen[str]
    url: str
    ready_s: float

    @property
    def memory_mb(self) -> float:
        """What is resident, in millions of bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    @property
    def cpu_s(self) -> float:
        """The processor's seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def asked(self, queries: Sequence[str], *, in_flight: int, seconds: float, first: int = 0) -> dict[str, Any]:
        """What the client of its own process saw, and what the processor did here for one request, in milliseconds."""
        host, port = self.url.removeprefix("http://").split(":")
        command = [sys.executable, "-m", "benchmarks.service.client", host, port, PATH]
        before = self.cpu_s
        ended = subprocess.run(
            [*command, str(in_flight), str(seconds), str(first)],
            input="\n".join(map(json.dumps, queries)),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seen: dict[str, Any] = json.loads(ended.stdout)
        return seen | {"cpu_ms": 1000 * (self.cpu_s - before) / max(1, len(seen["took"]))}


@contextmanager
def service(store: Path, *options: str) -> Iterator[Service]:
    """A server on a free port for as long as the block lasts."""
    command = [sys.executable, "-m", "selector", "serve", "--store", str(store), "--port", "0", *options]
    started = time.monotonic()
    with tempfile.TemporaryFile("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True)
        with process:
            try:
                line = process.stdout.readline() if process.stdout is not None else ""
                if not line.startswith("serving "):
                    raise RuntimeError("the service did not start")
                url = line.removeprefix("serving ").strip()
                while httpx2.get(f"{url}/health/ready").status_code != 200:
                    time.sleep(0.01)  # what is measured in seconds is known to a hundredth
                yield Service(process=process, url=url, ready_s=time.monotonic() - started)
            finally:
                process.terminate()
