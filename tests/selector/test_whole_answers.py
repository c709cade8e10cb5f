"""How the protocol writes its answers: on real sockets, with a note of each piece that is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from selector.adapters.http_protocol import BoundedProtocol, bounded

GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


class Noting:
    def __init__(self, transport: asyncio.Transport, pieces: list[bytes]) -> None:
        self._transport = transport
        self._pieces = pieces

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if data:
            self._pieces.append(data)
        self._transport.write(data)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pieces: list[bytes]) -> None:
        self._reader, self._writer, self.pieces = reader, writer, pieces

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def until(self, end: bytes) -> bytes:
        return await asyncio.wait_for(self._reader.readuntil(end), 20)

    async def rest(self) -> bytes:
        return await asyncio.wait_for(self._reader.read(-1), 20)


@asynccontextmanager
async def asking(app: ASGIApp) -> AsyncIterator[Client]:
    """A connection to a server of this application."""
    config = uvicorn.Config(app, http=bounded(patience=20, most=8), log_config=None, lifespan="off")
    config.load()
    state, pieces = ServerState(), list[bytes]()

    class Noted(cast("type[BoundedProtocol]", config.http_protocol_class)):  # type: ignore[misc]  # made by `bounded`
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(cast("asyncio.Transport", Noting(transport, pieces)))

    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Noted(config=config, server_state=state, app_state={}, _loop=loop), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield Client(reader, writer, pieces)
    finally:
        writer.close()
        server.close()


def answering(*bodies: bytes, status: int = 200, length: bool = True) -> ASGIApp:
    async def app(_: Scope, __: Receive, send: Send) -> None:
        headers = [(b"content-length", str(sum(map(len, bodies))).encode())] if length else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for at, body in enumerate(bodies, 1):
            await send({"type": "http.response.body", "body": body, "more_body": at < len(bodies)})

    return app


async def test_an_answer_goes_out_in_one_piece_and_so_does_the_next_on_its_connection() -> None:
    async with asking(answering(b"hello")) as client:
        for times in (1, 2):
            client.send(GET)
            answer = await client.until(b"hello")
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert len(client.pieces) == times
        assert client.pieces[0].endswith(b"hello")


async def test_of_a_body_in_several_pieces_the_first_goes_out_with_the_head_and_each_other_at_once() -> None:
    async with asking(answering(b"one", b"two", b"three")) as client:
        client.send(GET)
        await client.until(b"three")
        assert [piece[-5:] for piece in client.pieces] == [b"\r\none", b"two", b"three"]


@pytest.mark.parametrize(
    ("app", "asked"),
    [
        pytest.param(answering(b"", status=204, length=False), GET, id="no body"),
        pytest.param(answering(b""), GET, id="empty"),
        pytest.param(answering(b"hello"), GET.replace(b"GET", b"HEAD"), id="HEAD"),
    ],
)
async def test_an_answer_without_a_body_is_not_held_back(app: ASGIApp, asked: bytes) -> None:
    async with asking(app) as client:
        client.send(asked)
        assert (await client.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 20")
        assert len(client.pieces) == 1


async def test_what_was_begun_of_an_answer_that_breaks_off_is_sent_before_the_connection_ends() -> None:
    async def app(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        raise RuntimeError("broken off")

    async with asking(app) as client:
        client.send(GET)
        answer = await client.rest()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b"\r\n\r\n")


async def test_whoever_waits_for_100_continue_is_told_at_once() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await answering(b"hello")(scope, receive, send)

    async with asking(app) as client:
        client.send(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n")
        assert (await client.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        client.send(b"{}")
        await client.until(b"hello")
        assert len(client.pieces) == 2


async def test_a_refusal_of_what_is_no_http_goes_out_in_one_piece_too() -> None:
    async with asking(answering(b"hello")) as client:
        client.send(b"no http\r\n\r\n")
        assert (await client.rest()).endswith(b"}")
        assert len(client.pieces) == 1
