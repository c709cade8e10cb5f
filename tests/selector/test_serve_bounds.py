"""A real server process under requests that are hostile: too slow, too large, too deep, or no HTTP at all."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2
import pytest

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from selector.access import KEY_BYTES, hashed, key_of
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, put
from tests.selector.server_process import DEADLINE, ServerProcess, running_server, until

PATH = f"/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"
BODY = {"query": "delete a file", "limit": 5}
PATIENCE = 1.0
CONFIG = Path(__file__).with_name("schemathesis.toml")
KEY = key_of(b"k" * KEY_BYTES)
HEADERS = {"authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    put(DirectoryStore(folder / "store"), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    keys = folder / "keys.toml"
    keys.write_text(
        f'[[key]]\nid = "web"\nhashes = ["{hashed(KEY)}"]\nsurfaces = {{ {APPLICATION} = ["{SURFACE}"] }}\n'
    )
    arguments = ("--patience", str(PATIENCE), "--keys", str(keys))
    with running_server(folder / "store", *arguments, log=folder / "log") as server:
        yield server
        # Nothing that was sent here may have ended it, nor have left a traceback.
        assert httpx2.post(server.url + PATH, json=BODY, headers=HEADERS, timeout=DEADLINE).status_code == 200
        assert server.stop() == 0
        assert "Traceback" not in server.log.read_text()


def _connected(server: ServerProcess) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=DEADLINE)


def _rest(connection: socket.socket) -> bytes:
    """Everything until the server ends the connection."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except ConnectionError:
        pass
    return received


def _trickled(connection: socket.socket, content: bytes) -> bool:
    """Sends a byte now and then; whether the server let all of them come."""
    connection.settimeout(PATIENCE / 20)
    for byte in content:
        try:
            connection.sendall(bytes([byte]))
            if not connection.recv(65_536):
                return False
        except TimeoutError:
            continue
        except ConnectionError:
            return False
    return True


def _status(answer: bytes) -> tuple[int, str]:
    """The status of the last answer on a connection, and the code of its problem document."""
    head, _, body = answer[answer.rindex(b"HTTP/1.1 ") :].partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    problem = json.loads(body)
    assert problem["status"] == int(head.split()[1])
    return problem["status"], problem["code"]


def _head(*lines: str, length: int = 1_000) -> bytes:
    fixed = [f"POST {PATH} HTTP/1.1", "host: x", "content-type: application/json", f"content-length: {length}"]
    fixed += [f"authorization: Bearer {KEY}"]
    return "\r\n".join((*fixed, *lines)).encode() + b"\r\n\r\n"


def test_a_body_that_does_not_come_is_a_408_and_holds_up_nobody(server: ServerProcess) -> None:
    with ExitStack() as slow:
        held = [slow.enter_context(closing(_connected(server))) for _ in range(200)]
        for connection in held:
            connection.sendall(_head() + b'{"query": ')
        began = time.monotonic()
        response = httpx2.post(server.url + PATH, json=BODY, headers=HEADERS, timeout=DEADLINE)
        assert response.status_code == 200
        assert time.monotonic() - began < DEADLINE / 2
        assert {_status(_rest(connection)) for connection in held} == {(408, "request_timeout")}


@pytest.mark.parametrize("sent", [b"", b"POST ", _head()[:-2]], ids=["nothing", "a word", "no end"])
def test_a_head_that_does_not_come_is_a_408(server: ServerProcess, sent: bytes) -> None:
    with _connected(server) as connection:
        connection.sendall(sent)
        assert _status(_rest(connection)) == (408, "request_timeout")


def test_bytes_that_trickle_do_not_win_time(server: ServerProcess) -> None:
    began = time.monotonic()
    with _connected(server) as connection:
        assert not _trickled(connection, _head("x: " + "x" * 10_000))
    assert PATIENCE / 2 < time.monotonic() - began < 10 * PATIENCE


def test_a_body_that_trickles_after_the_answer_ends_with_its_connection(server: ServerProcess) -> None:
    with _connected(server) as connection:
        # Answered at once, for its declared length; the bytes that follow are read by nobody.
        connection.sendall(_head(length=10_000_000))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
        began = time.monotonic()
        assert not _trickled(connection, b" " * 10_000)
        assert time.monotonic() - began < 5 * PATIENCE


async def test_whoever_asks_and_does_not_read_is_let_go(server: ServerProcess) -> None:
    with _connected(server) as connection:
        port = f":{connection.getsockname()[1]:04X}"

        def established() -> bool:
            """Whether the server still holds its end, as the system says it."""
            ends = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
            return any(end[2].endswith(port) and end[3] == "01" for end in ends)

        # Forty megabytes of answers: more than the system holds for anybody.
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 2_000)
        assert established()
        await until(lambda: not established())
    assert httpx2.get(f"{server.url}/health/live").status_code == 200


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"\x00\xff\xfe\r\n\r\n", (400, "invalid_request")),
        (b"GET / HTTP/1.1\r\n\r\n", (400, "invalid_request")),
        (b"GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n", (400, "invalid_request")),
        (b"GET / HTTP/1.1\r\nhost: x\r\nx: a\x00b\r\n\r\n", (400, "invalid_request")),
        (_head("content-length: 2"), (400, "invalid_request")),
        (_head("transfer-encoding: chunked") + b"0\r\n\r\n", (400, "invalid_request")),
        (b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", (400, "invalid_request")),
        (b"GET /health/live HTTP/1.2\r\nhost: x\r\n\r\n", (505, "unknown_version")),
        (b"GET /health/live HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 66_000 + b"\r\n\r\n", (431, "head_too_large")),
        (_head("transfer-encoding: gzip").replace(b"content-length: 1000\r\n", b""), (501, "unknown_encoding")),
        (b"GET /health/live HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 70_000, (431, "head_too_large")),
        (b"GET /health/live HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 20_000, (431, "head_too_large")),
        (b"GET /" + b"a" * 70_000, (431, "head_too_large")),
        (
            _head("transfer-encoding: chunked").replace(b"content-length: 1000\r\n", b"") + b"zz\r\n",
            (400, "invalid_request"),
        ),
    ],
    ids=[
        *("bytes", "no host", "header", "NUL", "two lengths", "length and chunks", "chunks in 1.0", "version"),
        *("large and whole", "encoding", "large", "many", "path", "chunk"),
    ],
)
def test_what_is_no_http_is_answered_with_a_problem_document(
    server: ServerProcess, sent: bytes, told: tuple[int, str]
) -> None:
    with _connected(server) as connection:
        connection.sendall(sent)
        answer = _rest(connection)
    assert _status(answer) == told
    identity = re.search(rb"\r\nx-request-id: ([0-9a-f]{32})\r\n", answer)
    assert identity is not None
    assert f"{told[0]} {told[1]} request={identity[1].decode()}" in server.log.read_text()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 100_000, 422),
        (b'{"a":' * 20_000, 422),
        (b'{"query": "x", "limit": ' + b"9" * 100_000 + b"}", 422),
        (b'{"query": "x", "limit": 1e999}', 422),
        (b'{"query": "x", "limit": NaN}', 422),
        (b'{"query": "x", "limit": -0}', 422),
        (b'{"query": "x", "limit": true}', 422),
        (b'{"query": "x", "limit": "5"}', 422),
        (b'{"query": "x", "limit": 5.5}', 422),
        (b'{"query": "x", "limit": 5, "version": true}', 422),
        (b'{"query": "x", "limit": 5.0, "version": 1.0}', 200),
        (b'{"query": "\xff\xfe", "limit": 5}', 422),
        (b'{"query": "\\ud800", "limit": 5}', 422),
        (b"\x00" * 1_000, 422),
        (b"\xef\xbb\xbf{}", 422),
        (b'{"query": "\\u0000 file", "limit": 5}', 200),
        (b'{"query": "' + b"\xf0\x9f\x98\x80" * 16_384 + b'", "limit": 100}', 200),
        (b'{"query": "a", "query": "file", "limit": 5}', 422),
    ],
    ids=lambda value: ascii(value[:40]) if isinstance(value, bytes) else None,
)
def test_a_hostile_body_is_answered_or_refused_by_a_problem_document(
    server: ServerProcess, body: bytes, status: int
) -> None:
    headers = {**HEADERS, "content-type": "application/json"}
    response = httpx2.post(server.url + PATH, content=body, headers=headers, timeout=DEADLINE)
    assert response.status_code == status, response.text
    if status != 200:
        assert response.headers["content-type"] == "application/problem+json"


async def test_whoever_hangs_up_leaves_the_service_free(server: ServerProcess) -> None:
    # Batches of long queries; there is one thread that ranks.
    many = json.dumps(
        {"queries": [f"{at} " + "delete a file and send an invoice, " * 100 for at in range(32)], "limit": 5}
    )
    with ExitStack() as held:
        for _ in range(2):
            asker = held.enter_context(closing(_connected(server)))
            asker.sendall(_head(length=len(many)).replace(b"/rank ", b"/rank-batch ") + many.encode())
    await until(lambda: len(re.findall(r"/rank-batch .* 499 ", server.log.read_text())) == 2)
    assert httpx2.post(server.url + PATH, json=BODY, headers=HEADERS, timeout=DEADLINE).status_code == 200


async def test_a_deadline_that_is_over_leaves_the_service_free(server: ServerProcess) -> None:
    few = httpx2.Limits(max_connections=8)  # so that a busy client has each request out within the patience
    async with httpx2.AsyncClient(base_url=server.url, headers=HEADERS, timeout=DEADLINE, limits=few) as http:
        answers = await asyncio.gather(
            *(
                http.post(PATH, json={"query": f"delete file {at}", "limit": 5}, headers={"X-Request-Deadline-Ms": "1"})
                for at in range(40)
            )
        )
        assert 504 in {answer.status_code for answer in answers}
        assert {answer.status_code for answer in answers} <= {200, 504}
        assert (await http.post(PATH, json=BODY)).status_code == 200


def test_a_websocket_is_not_spoken(server: ServerProcess) -> None:
    with _connected(server) as connection:
        connection.sendall(
            b"GET /v1/applications HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert b" 101 " not in _rest(connection)


def test_the_service_keeps_what_its_openapi_document_says(server: ServerProcess) -> None:
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG), "--no-color", "run"]
    asked = [f"{server.url}/openapi.json", "--header", f"Authorization: Bearer {KEY}", "--max-examples", "8"]
    done = subprocess.run(
        [*command, *asked], check=False, capture_output=True, text=True, timeout=120, cwd=server.log.parent
    )
    assert done.returncode == 0, done.stdout[-10_000:]
    assert re.search(r"Operations: +(\d+) selected / \1 total", done.stdout)
