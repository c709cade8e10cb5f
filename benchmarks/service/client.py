"""A client of its own process: asks a ranking service over HTTP/1.1, a connection for each asker.

    python -m benchmarks.service.client HOST PORT PATH IN_FLIGHT SECONDS FIRST < queries, one JSON string a line

Prints one JSON line: when each request began (seconds on the system's monotonic clock), how long it took in
milliseconds, and the statuses. It parses no more of HTTP than it must, so that it costs little beside the service.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Seen:
    """What the askers saw."""

    began: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)


class Connection:
    """One asker that waits for each answer, for a process that measures between its own work."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> bytes:
        """The body of the answer."""
        self._socket.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._more()
        head, _, body = answer.partition(b"\r\n\r\n")
        while len(body) < _length(head):
            body += self._more()
        return body

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()

    def _more(self) -> bytes:
        received = self._socket.recv(65_536)
        if not received:
            raise ConnectionError("the service closed the connection")
        return received


def request_of(host: str, path: str, query: str) -> bytes:
    """A request for the five best tools."""
    body = json.dumps({"query": query, "limit": 5}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def _length(head: bytes) -> int:
    return int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])


async def _ask(host: str, port: int, requests: list[bytes], first: int, step: int, ends: float, seen: Seen) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    at = first
    while (began := time.monotonic()) < ends:
        writer.write(requests[at % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(_length(head))
        seen.took.append(1000 * (time.monotonic() - began))
        seen.began.append(began)
        seen.statuses[int(head[9:12])] += 1
        at += step
    writer.close()
    await writer.wait_closed()


async def _main(host: str, port: int, path: str, in_flight: int, seconds: float, first: int) -> None:
    requests = [request_of(host, path, json.loads(line)) for line in sys.stdin]
    seen, ends = Seen(), time.monotonic() + seconds
    started = time.monotonic()
    await asyncio.gather(*(_ask(host, port, requests, first + at, in_flight, ends, seen) for at in range(in_flight)))
    result = {
        "seconds": time.monotonic() - started,
        "cpu": time.process_time(),
        "began": seen.began,
        "took": seen.took,
        "statuses": seen.statuses,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    _, host, port, path, in_flight, seconds, first = sys.argv
    asyncio.run(_main(host, int(port), path, int(in_flight), float(seconds), int(first)))
