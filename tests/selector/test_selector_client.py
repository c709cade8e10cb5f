"""The client against real sockets that misbehave: every failure is a RankerUnavailable with a code."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from surface.adapters.selector_client import CODES, MAX_REPLY_BYTES, Breaker, SelectorClient
from surface.errors import ConfigurationError, RankerUnavailable
from surface.protocol import RankReply
from tests.selector.builders import SURFACE, ask

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

GOOD: dict[str, Any] = {
    "version": 1,
    "surface": SURFACE,
    "index_version": "v1",
    "catalog_digest": "0" * 32,
    "ranked": [{"name": "a_tool", "score": 1.0}],
    "abstained": False,
    "degraded": None,
}


@asynccontextmanager
async def _serving(behaviour: Behaviour) -> AsyncIterator[str]:
    """A TCP server that reads one request's head per connection and then misbehaves as told."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await behaviour(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.close()


def _answers(body: bytes, status: str = "200 OK", head: str = "") -> Behaviour:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{head}\r\n".encode() + body)
        await writer.drain()

    return answer


def _replies(**changed: Any) -> Behaviour:
    return _answers(json.dumps({**GOOD, **changed}).encode())


def _problem(status: str, code: str) -> Behaviour:
    return _answers(json.dumps({"code": code}).encode(), status, "content-type: application/problem+json\r\n")


async def _hangs(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(-1)  # until the client gives up


async def _hangs_in_the_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"version"')
    await reader.read(-1)


async def _closes(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """Says nothing at all."""


async def _breaks_off(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"version"')
    await writer.drain()


async def _speaks_no_http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\xff SSH-2.0 hello\r\n\r\n")
    await writer.drain()


async def _never_stops(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        await writer.drain()


async def _code(url: str, *, patience: float = 5.0, surface: str = SURFACE, query: str = "delete a file") -> str:
    async with SelectorClient(url, timeout=patience) as client:
        with pytest.raises(RankerUnavailable) as raised:
            await client.rank(ask(query, surface=surface))
    error = raised.value
    assert error.code in CODES
    # Nothing that could be logged with the error holds the query.
    assert query not in str(error)
    assert error.__cause__ is None
    return error.code


@pytest.mark.rule("SRC-8", "EVD-2")
@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        pytest.param(_closes, "malformed_reply", id="closes"),
        pytest.param(_breaks_off, "malformed_reply", id="breaks off"),
        pytest.param(_speaks_no_http, "malformed_reply", id="no HTTP"),
        pytest.param(_never_stops, "malformed_reply", id="never stops"),
        pytest.param(_answers(b""), "malformed_reply", id="empty"),
        pytest.param(_answers(b"\xff\xfe"), "malformed_reply", id="garbage"),
        pytest.param(_answers(b"[" * 100_000), "malformed_reply", id="deeply nested"),
        pytest.param(_answers(b" " * (MAX_REPLY_BYTES + 1)), "malformed_reply", id="huge"),
        pytest.param(_answers(b"x", head="content-encoding: gzip\r\n"), "malformed_reply", id="bad gzip"),
        pytest.param(_replies(version=2), "malformed_reply", id="another version"),
        pytest.param(_replies(surface="writer"), "malformed_reply", id="another surface"),
        pytest.param(_replies(extra=1), "malformed_reply", id="a field nobody knows"),
        pytest.param(
            _replies(ranked=[{"name": f"t{at}", "score": 1.0} for at in range(6)]), "malformed_reply", id="too many"
        ),
        pytest.param(_replies(ranked=[{"name": "a", "score": float("nan")}]), "malformed_reply", id="NaN"),
        pytest.param(_problem("404 Not Found", "unknown_surface"), "unknown_surface", id="unknown surface"),
        pytest.param(_answers(b"<html>", "404 Not Found"), "rejected", id="a proxy's 404"),
        pytest.param(_problem("503 Unavailable", "index_unusable"), "index_unusable", id="index unusable"),
        pytest.param(_answers(b"", "503 Unavailable"), "overloaded", id="503"),
        pytest.param(_answers(b"", "429 Too Many"), "overloaded", id="429"),
        pytest.param(_problem("422 Unprocessable", "invalid_request"), "rejected", id="422"),
        pytest.param(_answers(b"", "302 Found", "location: http://127.0.0.1:1/\r\n"), "rejected", id="redirect"),
        pytest.param(_answers(b"", "500 Error"), "server_error", id="500"),
        pytest.param(_problem("500 Error", "unknown_surface"), "server_error", id="a code on the wrong status"),
    ],
)
async def test_a_misbehaving_service_is_unavailable_with_a_code(behaviour: Behaviour, code: str) -> None:
    async with _serving(behaviour) as url:
        assert await _code(url) == code


@pytest.mark.rule("SRC-8")
@pytest.mark.parametrize("behaviour", [_hangs, _hangs_in_the_body])
async def test_an_answer_that_does_not_come_is_a_timeout(behaviour: Behaviour) -> None:
    async with _serving(behaviour) as url:
        assert await _code(url, patience=0.1) == "timeout"


async def test_nobody_listening_is_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert await _code(f"http://127.0.0.1:{unused.getsockname()[1]}") == "unreachable"


async def test_a_closed_client_is_unreachable() -> None:
    client = SelectorClient("http://127.0.0.1:9")
    await client.aclose()
    await client.aclose()
    with pytest.raises(RankerUnavailable, match="unreachable"):
        await client.rank(ask("delete a file"))


@pytest.mark.parametrize("request_", [ask(""), ask("x" * 100_000), ask("file", limit=0), ask("f", catalog_digest="?")])
async def test_a_request_the_protocol_does_not_take_is_rejected_unsent(request_: Any) -> None:
    async with SelectorClient("http://127.0.0.1:9") as client:
        with pytest.raises(RankerUnavailable, match="rejected"):
            await client.rank(request_)


async def test_a_good_answer_is_returned_as_it_is_and_asked_for_at_the_right_place() -> None:
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"}"))
        await _replies()(reader, writer)

    async with _serving(answer) as url, SelectorClient(f"{url}/base/") as client:
        reply = await client.rank(ask("löschen \ud800", catalog_digest="1" * 32))
    assert reply == RankReply.model_validate(GOOD)
    assert json.loads(seen[0]) == {"version": 1, "query": "löschen ?", "limit": 5, "catalog_digest": "1" * 32}


async def test_a_cookie_of_the_service_is_not_carried_to_the_next_request() -> None:
    heads: list[bytes] = []
    body = json.dumps(GOOD).encode()
    head = f"HTTP/1.1 200 OK\r\nset-cookie: big={'x' * 999}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        async with SelectorClient(f"http://{host}:{port}") as client:
            for _ in range(2):
                await client.rank(ask("anything"))
    assert len(heads) == 2
    assert all(b"cookie" not in each.lower() for each in heads)


async def test_keys_of_dots_alone_do_not_walk_up_the_path() -> None:
    lines: list[bytes] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(await reader.readline())
        await _problem("404 Not Found", "unknown_surface")(reader, writer)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        assert await _code(f"http://{host}:{port}", surface="..") == "unknown_surface"
    assert lines == [b"POST /v1/applications/shop/surfaces/%2E%2E/rank HTTP/1.1\r\n"]


async def test_a_client_that_was_given_stays_open() -> None:
    async with httpx2.AsyncClient() as given:
        async with SelectorClient("http://127.0.0.1:9", client=given):
            pass
        assert not given.is_closed


async def test_repeated_failures_open_the_breaker_and_one_call_tries_after_the_cool_down() -> None:
    calls = 0
    broken = True

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        await (_answers(b"", "500 Error") if broken else _replies())(reader, writer)

    now = 100.0
    async with (
        _serving(answer) as url,
        SelectorClient(url, breaker_failures=2, breaker_cool_down=5.0, clock=lambda: now) as client,
    ):

        async def outcome() -> str:
            try:
                await client.rank(ask("delete a file"))
            except RankerUnavailable as unavailable:
                return unavailable.code
            return "answered"

        assert [await outcome() for _ in range(4)] == ["server_error", "server_error", "breaker_open", "breaker_open"]
        assert calls == 2
        now += 5.0
        assert [await outcome() for _ in range(2)] == ["server_error", "breaker_open"]
        assert calls == 3
        now += 5.0
        broken = False
        assert [await outcome() for _ in range(3)] == ["answered"] * 3


async def test_answers_about_one_surface_do_not_open_the_breaker_for_the_others() -> None:
    async with (
        _serving(_problem("404 Not Found", "unknown_surface")) as url,
        SelectorClient(url, breaker_failures=1) as client,
    ):
        for _ in range(3):
            with pytest.raises(RankerUnavailable, match="unknown_surface"):
                await client.rank(ask("delete a file"))


def test_a_trial_that_never_reports_back_blocks_nothing_for_longer_than_a_cool_down() -> None:
    now = 0.0
    breaker = Breaker(failures=1, cool_down=5.0, clock=lambda: now)
    breaker.failed()
    assert not breaker.admits()
    now = 5.0
    assert breaker.admits()  # the trial; it is cancelled, so neither succeeded nor failed
    assert not breaker.admits()
    now = 10.0
    assert breaker.admits()


async def test_cancelling_a_call_cancels_it() -> None:
    async with _serving(_hangs) as url, SelectorClient(url) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.rank(ask("delete a file"))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"base_url": "selector:8080"}, "base_url"),
        ({"base_url": "ftp://selector"}, "base_url"),
        ({"base_url": "http://"}, "base_url"),
        ({"base_url": "http://h/?q=1"}, "base_url"),
        ({"base_url": "http://h", "timeout": 0}, "timeout"),
        ({"base_url": "http://h", "breaker_failures": 0}, "breaker_failures"),
        ({"base_url": "http://h", "breaker_cool_down": 0}, "breaker_cool_down"),
    ],
)
def test_a_wrong_argument_is_named_where_the_client_is_made(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigurationError, match=field):
        SelectorClient(**arguments)
