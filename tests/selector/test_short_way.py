"""An ordinary body goes past the machinery of FastAPI and any other one through it, and no answer tells which."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter
from fastapi.dependencies import utils

from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.adapters.http_api import build_app
from selector.adapters.json_body import ShortWayRoute
from selector.service import Selector
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, library_over, put

RANK = f"/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"
ORDINARY, LONG_WAY = "application/json", "application/json; charset=utf-8"
BODIES = {
    "one query": b'{"query": "delete a file", "limit": 3}',
    "no fit": b'{"query": "?", "limit": 3}',
    "every field": b'{"version": 1.0, "query": "d\\u00e9lete", "limit": 5.0, "catalog_digest": null}',
    "several queries": b'{"queries": ["delete a file", "copy"], "limit": 3}',
    "empty": b"",
    "blanks": b" ",
    "no object": b"[1]",
    "null": b"null",
    "no JSON": b'{"query": ',
    "a mark": b'\xef\xbb\xbf{"query": "a", "limit": 3}',
    "twice": b'{"query": "a", "query": "b", "limit": 3}',
    "NaN": b'{"query": "a", "limit": NaN}',
    "UTF-16": '{"query": "a", "limit": 3}'.encode("utf-16"),
    "nothing in it": b"{}",
    "a field too many": b'{"query": "a", "limit": 3, "zebra": 1}',
    "wrong fields": b'{"version": 2, "query": "", "limit": true, "catalog_digest": "x"}',
    "half a pair": b'{"query": "\\ud800", "limit": 3}',
}


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    with ThreadPoolExecutor(1) as executor:
        selector = Selector(indexes=library, embedder=HashingEmbedder(), executor=executor)
        app = build_app(ranker=selector, served=lambda: library.served)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector") as client:
            yield client


async def asked(
    http: httpx2.AsyncClient, path: str, body: bytes, media_type: str, *, chunked: bool = False
) -> tuple[Any, bool]:
    """What is answered, but for the id that each request has of its own, and whether FastAPI took part in it."""
    taking_part = False

    def called(frame: FrameType, _: str, __: Any) -> None:
        nonlocal taking_part
        taking_part |= frame.f_code is utils.solve_dependencies.__code__

    async def chunks() -> AsyncIterator[bytes]:
        yield body

    request = http.build_request(
        "POST", path, content=chunks() if chunked else body, headers={"content-type": media_type}
    )
    sys.setprofile(called)
    try:
        answer = await http.send(request)
    finally:
        sys.setprofile(None)
    told = sorted((name, value) for name, value in answer.headers.items() if name != "x-request-id")
    return (answer.status_code, told, answer.content), taking_part


@pytest.mark.parametrize("path", [RANK, f"{RANK}-batch"], ids=["rank", "rank-batch"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_both_ways_answer_the_same(http: httpx2.AsyncClient, body: bytes, path: str) -> None:
    short, _ = await asked(http, path, body, ORDINARY)
    long, taking_part = await asked(http, path, body, LONG_WAY)
    assert short == long
    assert taking_part or short[0] == 422


@pytest.mark.parametrize(("path", "body"), [(RANK, "one query"), (f"{RANK}-batch", "several queries")])
async def test_an_ordinary_body_goes_the_short_way_and_any_other_one_does_not(
    http: httpx2.AsyncClient, path: str, body: str
) -> None:
    answer, taking_part = await asked(http, path, BODIES[body], ORDINARY)
    assert (answer[0], taking_part) == (200, False)
    for other, taking_part in (
        await asked(http, path, BODIES[body], LONG_WAY),
        await asked(http, path, BODIES[body], ORDINARY, chunked=True),
    ):
        assert (other, taking_part) == (answer, True)


def test_a_route_without_a_body_has_no_short_way() -> None:
    router = APIRouter(route_class=ShortWayRoute)
    with pytest.raises(TypeError, match="/nothing: needs a body"):
        router.get("/nothing")(lambda: None)
