"""A replica is replaced under load: no request fails, though nobody takes the old one out of the balancer first."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from surface.adapters.selector_client import SelectorClient
from surface.protocol import RankReply
from tests.selector.builders import SURFACE, TOOLS, ask, put
from tests.selector.server_process import DEADLINE, ServerProcess, running_server, until

ASKERS = 6


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
