"""The HTTP form of the Selector: status, problem documents, and what is never repeated."""

from __future__ import annotations

import json
import logging
from asyncio import Event, Queue
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from starlette.types import Message

from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.adapters.http_api import MAX_BODY_BYTES, build_app
from selector.library import Library
from selector.ports import BatchRanker
from selector.served import Served
from selector.service import Selector
from surface.errors import RankerUnavailable
from surface.protocol import MAX_BATCH, RankBatchReply, RankReply
from surface.ranking import RankRequest
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, ask, library_over, put

PATH = f"/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"
BATCH = f"{PATH}-batch"
MARKER = "s3cret-marker"


class _Raises:
    """A ranker that fails the way it is told."""

    id = "raises"

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def rank(self, request: RankRequest) -> RankReply:
        raise self._error

    async def rank_many(self, requests: Sequence[RankRequest]) -> tuple[RankReply, ...]:
        raise self._error


@pytest.fixture
def library() -> Library:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    return library


@pytest.fixture
def selector(library: Library) -> Iterator[Selector]:
    with ThreadPoolExecutor(1) as executor:
        yield Selector(indexes=library, embedder=HashingEmbedder(), executor=executor)


@pytest.fixture
async def http(selector: Selector, library: Library) -> AsyncIterator[httpx2.AsyncClient]:
    async with _client(selector, library) as client:
        yield client


def _client(ranker: BatchRanker, library: Library) -> httpx2.AsyncClient:
    app = build_app(ranker=ranker, served=lambda: library.served, start=lambda: library.start)
    transport = httpx2.ASGITransport(app=app)
    return httpx2.AsyncClient(transport=transport, base_url="http://selector")


def _problem(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["detail"]
    assert problem["title"]
    return problem


async def test_a_ranking_over_http_is_the_ranking_in_process(http: httpx2.AsyncClient, selector: Selector) -> None:
    response = await http.post(PATH, json={"query": "delete a file", "limit": 5})
    assert response.status_code == 200
    assert RankReply.model_validate_json(response.content) == await selector.rank(ask("delete a file"))


async def test_a_batch_is_the_ranking_of_each_query_in_order(http: httpx2.AsyncClient, selector: Selector) -> None:
    queries = ["delete a file", "send an invoice", "?", "delete a file"]
    response = await http.post(BATCH, json={"queries": queries, "limit": 5})
    assert response.status_code == 200
    replies = RankBatchReply.model_validate_json(response.content).replies
    assert list(replies) == [await selector.rank(ask(query)) for query in queries]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"queries": [], "limit": 5}, "queries"),
        ({"queries": ["x"] * (MAX_BATCH + 1), "limit": 5}, "queries"),
        ({"queries": ["x", ""], "limit": 5}, "queries.1"),
        ({"queries": ["x", {MARKER: MARKER}], "limit": 5}, "queries.1"),
        ({"queries": MARKER, "limit": 5}, "queries"),
        ({"queries": ["x"], "limit": True}, "limit"),
        ({"queries": ["x"], "limit": 5, "query": MARKER}, "body"),
    ],
)
async def test_a_batch_with_one_wrong_query_is_refused_whole_and_names_it(
    http: httpx2.AsyncClient, body: Any, field: str
) -> None:
    response = await http.post(BATCH, json=body)
    assert _problem(response, 422, "invalid_request")["errors"][0]["field"] == field
    assert MARKER not in response.text


async def test_an_unknown_surface_is_a_404_that_programs_can_tell_from_an_unknown_path(
    http: httpx2.AsyncClient,
) -> None:
    body = {"query": "delete a file", "limit": 5}
    for path in (PATH.replace(SURFACE, "nobody"), PATH.replace(APPLICATION, "nobody"), PATH.replace(SURFACE, "%0a%00")):
        _problem(await http.post(path, json=body), 404, "unknown_surface")
    for path in ("/nowhere", "/v1/applications/", f"{PATH}/", "/health/live/", f"/{MARKER}/", "//evil.example/%2e%2e"):
        response = await http.get(path)
        _problem(response, 404, "unknown_path")
        assert MARKER not in response.text
    response = await http.get(PATH)
    _problem(response, 405, "wrong_method")
    assert response.headers["allow"] == "POST"


@pytest.mark.rule("EVD-2")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"limit": 5}, "query"),
        ({"query": "", "limit": 5}, "query"),
        ({"query": MARKER}, "limit"),
        ({"query": MARKER, "limit": 0}, "limit"),
        ({"query": MARKER, "limit": MARKER}, "limit"),
        ({"query": MARKER, "limit": 5, "version": 2}, "version"),
        ({"query": MARKER, "limit": 5, "catalog_digest": MARKER}, "catalog_digest"),
        ({"query": MARKER, "limit": 5, MARKER: 1}, "body"),
        ({"query": {MARKER: MARKER}, "limit": 5}, "query"),
        ({"query": MARKER * 2_000, "limit": 5}, "query"),
        ([MARKER], "body"),
        (MARKER, "body"),
        (None, "body"),
    ],
)
async def test_a_wrong_body_is_a_422_that_names_the_field_and_repeats_nothing(
    http: httpx2.AsyncClient, body: Any, field: str
) -> None:
    response = await http.post(PATH, json=body)
    problem = _problem(response, 422, "invalid_request")
    assert problem["errors"][0]["field"] == field
    assert problem["errors"][0]["problem"]
    assert MARKER not in response.text


@pytest.mark.parametrize("body", [b"", b"{", b'{"query": "s3cret-marker"', b"\xff\xfe", b'"\\ud800"'])
async def test_a_body_that_is_no_json_is_a_422_that_repeats_nothing(http: httpx2.AsyncClient, body: bytes) -> None:
    response = await http.post(PATH, content=body, headers={"content-type": "application/json"})
    _problem(response, 422, "invalid_request")
    assert MARKER not in response.text


async def test_json_that_nests_too_deep_is_refused(http: httpx2.AsyncClient) -> None:
    response = await http.post(PATH, content=b"[" * 5_000, headers={"content-type": "application/json"})
    _problem(response, 422, "invalid_request")


async def test_a_lone_surrogate_is_a_422(http: httpx2.AsyncClient) -> None:
    body = b'{"query": "\\ud800 s3cret-marker", "limit": 5}'
    response = await http.post(PATH, content=body, headers={"content-type": "application/json"})
    assert _problem(response, 422, "invalid_request")["errors"][0]["field"] == "query"
    assert MARKER not in response.text


async def _endless() -> AsyncIterator[bytes]:
    for _ in range(MAX_BODY_BYTES // 1_000 + 2):
        yield b" " * 1_000


async def test_a_body_that_is_too_large_is_a_413_whether_its_length_is_said_or_not(http: httpx2.AsyncClient) -> None:
    _problem(await http.post(PATH, content=b" " * (MAX_BODY_BYTES + 1)), 413, "body_too_large")
    _problem(await http.post(PATH, content=_endless()), 413, "body_too_large")


async def test_the_longest_query_fits_in_whatever_escapes(http: httpx2.AsyncClient) -> None:
    body = json.dumps({"query": "é" * 16_384, "limit": 5}).encode()
    response = await http.post(PATH, content=body, headers={"content-type": "application/json"})
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("overloaded", "overloaded"),
        ("index_unusable", "index_unusable"),
        ("something_else", "ranker_unavailable"),
        ("leaving", "ranker_unavailable"),
    ],
)
async def test_a_ranker_that_cannot_answer_is_a_503_with_a_code_that_is_documented(
    library: Library, code: str, told: str
) -> None:
    async with _client(_Raises(RankerUnavailable(code)), library) as http:
        response = await http.post(PATH, json={"query": MARKER, "limit": 5})
    _problem(response, 503, told)
    assert response.headers["retry-after"]


@pytest.mark.rule("EVD-2")
async def test_an_error_nobody_foresaw_says_nothing_and_logs_its_place_only(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with _client(_Raises(ValueError(MARKER)), library) as http:
        response = await http.post(PATH, json={"query": MARKER, "limit": 5})
    _problem(response, 500, "ranker_failed")
    assert MARKER not in response.text
    assert MARKER not in caplog.text
    assert "ValueError at" in caplog.text


async def test_a_failure_of_the_service_itself_is_a_500_without_its_message(
    library: Library, selector: Selector, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Served:
        raise ValueError(MARKER)

    transport = httpx2.ASGITransport(app=build_app(ranker=selector, served=broken))
    async with httpx2.AsyncClient(transport=transport, base_url="http://selector") as http:
        response = await http.get("/health/ready")
    _problem(response, 500, "internal")
    assert MARKER not in response.text
    assert MARKER not in caplog.text
    assert "ValueError at" in caplog.text


@pytest.mark.rule("EVD-2")
async def test_the_access_log_holds_keys_and_status_and_nothing_that_was_sent(
    http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"x-query": MARKER}
    body = {"query": MARKER, "limit": 5}
    assert (await http.post(f"{PATH}?query={MARKER}", json=body, headers=headers)).status_code == 200
    await http.get(f"/{MARKER}")
    lines = [record.getMessage() for record in caplog.records if record.name == "toolsurface.selector.access"]
    route = "/v1/applications/{application}/surfaces/{surface}/rank"
    assert lines[0].startswith(f"POST {route} application={APPLICATION} surface={SURFACE} 200 ")
    assert lines[1].startswith("GET - 404 ")
    assert MARKER not in "".join(lines)


@pytest.mark.rule("EVD-2")
@pytest.mark.parametrize(
    "name",
    [MARKER, f"{MARKER}{'x' * 51}", f"{MARKER} a%0ab", f"%1b[31m{MARKER}", f"{MARKER}%00", f"{MARKER}%ff%fe"],
    ids=["a key", "a long key", "a line", "an escape", "NUL", "no UTF-8"],
)
async def test_a_name_that_the_service_does_not_know_stands_in_no_line_of_the_log(
    http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"query": "delete a file", "limit": 5}
    for path in (PATH, BATCH):
        await http.post(path.replace(SURFACE, name), json=body)
        await http.post(path.replace(APPLICATION, name), json=body)
        await http.post(path.replace(APPLICATION, name).replace(SURFACE, name), json=body)
    await http.get(f"/v1/applications/{name}")
    lines = [record.getMessage() for record in caplog.records if record.name == "toolsurface.selector.access"]
    assert len(lines) == 7
    assert [f"application={APPLICATION} " in line for line in lines] == [True, False, False] * 2 + [False]
    told = "".join(str(vars(record)) for record in caplog.records if record.name.startswith("toolsurface"))
    assert MARKER not in told
    assert "surface=" not in "".join(lines)


async def test_readiness_lists_what_is_served_and_health_only_lives(
    http: httpx2.AsyncClient, library: Library, selector: Selector
) -> None:
    assert (await http.get("/health/live")).json() == {"status": "alive"}
    ready = (await http.get("/health/ready")).json()
    index = library.find(APPLICATION, SURFACE, None)
    surface = ready["applications"][APPLICATION]["surfaces"][SURFACE]
    assert surface["version"] == index.version
    assert surface["tools"] == len(TOOLS)
    nothing = library_over(MemoryStore())
    nothing.refresh()
    async with _client(selector, nothing) as empty:
        assert (await empty.get("/health/live")).status_code == 200
        _problem(await empty.get("/health/ready"), 503, "no_index")


async def test_before_all_is_known_what_is_not_open_is_not_there_yet() -> None:
    library = library_over(MemoryStore())
    path = f"/v1/applications/{APPLICATION}"
    with ThreadPoolExecutor(1) as executor:
        selector = Selector(indexes=library, embedder=HashingEmbedder(), executor=executor)
    async with _client(selector, library) as http:
        for answer, code in [
            (await http.get("/health/ready"), "loading"),
            (await http.get("/v1/applications"), "loading"),
            (await http.get(path), "loading"),
            (await http.post(f"{path}/surfaces/{SURFACE}/rank", json={"query": "a", "limit": 1}), "index_unusable"),
        ]:
            assert _problem(answer, 503, code)
            assert answer.headers["retry-after"] == "1"
        library.refresh()
        assert (await http.get("/v1/applications")).json() == {"applications": {}}
        _problem(await http.get(path), 404, "unknown_surface")


async def test_readiness_names_refused_surfaces(selector: Selector) -> None:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store, HashingEmbedder(dimension=64))
    library.refresh()
    async with _client(selector, library) as http:
        problem = _problem(await http.get("/health/ready"), 503, "no_index")
    assert problem["applications"][APPLICATION]["refused"][SURFACE]["code"] == "model_mismatch"


async def test_a_background_task_that_ends_early_is_told_by_its_class(
    selector: Selector, library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    ended = Event()

    async def ends() -> None:
        ended.set()
        raise LookupError(MARKER)

    app = build_app(ranker=selector, served=lambda: library.served, background=[ends])
    sent: list[str] = []
    received: Queue[Message] = Queue()

    async def send(message: Message) -> None:
        sent.append(message["type"])
        await ended.wait()
        await received.put({"type": "lifespan.shutdown"})

    received.put_nowait({"type": "lifespan.startup"})
    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, received.get, send)
    told = [record.getMessage() for record in caplog.records if record.name == "toolsurface.selector"]
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert [line for line in told if "background" in line] == ["a task in the background ended with LookupError"]
    assert MARKER not in caplog.text
