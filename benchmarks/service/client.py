"""A client of its own process: asks a ranking service over HTTP/1.1, a connection for each asker.

    python -m benchmarks.service.client HOST PORT PATH IN_FLIGHT SECONDS FIRST < queries, one JSON string a line

Prints one JSON line: when each request began (seconds on the system's monotonic clock), how long it took in
milliseconds, and the statuses. It parses no more of HTTP than it must, so that it costs little beside the service.
"""

from __future__ import annotations

import asyncio
import json
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


async def _ask(host: str, port: int, requests: list[bytes], first: int, step: int, ends: float, seen: Seen) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    at = first
    while (began := time.monotonic()) < ends:
        writer.write(requests[at % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        seen.took.append(1000 * (time.monotonic() - began))
        seen.began.append(began)
        seen.statuses[int(head[9:12])] += 1
        at += step
    writer.close()
    await writer.wait_closed()


async def _main(host: str, port: int, path: str, in_flight: int, seconds: float, first: int) -> None:
    requests = []
    for line in sys.stdin:
        body = json.dumps({"query": json.loads(line), "limit": 5}).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        requests.append(head.encode() + b"\r\n\r\n" + body)
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
