"""A service whose store hangs or is gone, from its first moment to its last: it answers what it can, and it ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from indexer.adapters.opening import open_store
from models.adapters.onnx import OnnxEmbedder, default_embedder
from tests.indexer.redis_server import BINARIES, RedisServer, free_port, running, start
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, put
from tests.selector.server_process import REPOSITORY, running_server, until

RANK = f"/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running(BINARIES["redis-8"], tmp_path) as server:
        yield server


def store_url(redis: RedisServer) -> str:
    return f"redis://127.0.0.1:{redis.port}/0"


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return default_embedder(threads=1)


@contextmanager
def beginning(url: str, log: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server that may not have looked at its store yet and would take its time to end, and its address."""
    port = free_port()
    command = [sys.executable, "-m", "selector", "serve", "--store", url, "--port", str(port), "--poll", "0.05"]
    with (
        log.open("w") as stderr,
        subprocess.Popen([*command, "--drain", "600"], cwd=REPOSITORY, stderr=stderr) as process,
    ):
        try:
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def answers(url: str) -> bool:
    try:
        return httpx2.get(url).status_code == 200
    except httpx2.TransportError:
        return False


async def test_while_the_store_hangs_at_the_start_the_process_lives_is_not_ready_and_ends_when_it_is_told_to(
    redis: RedisServer, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    put(open_store(store_url(redis)), {SURFACE: TOOLS}, embedder=embedder)
    redis.stop(signal.SIGSTOP)
    with beginning(store_url(redis), tmp_path / "log") as (process, url):
        await until(lambda: answers(f"{url}/health/live"))
        ready = httpx2.get(f"{url}/health/ready")
        assert (ready.status_code, ready.json()["code"]) == (503, "loading")
        assert ready.headers["retry-after"] == "1"
        ranked = httpx2.post(url + RANK, json={"query": "delete a file", "limit": 3})
        assert (ranked.status_code, ranked.json()["code"]) == (503, "index_unusable")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 5) == 0
    with beginning(store_url(redis), tmp_path / "log") as (process, url):
        await until(lambda: answers(f"{url}/health/live"))
        redis.stop(signal.SIGCONT)
        await until(lambda: answers(f"{url}/health/ready"))
        assert httpx2.post(url + RANK, json={"query": "delete a file", "limit": 3}).status_code == 200


async def test_a_store_that_is_gone_at_the_start_is_waited_for(
    redis: RedisServer, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    redis.stop()
    with running_server(store_url(redis), log=tmp_path / "log") as server:
        ready = httpx2.get(f"{server.url}/health/ready")
        assert (ready.status_code, ready.json()["code"]) == (503, "store_unavailable")
        assert list(ready.json()["unreadable"]) == [""]
        redis = start(BINARIES["redis-8"], tmp_path, port=redis.port)
        put(open_store(store_url(redis)), {SURFACE: TOOLS}, embedder=embedder)
        await until(lambda: answers(f"{server.url}/health/ready"))
    redis.stop()


async def test_a_deploy_to_redis_is_picked_up_when_redis_tells_of_it_and_not_only_at_the_next_look(
    redis: RedisServer, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    store = open_store(store_url(redis))
    put(store, {SURFACE: TOOLS}, embedder=embedder)
    with running_server(store_url(redis), log=tmp_path / "log", poll=3_600) as server:
        editions = iter(range(1_000))

        def picked_up() -> bool:  # a hint that comes before anybody listens is lost
            put(store, {SURFACE: {**TOOLS, f"edition_{next(editions)}": "Says which"}}, embedder=embedder)
            return f"serving {APPLICATION}/{SURFACE}: version" in (tmp_path / "log").read_text()

        await until(picked_up)
        assert server.stop() == 0


async def test_a_store_that_hangs_under_a_serving_process_does_not_keep_it_from_ending(
    redis: RedisServer, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    put(open_store(store_url(redis)), {SURFACE: TOOLS}, embedder=embedder)
    cache = f"redis://127.0.0.1:{redis.port}/1"
    with running_server(store_url(redis), "--cache", cache, log=tmp_path / "log") as server:
        assert httpx2.post(server.url + RANK, json={"query": "delete a file", "limit": 3}).status_code == 200
        redis.stop(signal.SIGSTOP)
        # It asks the store twenty times a second: by the time that this is answered it has begun to wait for it.
        assert httpx2.post(server.url + RANK, json={"query": "copy a file", "limit": 3}).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.process.wait, 8) == 0
