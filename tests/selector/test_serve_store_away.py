"""A service whose store hangs or is gone, from its first moment to its last: it answers what it can, and it ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx2
import pytest
from redis import Redis

from indexer.adapters import object_store
from indexer.adapters.opening import open_store
from indexer.adapters.redis_link import RedisWaits, read_redis_url
from indexer.adapters.redis_store import FOLLOWING_WAITS, redis_store
from models.adapters.onnx import OnnxEmbedder, default_embedder
from tests.indexer.redis_cluster import running_cluster
from tests.indexer.redis_server import BINARIES, RedisServer, free_port, running, start
from tests.indexer.s3_server import running_s3, s3_settings
from tests.selector.builders import APPLICATION, NOW, SURFACE, TOOLS, put
from tests.selector.server_process import REPOSITORY, running_server, until

CHANNEL = "toolsurface:activations"
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


def has_swapped(log: Path, times: int, *, application: str = APPLICATION) -> bool:
    """Whether the surface of an application was swapped so many times since the beginning."""
    return log.read_text().count(f"serving {application}/{SURFACE}: version") >= times


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
            return has_swapped(tmp_path / "log", 1)

        await until(picked_up)
        assert server.stop() == 0


async def test_after_a_redis_that_hung_for_a_while_hints_are_heard_as_before(
    redis: RedisServer, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    store = open_store(store_url(redis))
    put(store, {SURFACE: TOOLS}, embedder=embedder)
    with running_server(store_url(redis), log=tmp_path / "log", poll=3_600) as server:
        with Redis(port=redis.port) as client:
            await until(lambda: dict(client.pubsub_numsub(CHANNEL))[CHANNEL.encode()] == 1)
        redis.stop(signal.SIGSTOP)
        assert httpx2.post(server.url + RANK, json={"query": "delete a file", "limit": 3}).status_code == 200
        redis.stop(signal.SIGCONT)
        put(store, {SURFACE: {**TOOLS, "edition": "Says which"}}, embedder=embedder)
        await until(partial(has_swapped, tmp_path / "log", 1))


async def test_where_no_hint_can_come_the_next_look_finds_what_was_deployed(
    redis: RedisServer, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    with Redis(port=redis.port) as client:
        client.execute_command("ACL", "SETUSER", "default", "resetchannels")
    store = open_store(store_url(redis))
    put(store, {SURFACE: TOOLS}, embedder=embedder)
    with running_server(store_url(redis), log=tmp_path / "log", poll=0.5) as server:
        for times, edition in enumerate(("first", "second"), 1):
            put(store, {SURFACE: {**TOOLS, edition: "Says which"}}, embedder=embedder)
            await until(partial(has_swapped, tmp_path / "log", times))
        assert server.stop() == 0


async def test_surfaces_that_left_memory_are_refused_one_after_the_other_in_no_time_while_the_store_hangs(
    redis: RedisServer, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    surfaces = [SURFACE, *(f"idle-{at}" for at in range(8))]
    put(open_store(store_url(redis)), dict.fromkeys(surfaces, TOOLS), embedder=embedder)
    size = open_store(store_url(redis)).ledger(APPLICATION).versions[0].size
    with running_server(store_url(redis), "--memory", str(2 * size), log=tmp_path / "log") as server:
        async with httpx2.AsyncClient(base_url=server.url, timeout=120) as http:

            async def asked(surface: str) -> tuple[int, str | None]:
                answer = await http.post(RANK.replace(SURFACE, surface), json={"query": "delete a file", "limit": 3})
                return answer.status_code, answer.json().get("code")

            assert await asked(SURFACE) == (200, None)
            redis.stop(signal.SIGSTOP)
            began = time.monotonic()
            answers = await asyncio.gather(*(asked(surface) for surface in surfaces[1:]))
            took = time.monotonic() - began
            assert answers.count((503, "index_unusable")) >= 6
            assert took < 3 * FOLLOWING_WAITS.answer_s  # one after the other each would wait as long
            assert await asked(SURFACE) == (200, None)
            redis.stop(signal.SIGCONT)


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


async def test_an_object_store_that_hangs_is_told_of_within_a_few_looks_and_everything_is_answered_meanwhile(
    embedder: OnnxEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_s3("bucket") as s3:
        for name, value in s3_settings(s3.url).items():
            monkeypatch.setenv(name, value)
        url = "s3://bucket/prefix"
        put(open_store(url), {SURFACE: TOOLS}, embedder=embedder)
        with running_server(url, log=tmp_path / "log") as server:

            def unreadable() -> list[str]:
                ready = httpx2.get(f"{server.url}/health/ready")
                assert ready.status_code == 200
                assert httpx2.post(server.url + RANK, json={"query": "delete a file", "limit": 3}).status_code == 200
                return list(ready.json()["unreadable"])

            assert unreadable() == []
            s3.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            await until(unreadable)
            assert time.monotonic() - began < 3 * object_store.FOLLOWING_WAITS.silence_s
            s3.process.send_signal(signal.SIGCONT)
            await until(lambda: not unreadable())
            assert server.stop() == 0


def ledger_of(application: str) -> str:
    """The key that decides which server of a cluster an application is on."""
    return f"toolsurface:{{{application}}}:ledger"


async def test_a_server_of_a_cluster_that_hangs_holds_up_no_application_that_another_one_has(
    embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    with running_cluster(tmp_path) as cluster:
        for node in cluster.servers:
            with Redis(port=node.port) as client:
                client.config_set("cluster-require-full-coverage", "no")
        # To whom it tells that something changed may hang as well: nobody waits long for that here.
        store = redis_store(read_redis_url(cluster.url), waits=RedisWaits(connect_s=1.0, answer_s=1.0, tries=0))
        listed = cluster.primary_of("toolsurface:applications")
        hanging, served = (
            next(name for name in names if (cluster.primary_of(ledger_of(name)).port == listed.port) is with_the_list)
            for names, with_the_list in (("abcdefghijk", False), ("lmnopqrstuv", True))
        )
        for application in (hanging, served):
            put(store, {SURFACE: TOOLS}, application=application, embedder=embedder)
        before = store.active(served)
        with running_server(cluster.url, log=tmp_path / "log") as server:
            put(store, {SURFACE: {"edition": "Says which"}}, application=served, embedder=embedder)
            await until(partial(has_swapped, tmp_path / "log", 1, application=served))
            after = store.active(served)
            assert before is not None
            assert after is not None
            for node in [cluster.primary_of(ledger_of(hanging)), cluster.replica_of(ledger_of(hanging))]:
                node.stop(signal.SIGSTOP)
            store.activate(before, expected=after.id, at=NOW)
            await until(partial(has_swapped, tmp_path / "log", 2, application=served))
            rank = RANK.replace(APPLICATION, hanging)
            assert httpx2.post(server.url + rank, json={"query": "delete a file", "limit": 3}).status_code == 200
            assert server.stop() == 0
