"""The deadline that a request carries, and the time its body may take, without a socket."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest
from starlette.types import Message

from selector.adapters.clock import ASKER_GONE, DEADLINE_HEADER
from selector.adapters.http_api import build_app
from surface.protocol import MAX_DEADLINE_MS, RankReply
from surface.ranking import RankRequest

PATH = "/v1/applications/shop/surfaces/reader/rank"
BODY = {"query": "delete a file", "limit": 5}


class Endless:
    """A ranker that answers nobody, and knows whether its work was cancelled."""

    id = "endless"

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def rank(self, request: RankRequest) -> RankReply:
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        raise AssertionError

    async def rank_many(self, requests: Sequence[RankRequest]) -> tuple[RankReply, ...]:
        return (await self.rank(requests[0]),)


@pytest.fixture
async def endless() -> Endless:
    return Endless()


@pytest.fixture
async def http(endless: Endless) -> AsyncIterator[httpx2.AsyncClient]:
    app = build_app(ranker=endless, served=dict, patience=0.05)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector") as client:
        yield client


async def test_when_the_deadline_is_over_the_work_is_cancelled_and_the_answer_is_a_504(
    http: httpx2.AsyncClient, endless: Endless
) -> None:
    response = await http.post(PATH, json=BODY, headers={DEADLINE_HEADER: "20"})
    assert (response.status_code, response.json()["code"]) == (504, "deadline_exceeded")
    assert response.headers["content-type"] == "application/problem+json"
    assert endless.cancelled.is_set()


@pytest.mark.parametrize(
    "value", ["", "0", "-1", "1.5", "1e3", "soon", "+5", " 5 5", "٣", str(MAX_DEADLINE_MS + 1), "9" * 5_000]
)
async def test_a_deadline_that_is_none_is_a_400_that_names_the_header(
    http: httpx2.AsyncClient, endless: Endless, value: str
) -> None:
    response = await http.post(PATH, json=BODY, headers=[(DEADLINE_HEADER.encode(), value.encode())])
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == DEADLINE_HEADER
    assert not endless.began.is_set()


async def test_whoever_closes_the_connection_cancels_its_work_and_the_log_says_499(
    endless: Endless, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "toolsurface.selector.access")
    app, gone = build_app(ranker=endless, served=dict), asyncio.Event()
    sent: list[Message] = []
    messages: list[Message] = [{"type": "http.request", "body": json.dumps(BODY).encode(), "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": PATH, "headers": [(b"content-type", b"application/json")]}
    asking = asyncio.ensure_future(app({**scope, "query_string": b"", "root_path": ""}, receive, send))
    await endless.began.wait()
    gone.set()
    await asking
    assert endless.cancelled.is_set()
    assert sent[0]["status"] == ASKER_GONE
    assert " 499 " in caplog.text


async def test_two_deadlines_are_a_400_too(http: httpx2.AsyncClient) -> None:
    response = await http.post(PATH, json=BODY, headers=[(DEADLINE_HEADER, "10"), (DEADLINE_HEADER, "20")])
    assert response.status_code == 400


async def test_the_deadline_counts_while_the_body_arrives(http: httpx2.AsyncClient) -> None:
    response = await http.post(PATH, content=_never_whole(), headers={DEADLINE_HEADER: "10"})
    assert response.status_code == 504


async def test_a_body_that_is_not_there_in_time_is_a_408(http: httpx2.AsyncClient, endless: Endless) -> None:
    response = await http.post(PATH, content=_never_whole(), headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (408, "request_timeout")
    assert response.headers["connection"] == "close"
    assert not endless.began.is_set()


async def _never_whole() -> AsyncIterator[bytes]:
    yield b'{"query": '
    await asyncio.Event().wait()
