"""A service whose vectors are elsewhere, and hang there: words answer, in time, and meaning answers again by itself."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from tests.indexer.redis_server import BINARIES, RedisServer, running
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, put
from tests.selector.server_process import DEADLINE, ServerProcess, running_server, until

NUMBERS = iter(range(1_000_000))


@pytest.fixture
def vectors(tmp_path: Path) -> Iterator[RedisServer]:
    with running(BINARIES["redis-8"], tmp_path) as server:
        yield server


@pytest.fixture
def server(vectors: RedisServer, tmp_path: Path) -> Iterator[ServerProcess]:
    store = tmp_path / "store"
    put(DirectoryStore(store), {SURFACE: TOOLS, "writer": TOOLS}, embedder=default_embedder(threads=1))
    with running_server(store, "--vectors", vectors.url, log=tmp_path / "log") as server:
        yield server


def asked(server: ServerProcess, surface: str = SURFACE, **headers: str) -> httpx2.Response:
    """A ranking that no cache knows."""
    body = {"query": f"delete file number {next(NUMBERS)}", "limit": 3}
    path = f"/v1/applications/{APPLICATION}/surfaces/{surface}/rank"
    return httpx2.post(server.url + path, json=body, headers=headers, timeout=DEADLINE)


def waiting(server: ServerProcess) -> bool:
    return "\ntoolsurface_queries_waiting 0.0" not in httpx2.get(f"{server.url}/metrics", timeout=DEADLINE).text


def degraded(response: httpx2.Response) -> str | None:
    assert response.status_code == 200, response.text
    code: str | None = response.json()["degraded"]
    return code


async def test_a_hung_server_of_vectors_costs_no_request_its_deadline_and_holds_no_worker(
    server: ServerProcess, vectors: RedisServer
) -> None:
    assert degraded(asked(server)) is None
    vectors.stop(signal.SIGSTOP)
    first = asked(server, **{"X-Request-Deadline-Ms": "200"})
    assert (first.status_code, first.json()["code"]) == (504, "deadline_exceeded")
    await until(lambda: asked(server, **{"X-Request-Deadline-Ms": "200"}).status_code == 200)  # the one worker is free
    began = time.monotonic()
    assert {degraded(asked(server, surface)) for surface in (SURFACE, "writer") * 10} == {"dense_failed"}
    assert time.monotonic() - began < 10  # twenty that wait would take twenty seconds
    vectors.stop(signal.SIGCONT)
    await until(lambda: degraded(asked(server)) is None)
    assert degraded(asked(server, "writer")) is None


async def test_sigterm_ends_a_service_whose_vectors_hang_while_it_is_asked(
    server: ServerProcess, vectors: RedisServer
) -> None:
    assert degraded(asked(server)) is None
    vectors.stop(signal.SIGSTOP)
    asking = [asyncio.create_task(asyncio.to_thread(asked, server)) for _ in range(8)]
    await until(lambda: waiting(server) or all(one.done() for one in asking))
    server.process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(server.process.wait, 8) == 0
    ended = await asyncio.gather(*asking, return_exceptions=True)
    assert {degraded(one) for one in ended if isinstance(one, httpx2.Response)} == {"dense_failed"}
