"""The client against real sockets that misbehave: every failure is a RankerUnavailable with a code."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from threading import Barrier
from typing import Any

import httpx2
import pytest

from surface.adapters.breaker import Breaker
from surface.adapters.selector_answers import MAX_REPLY_BYTES
from surface.adapters.selector_client import CODES, SelectorClient
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
        pytest.param(_answers(b"", "429 Too Many"), "rate_limited", id="429"),
        pytest.param(_answers(b"", "401 No"), "unauthorised", id="401"),
        pytest.param(_answers(b"", "403 No"), "unauthorised", id="403"),
        pytest.param(_answers(b"", "504 Late"), "deadline", id="504"),
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


@pytest.mark.parametrize(
    ("status", "code"), [("404 Not Found", "unknown_surface"), ("429 Too Many Requests", "rate_limited")]
)
async def test_answers_about_one_surface_or_a_rate_do_not_open_the_breaker_for_all(status: str, code: str) -> None:
    async with (
        _serving(_problem(status, code)) as url,
        SelectorClient(url, breaker_failures=1) as client,
    ):
        for _ in range(3):
            with pytest.raises(RankerUnavailable, match=code):
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


class Script:
    """A service that answers each request by the next behaviour, the last one for ever; keeps the heads it read."""

    def __init__(self, *behaviours: Behaviour) -> None:
        self._behaviours = list(behaviours)
        self.heads: list[bytes] = []

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            behaviour = self._behaviours.pop(0) if len(self._behaviours) > 1 else self._behaviours[0]
            await behaviour(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def deadlines(self) -> list[int]:
        """The milliseconds that each request gave."""
        lines = [line for head in self.heads for line in head.lower().split(b"\r\n")]
        return [int(line.split(b":")[1]) for line in lines if line.startswith(b"x-request-deadline-ms:")]


@asynccontextmanager
async def _scripted(*behaviours: Behaviour) -> AsyncIterator[tuple[str, Script]]:
    script = Script(*behaviours)
    server = await asyncio.start_server(script.connected, "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}", script
    finally:
        server.close()


def _busy(seconds: str) -> Behaviour:
    return _answers(b"", "503 Busy", f"retry-after: {seconds}\r\n")


@pytest.mark.parametrize(
    "first",
    [_closes, _breaks_off, _speaks_no_http, _busy("0")],
    ids=["closes", "breaks off", "no HTTP", "busy, ask again at once"],
)
async def test_one_more_try_hides_a_replica_that_ended(first: Behaviour) -> None:
    async with _scripted(first, _replies()) as (url, script), SelectorClient(url, timeout=5.0) as client:
        assert (await client.rank(ask("delete a file"))).index_version == "v1"
        assert len(script.heads) == 2


@pytest.mark.parametrize(
    ("behaviour", "asked", "code"),
    [
        pytest.param(_closes, 2, "malformed_reply", id="never a third try"),
        pytest.param(_busy("0"), 2, "overloaded", id="busy twice"),
        pytest.param(_busy("5"), 1, "overloaded", id="a pause that does not fit"),
        pytest.param(_busy("9" * 400), 1, "overloaded", id="an endless pause"),
        pytest.param(_busy("Wed, 02 Dec 2026 12:00:00 GMT"), 1, "overloaded", id="a date"),
        pytest.param(_answers(b"", "503 Busy"), 1, "overloaded", id="no pause said"),
        pytest.param(_answers(b"", "429 Many", "retry-after: 0\r\n"), 1, "rate_limited", id="a rate"),
        pytest.param(_answers(b"", "500 Error", "retry-after: 0\r\n"), 1, "server_error", id="a failure"),
        pytest.param(_problem("401 No", "unauthorised"), 1, "unauthorised", id="a key"),
    ],
)
async def test_nothing_else_is_tried_again(behaviour: Behaviour, asked: int, code: str) -> None:
    async with _scripted(behaviour) as (url, script):
        assert await _code(url, patience=2.0) == code
        assert len(script.heads) == asked


async def test_each_try_carries_what_is_left_of_the_timeout() -> None:
    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)  # time has to pass for less to be left

    async with _scripted(late, _replies()) as (url, script), SelectorClient(url, timeout=5.0) as client:
        await client.rank(ask("delete a file"))
        first, second = script.deadlines()
        assert 0 < second <= first - 50 < 5_000


async def test_the_try_after_a_503_is_spread_by_chance() -> None:
    async with (
        _scripted(_busy("0"), _replies()) as (url, script),
        SelectorClient(url, timeout=5.0, chance=lambda: 1.0) as client,
    ):
        await client.rank(ask("delete a file"))
        first, second = script.deadlines()
        assert second <= first - 99


async def test_a_timeout_beyond_what_the_service_takes_is_said_as_the_longest() -> None:
    async with _scripted(_replies()) as (url, script), SelectorClient(url, timeout=86_400.0) as client:
        await client.rank(ask("delete a file"))
        assert script.deadlines() == [600_000]


async def test_the_second_try_has_no_time_of_its_own() -> None:
    async with _scripted(_closes, _hangs) as (url, script):
        assert await _code(url, patience=1.0) == "timeout"
        assert len(script.heads) == 2


async def test_the_key_goes_with_each_request_and_to_no_other_host() -> None:
    async with _scripted(_replies()) as (other, stolen):
        redirect = _answers(b"", "307 Elsewhere", f"location: {other}/v1\r\n")
        async with (
            _scripted(_replies(), redirect) as (url, script),
            SelectorClient(url, api_key="tsk1_secret", timeout=5.0) as client,
        ):
            await client.rank(ask("delete a file"))
            with pytest.raises(RankerUnavailable, match="rejected") as refused:
                await client.rank(ask("delete a file"))
            assert all(b"authorization: bearer tsk1_secret" in head.lower() for head in script.heads)
            assert "tsk1_secret" not in f"{refused.value!r} {client!r}"
        assert stolen.heads == []


async def test_without_a_key_none_is_sent() -> None:
    async with _scripted(_replies()) as (url, script), SelectorClient(url, timeout=5.0) as client:
        await client.rank(ask("delete a file"))
        assert b"authorization" not in script.heads[0].lower()


@pytest.mark.parametrize("key", ["", "two words", "é", "a\r\nx: y", "\x00"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigurationError, match="api_key") as refused:
        SelectorClient("http://127.0.0.1:9", api_key=key)
    assert not key or key not in str(refused.value)


async def test_threads_with_loops_of_their_own_share_a_client_and_its_connections_are_closed_with_it() -> None:
    both = Barrier(3)

    def in_a_thread(client: SelectorClient) -> list[str]:
        async def run() -> list[str]:
            found = [(await client.rank(ask("delete a file"))).index_version for _ in range(5)]
            both.wait(10)  # every loop is still there when another one closes the client
            await asyncio.to_thread(both.wait, 10)
            return found

        return asyncio.run(run())

    async with _keeping_alive() as (url, connections):
        client = SelectorClient(url, timeout=10.0)
        threads = [asyncio.create_task(asyncio.to_thread(in_a_thread, client)) for _ in range(2)]
        await client.rank(ask("delete a file"))
        await asyncio.to_thread(both.wait, 10)
        assert len(connections) == 3  # one for each loop, used again for each request
        await client.aclose()
        await asyncio.to_thread(both.wait, 10)
        assert await asyncio.gather(*threads) == [["v1"] * 5] * 2
        async with asyncio.timeout(10):
            await asyncio.gather(*(ended.wait() for ended in connections))
        with pytest.raises(RankerUnavailable, match="unreachable"):
            await client.rank(ask("delete a file"))


@asynccontextmanager
async def _keeping_alive() -> AsyncIterator[tuple[str, list[asyncio.Event]]]:
    """A service that answers any number of requests on a connection; an event for each connection's end."""
    connections: list[asyncio.Event] = []
    body = json.dumps(GOOD).encode()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(ended := asyncio.Event())
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        except (ConnectionError, asyncio.IncompleteReadError):
            ended.set()
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}", connections
    finally:
        server.close()
