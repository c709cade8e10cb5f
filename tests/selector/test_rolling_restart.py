"""A replica is replaced under load and no request fails: not where a client tries once more and the balancer looks at
nothing, and not where nobody tries again and the balancer asks for readiness.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from surface.adapters.selector_client import SelectorClient
from surface.protocol import RankReply
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, ask, put
from tests.selector.server_process import DEADLINE, ServerProcess, running_server, until

ASKERS = 6
BODY = b'{"query": "delete a file", "limit": 3}'
REQUEST = (
    f"POST /v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank HTTP/1.1\r\nhost: x\r\n"
    f"content-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n"
).encode() + BODY


class Balancer:
    """Passes each connection to the first replica that takes it, in turn; like one that looks at nothing but TCP."""

    def __init__(self) -> None:
        self.replicas: list[ServerProcess] = []
        self._turn = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._turn += 1
        for at in range(len(self.replicas)):
            host, port = self.replicas[(self._turn + at) % len(self.replicas)].url.removeprefix("http://").split(":")
            try:
                theirs = await asyncio.open_connection(host, int(port))
                break
            except ConnectionError:
                continue
        else:
            writer.close()
            return
        await asyncio.gather(self._passed(reader, theirs[1]), self._passed(theirs[0], writer))

    async def _passed(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while piece := await source.read(65_536):
                target.write(piece)
                await target.drain()
        except ConnectionError:
            pass
        finally:
            target.close()


@asynccontextmanager
async def _balancing() -> AsyncIterator[tuple[str, Balancer]]:
    balancer = Balancer()
    server = await asyncio.start_server(balancer.connected, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}", balancer


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[list[ServerProcess]]:
    put(DirectoryStore(tmp_path / "store"), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    with ExitStack() as running:
        yield [running.enter_context(running_server(tmp_path / "store", log=tmp_path / f"log-{name}")) for name in "ab"]


async def test_no_request_fails_while_a_replica_ends_by_sigterm_and_another_takes_its_place(
    replicas: list[ServerProcess],
) -> None:
    old, new = replicas
    replies: list[RankReply] = []
    stop = asyncio.Event()

    async def keep_asking(url: str) -> None:
        async with SelectorClient(url, timeout=DEADLINE) as client:
            while not stop.is_set():
                replies.append(await client.rank(ask("delete a file")))

    def more() -> bool:
        return len(replies) >= seen + 10 * ASKERS

    async with _balancing() as (url, balancer):
        balancer.replicas = [old]
        asking = [asyncio.create_task(keep_asking(url)) for _ in range(ASKERS)]
        seen = 0
        await until(more)
        balancer.replicas = [old, new]
        assert await asyncio.to_thread(old.stop, signal.SIGTERM) == 0
        seen = len(replies)
        await until(more)
        stop.set()
        await asyncio.gather(*asking)  # raises what any request raised
    assert {reply.ranked[0].name for reply in replies} == {"file_delete"}
    assert " 200 " in new.log.read_text()


class KeepingAlive:
    """Asks again and again on one connection, and opens another one only where it was told that this one ends."""

    def __init__(self, statuses: Counter[str]) -> None:
        self._statuses = statuses
        self.port = 0

    async def ask_until(self, stop: asyncio.Event) -> None:
        """Raises ConnectionError or IncompleteReadError where a request fails."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while not stop.is_set():
            writer.write(REQUEST)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
            self._statuses[head.split()[1].decode()] += 1
            if b"\r\nconnection: close\r\n" in head:
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.close()


async def test_whoever_keeps_connections_and_never_tries_again_loses_no_request_to_a_replica_that_ends(
    tmp_path: Path,
) -> None:
    put(DirectoryStore(tmp_path / "store"), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    statuses: Counter[str] = Counter()
    stop = asyncio.Event()
    with (
        running_server(tmp_path / "store", "--drain", "1", log=tmp_path / "log-a") as old,
        running_server(tmp_path / "store", log=tmp_path / "log-b") as new,
    ):
        askers = [KeepingAlive(statuses) for _ in range(ASKERS)]
        for asker in askers:
            asker.port = int(old.url.rpartition(":")[2])
        asking = [asyncio.create_task(asker.ask_until(stop)) for asker in askers]
        await until(lambda: statuses["200"] >= 10 * ASKERS)
        for asker in askers:  # where a balancer sends new connections from now on
            asker.port = int(new.url.rpartition(":")[2])
        assert await asyncio.to_thread(old.stop, signal.SIGTERM) == 0
        seen = statuses["200"]
        await until(lambda: statuses["200"] >= seen + 10 * ASKERS)
        stop.set()
        await asyncio.gather(*asking)  # raises what any request raised
        assert statuses.keys() == {"200"}
        assert " 200 " in new.log.read_text()
