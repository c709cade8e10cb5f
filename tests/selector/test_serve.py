"""The real `serve` process: its start, its end, swaps under load, and what it never writes down."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx2
import pytest

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import OnnxEmbedder, default_embedder
from models.hashing import HashingEmbedder
from surface.adapters.selector_client import SelectorClient
from surface.errors import RankerUnavailable
from surface.protocol import RankReply
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, ask, put
from tests.selector.server_process import DEADLINE, REPOSITORY, ServerProcess, running_server, until

MARKER = "s3cret-marker"
OLD = {f"old_{name}": text for name, text in TOOLS.items()}
NEW = {f"new_{name}": text for name, text in TOOLS.items()}


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return default_embedder(threads=1)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


@pytest.fixture
def server(store: Path, tmp_path: Path, embedder: OnnxEmbedder) -> Iterator[ServerProcess]:
    put(DirectoryStore(store), {SURFACE: OLD, "writer": OLD}, embedder=embedder)
    with running_server(store, log=tmp_path / "log") as server:
        yield server


async def test_a_deploy_under_load_fails_no_request_and_mixes_no_answer(
    server: ServerProcess, store: Path, embedder: OnnxEmbedder
) -> None:
    replies: list[RankReply] = []
    stop = asyncio.Event()

    async def keep_asking(client: SelectorClient, query: str) -> None:
        while not stop.is_set():
            replies.append(await client.rank(ask(query)))

    async with SelectorClient(server.url, timeout=DEADLINE) as client:
        asking = [asyncio.create_task(keep_asking(client, text)) for text in ("delete a file", "send an invoice")]
        for tools, prefix in ((NEW, "new_"), (OLD, "old_"), (NEW, "new_")):
            await asyncio.to_thread(put, DirectoryStore(store), {SURFACE: tools, "writer": OLD}, embedder=embedder)
            seen = len(replies)
            await until(
                lambda seen=seen, prefix=prefix: any(  # type: ignore[misc]  # mypy cannot type defaults of a lambda
                    reply.ranked[0].name.startswith(prefix) for reply in replies[seen:]
                )
            )
        stop.set()
        await asyncio.gather(*asking)  # raises what any request raised

        versions = {(reply.index_version, reply.ranked[0].name[:4]) for reply in replies}
        assert len(versions) == 2
        for reply in replies:
            assert reply.degraded is None
            assert len({ranked.name[:4] for ranked in reply.ranked}) == 1

        # An agent of the previous deploy still gets the ranking of its own catalog.
        digest = next(reply.catalog_digest for reply in replies if reply.ranked[0].name.startswith("old_"))
        reply = await client.rank(ask("delete a file", catalog_digest=digest))
        assert reply.catalog_digest == digest
        assert reply.ranked[0].name == "old_file_delete"


async def test_a_surface_that_a_deploy_drops_is_gone(
    server: ServerProcess, store: Path, embedder: OnnxEmbedder
) -> None:
    def gone() -> bool:
        served = httpx2.get(f"{server.url}/health/ready").json()["applications"][APPLICATION]["surfaces"]
        return "writer" not in served

    assert not await asyncio.to_thread(gone)
    await asyncio.to_thread(put, DirectoryStore(store), {SURFACE: OLD}, embedder=embedder)
    await until(gone)
    async with SelectorClient(server.url, timeout=DEADLINE) as client:
        with pytest.raises(RankerUnavailable, match="unknown_surface"):
            await client.rank(ask("delete a file", surface="writer"))


@pytest.mark.rule("EVD-2")
async def test_nothing_of_a_query_is_ever_written_down_and_sigterm_ends_well(server: ServerProcess) -> None:
    path = f"{server.url}/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"
    answers = []
    async with httpx2.AsyncClient(timeout=DEADLINE) as http:
        good = {"query": f"{MARKER} delete a file", "limit": 5}
        answers.append(await http.post(path, json=good))
        answers.append(await http.post(f"{path}?query={MARKER}", json=good, headers={"x-request-id": MARKER}))
        answers.append(await http.post(path.replace(SURFACE, MARKER), json=good))
        answers.append(await http.post(path, json={**good, MARKER: MARKER}))
        answers.append(await http.post(path, json={**good, "limit": MARKER}))
        answers.append(await http.post(path, content=f'{{"query": "{MARKER}'.encode()))
        answers.append(await http.post(path, content=MARKER.encode() * 20_000))
        answers.append(await http.get(f"{server.url}/{MARKER}"))
    assert [answer.status_code for answer in answers] == [200, 200, 404, 422, 422, 422, 413, 404]
    assert not any(MARKER in answer.text for answer in answers)

    # Not HTTP at all: the server's own parser complains.
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as raw:
        raw.sendall(f"{MARKER} {MARKER}\r\n\r\n".encode())
        assert MARKER.encode() not in raw.recv(4_096)

    assert server.stop() == 0
    assert server.process.stdout is not None
    # One line on standard output, which the fixture has read, and nothing more.
    assert server.process.stdout.read() == ""
    written = server.log.read_text()
    assert "serving everybody who reaches this address: no --keys" in written
    assert len([line for line in written.splitlines() if "POST" in line and " 200 " in line]) == 2
    assert MARKER not in written  # nor the name of the surface that was asked for in vain


def test_a_server_on_an_empty_store_lives_is_not_ready_and_becomes_ready(
    store: Path, tmp_path: Path, embedder: OnnxEmbedder
) -> None:
    with running_server(store, log=tmp_path / "log") as server:
        assert httpx2.get(f"{server.url}/health/live").status_code == 200
        assert httpx2.get(f"{server.url}/health/ready").status_code == 503
        put(DirectoryStore(store), {SURFACE: TOOLS}, embedder=embedder)
        asyncio.run(until(lambda: httpx2.get(f"{server.url}/health/ready").status_code == 200))
        assert server.stop(signal.SIGINT) == 130
        assert f"serving {APPLICATION}/{SURFACE}: version" in server.log.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--store", "{here}/nowhere"], 2, "--store: "),
        (["--store", "{here}", "--keys", "{here}/nowhere"], 1, "--keys: "),
        (["--store", "{here}", "--keys", "{here}/wrong"], 1, "--keys: "),
        (["--store", "{here}", "--model", "nobodys"], 1, "--model nobodys: "),
        (["--store", "redis://127.0.0.1:1", "--vectors", "nowhere"], 2, "--vectors: "),
        (["--store", "redis://127.0.0.1:1", "--cache", "redis://127.0.0.1:1/none"], 2, "--cache: "),
        (["--store", "{here}", "--cache-key-file", "{here}/nowhere"], 2, "--cache-key-file: "),
    ],
)
def test_a_wrong_configuration_ends_the_process_at_once_and_says_which_option(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    (tmp_path / "wrong").write_text("no = keys")
    command = [sys.executable, "-m", "selector", "serve", "--port", "0"]
    command += [argument.format(here=tmp_path) for argument in arguments]
    ran = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=DEADLINE)
    assert (ran.returncode, ran.stdout) == (code, "")
    *before, error = ran.stderr.splitlines()
    assert error.startswith(f"python -m selector serve: {said}")
    assert len(before) <= 1  # that nobody needs a key, or that nobody shares the cache


async def test_on_sigterm_readiness_turns_503_and_requests_are_answered_until_the_drain_is_over(
    store: Path, tmp_path: Path, embedder: OnnxEmbedder
) -> None:
    put(DirectoryStore(store), {SURFACE: TOOLS}, embedder=embedder)
    with running_server(store, "--drain", "600", log=tmp_path / "log") as server:
        ready = f"{server.url}/health/ready"
        before = httpx2.get(ready)
        assert before.status_code == 200
        assert "connection" not in before.headers
        server.process.send_signal(signal.SIGTERM)
        await until(lambda: httpx2.get(ready).status_code == 503)
        assert httpx2.get(ready).json()["code"] == "leaving"
        # Who keeps its connections opens the next one, which a balancer sends elsewhere.
        asked = {"query": "delete a file", "limit": 1}
        rank = f"{server.url}/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"
        for answer in (httpx2.get(ready), httpx2.post(rank, json=asked), httpx2.post(f"{rank}s", json=asked)):
            assert answer.headers["connection"] == "close"
        assert httpx2.get(f"{server.url}/health/live").status_code == 200
        async with SelectorClient(server.url, timeout=DEADLINE) as client:
            assert (await client.rank(ask("delete a file"))).ranked[0].name == "file_delete"
        # A second one waits for nobody but the requests in flight.
        assert await asyncio.to_thread(server.stop, signal.SIGTERM) == 0


async def test_a_connection_too_many_is_told_so_and_the_question_whether_the_process_lives_is_answered(
    store: Path, tmp_path: Path
) -> None:
    with running_server(store, "--max-connections", "2", log=tmp_path / "log") as server, ExitStack() as held:
        asked = f"{server.url}/v1/applications"

        def connected() -> socket.socket:
            host, _, port = server.url.removeprefix("http://").partition(":")
            connection = socket.create_connection((host, int(port)), timeout=DEADLINE)
            return held.enter_context(closing(connection))

        served = [connected(), connected()]
        for connection in served:  # and kept open by both
            connection.sendall(b"GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
        refused = httpx2.get(asked)
        assert (refused.status_code, refused.json()["code"]) == (503, "too_many_connections")
        assert refused.headers["connection"] == "close"
        assert httpx2.get(f"{server.url}/health/live").status_code == 200
        # There is an end to those that are told, too: further ones are closed unread.
        several = [connected() for _ in range(80)]
        several[-1].settimeout(DEADLINE)
        with suppress(ConnectionResetError):
            assert several[-1].recv(1) == b""
        for connection in [*served, *several]:
            connection.close()
        await until(lambda: httpx2.get(asked).status_code == 200)


def test_an_index_of_a_model_that_is_not_loaded_is_refused_by_name_and_the_others_are_served(
    store: Path, tmp_path: Path, embedder: OnnxEmbedder
) -> None:
    other = HashingEmbedder()
    put(DirectoryStore(store), {SURFACE: TOOLS}, embedder=embedder)
    put(DirectoryStore(store), {SURFACE: TOOLS}, application="other", embedder=other)
    with running_server(store, log=tmp_path / "log") as server:
        applications = httpx2.get(f"{server.url}/health/ready").json()["applications"]
        assert applications["other"]["refused"][SURFACE]["code"] == "model_mismatch"
        assert SURFACE in applications[APPLICATION]["surfaces"]
        assert server.stop(signal.SIGINT) == 130
    told = server.log.read_text()
    assert f"built with the model {other.manifest.identity}, this service runs {embedder.manifest.identity}" in told


def test_an_endless_request_head_is_refused_and_the_server_lives_on(server: ServerProcess) -> None:
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nhost: x\r\n")
        try:
            for _ in range(64):
                connection.sendall(b"x-endless: " + b"a" * 16_384 + b"\r\n")
            answered = connection.recv(64)
        except ConnectionError:
            answered = b""
    assert not answered.startswith(b"HTTP/1.1 200")
    assert httpx2.get(f"{server.url}/health/live").status_code == 200
