"""Every key on every surface by every route: what is granted is answered, and anything else is not there."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.access import EVERYTHING, KEY_BYTES, Grant, Keyring, Rate, hashed, key_of
from selector.adapters.http_api import build_app
from selector.adapters.rates import Rates
from selector.adapters.routes.explaining import explaining_routes
from selector.explaining import Explainer
from selector.library import Library
from selector.service import Selector
from surface.protocol import RankReply
from surface.ranking import RankRequest
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, library_over, put

SURFACES = ("shop/reader", "shop/writer", "bank/reader")
"""Those that exist."""
ASKED = (*SURFACES, "shop/nobody", "bank/writer", "nobody/reader", "*/*", "shop/*", "%20/reader")

GRANTS: Mapping[str, Sequence[str]] = {
    "reader": ["shop/reader"],
    "shop": ["shop/*"],
    "both": ["shop/writer", "bank/*"],
    "readers": ["*/reader"],
    "operator": ["*/*"],
    "elsewhere": ["nobody/*"],
}
KEYS = {name: key_of(bytes([at]) * KEY_BYTES) for at, name in enumerate(GRANTS)}
NOBODYS = {"none": None, "unknown": key_of(b"x" * KEY_BYTES), "not a key": "tsk1_", "empty": ""}


def _may(name: str, path: str) -> bool:
    """What the matrix expects, said another way than the code says it."""
    application, surface = path.split("/")
    return any(each in {path, f"{application}/*", f"*/{surface}", "*/*"} for each in GRANTS.get(name, ()))


def _keyring() -> Keyring:
    grants = []
    for name, paths in GRANTS.items():
        surfaces: dict[str, frozenset[str]] = {}
        for path in paths:
            application, surface = path.split("/")
            surfaces[application] = surfaces.get(application, frozenset()) | {surface}
        grants.append((hashed(KEYS[name]), Grant(id=name, surfaces=surfaces)))
    return Keyring(grants)


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def library() -> Library:
    store = MemoryStore()
    put(store, {"reader": TOOLS, "writer": TOOLS})
    put(store, {"reader": TOOLS}, application="bank")
    library = library_over(store)
    library.refresh()
    return library


class Noting:
    """Ranks, and keeps what it was asked."""

    id = "noting"

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.asked: list[RankRequest] = []

    async def rank(self, request: RankRequest) -> RankReply:
        self.asked.append(request)
        return await self._selector.rank(request)

    async def rank_many(self, requests: Sequence[RankRequest]) -> tuple[RankReply, ...]:
        self.asked.extend(requests)
        return await self._selector.rank_many(requests)


@pytest.fixture
async def noting(library: Library) -> AsyncIterator[Noting]:
    with ThreadPoolExecutor(1) as executor:
        yield Noting(Selector(indexes=library, embedder=HashingEmbedder(), executor=executor))


@pytest.fixture
async def http(library: Library, noting: Noting) -> AsyncIterator[httpx2.AsyncClient]:
    with ThreadPoolExecutor(1) as executor:
        explainer = Explainer(indexes=library, embedder=HashingEmbedder(), executor=executor)
        app = build_app(
            ranker=noting,
            served=lambda: library.served,
            access=_keyring().grant_of,
            routers=[explaining_routes(explainer)],
        )
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector") as client:
            yield client


async def _rank(http: httpx2.AsyncClient, path: str, key: str | None) -> httpx2.Response:
    application, surface = path.split("/")
    url = f"/v1/applications/{application}/surfaces/{surface}/rank"
    return await http.post(url, json={"query": "delete a file", "limit": 3}, headers=_headers(key))


async def _rank_batch(http: httpx2.AsyncClient, path: str, key: str | None, *, queries: int = 2) -> httpx2.Response:
    application, surface = path.split("/")
    url = f"/v1/applications/{application}/surfaces/{surface}/rank-batch"
    body = {"queries": ["delete a file"] * queries, "limit": 3}
    return await http.post(url, json=body, headers=_headers(key))


async def _explain(http: httpx2.AsyncClient, path: str, key: str | None) -> httpx2.Response:
    application, surface = path.split("/")
    url = f"/v1/applications/{application}/surfaces/{surface}/explain"
    return await http.post(url, json={"query": "delete a file", "limit": 3}, headers=_headers(key))


def _told(response: httpx2.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """All that an asker can compare; the id of the request is made anew for each and says nothing."""
    headers = dict(response.headers)
    assert re.fullmatch(r"[0-9a-f]{32}", headers.pop("x-request-id"))
    return response.status_code, response.content, sorted(headers.items())


@pytest.mark.parametrize("ask", [_rank, _rank_batch, _explain], ids=["one", "batch", "explain"])
@pytest.mark.parametrize("path", ASKED)
async def test_a_key_ranks_on_its_surfaces_and_any_other_is_not_there(
    http: httpx2.AsyncClient, path: str, ask: Callable[..., Awaitable[httpx2.Response]]
) -> None:
    missing = _told(await ask(http, "shop/nobody", KEYS["operator"]))
    assert missing[0] == 404
    for name, key in KEYS.items():
        response = await ask(http, path, key)
        if _may(name, path) and path in SURFACES:
            assert response.status_code == 200, (name, path)
        else:
            assert _told(response) == missing, (name, path)


@pytest.mark.parametrize("key", NOBODYS.values(), ids=NOBODYS)
async def test_without_a_key_nothing_is_told_but_that_one_is_needed(http: httpx2.AsyncClient, key: str | None) -> None:
    answers = [await ask(http, path, key) for path in ASKED for ask in (_rank, _rank_batch, _explain)]
    answers += [await http.get(f"/v1/applications{each}", headers=_headers(key)) for each in ("", "/shop", "/nobody")]
    answers += [await http.get(path, headers=_headers(key)) for path in ("/nowhere", "/health", "/health/live/", "/")]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert all(answer.headers["www-authenticate"].startswith("Bearer") for answer in answers)
    assert answers[0].json()["code"] == "unauthorised"


async def test_no_route_but_the_named_ones_is_open(http: httpx2.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    opened = {"/health/live", "/health/ready"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            response = await http.request(method, path.replace("{application}", "shop").replace("{surface}", "reader"))
            assert (response.status_code == 401) == (path not in opened)
            open_to_all: dict[str, Any] = {"/health/live": [], "/health/ready": [{}, {"key": []}]}
            assert operation["security"] == open_to_all.get(path, [{"key": []}])


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer  "])
async def test_the_scheme_is_read_as_http_has_it(http: httpx2.AsyncClient, scheme: str) -> None:
    response = await http.get("/v1/applications", headers={"authorization": f"{scheme} {KEYS['shop']}"})
    assert response.status_code == 200
    for wrong in (f"Basic {KEYS['shop']}", KEYS["shop"], f"Bearer {'x' * 9_000}", "Bearer \xff"):
        response = await http.get("/v1/applications", headers=[(b"authorization", wrong.encode("latin-1"))])
        assert response.status_code == 401


async def _listed(http: httpx2.AsyncClient, key: str | None) -> set[str]:
    applications = (await http.get("/v1/applications", headers=_headers(key))).json()["applications"]
    return {f"{name}/{surface}" for name, report in applications.items() for surface in report["surfaces"]}


@pytest.mark.parametrize("name", GRANTS)
async def test_lists_and_readiness_hold_the_surfaces_of_the_key(http: httpx2.AsyncClient, name: str) -> None:
    expected = {path for path in SURFACES if _may(name, path)}
    assert await _listed(http, KEYS[name]) == expected
    ready = (await http.get("/health/ready", headers=_headers(KEYS[name]))).json()
    detail = ready["applications"]
    assert {f"{one}/{two}" for one, report in detail.items() for two in report["surfaces"]} == expected
    assert ("unreadable" in ready) == (name == "operator")
    for application in ("shop", "bank", "nobody", "*"):
        response = await http.get(f"/v1/applications/{application}", headers=_headers(KEYS[name]))
        its = {path.split("/")[1] for path in expected if path.startswith(f"{application}/")}
        assert response.status_code == (200 if its else 404)
        if its:
            assert set(response.json()["surfaces"]) == its


@pytest.mark.parametrize("key", NOBODYS.values(), ids=NOBODYS)
async def test_bare_health_is_open_and_tells_nothing_more(http: httpx2.AsyncClient, key: str | None) -> None:
    assert (await http.get("/health/live", headers=_headers(key))).json() == {"status": "alive"}
    assert (await http.get("/health/ready", headers=_headers(key))).json() == {"status": "ready"}
    assert (await http.get("/openapi.json", headers=_headers(key))).status_code == 200


async def test_what_a_key_may_not_ask_reaches_the_ranker_as_what_nobody_has(
    http: httpx2.AsyncClient, noting: Noting
) -> None:
    # The same call with the same argument cannot take another time; `python -m benchmarks.tenants` measures that.
    for path in ("shop/writer", "shop/nobody", "bank/reader", "nobody/reader"):
        await _rank(http, path, KEYS["reader"])
        await _rank_batch(http, path, KEYS["reader"])
    assert [request.application for request in noting.asked] == [""] * 12


async def test_the_log_says_whose_key_asked_and_never_the_key(
    http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for key in (KEYS["reader"], *NOBODYS.values()):
        await _rank(http, "shop/reader", key)
    lines = [record.getMessage() for record in caplog.records if record.name == "toolsurface.selector.access"]
    assert " key=reader 200 " in lines[0]
    assert not any("key=" in line for line in lines[1:])
    assert not any(key in line for line in lines for key in (*KEYS.values(), *NOBODYS.values()) if key)


@pytest.mark.rule("EVD-2")
@pytest.mark.parametrize("name", GRANTS)
async def test_the_log_names_what_a_key_may_see_of_what_is_there_and_nothing_else(
    http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.INFO)
    seen = {path for path in SURFACES if _may(name, path)}
    for path in ASKED:
        caplog.clear()
        await _rank(http, path, KEYS[name])
        ((line, told),) = [
            (record.getMessage(), vars(record)["request"]) for record in caplog.records if hasattr(record, "request")
        ]
        application, surface = path.split("/")
        expected = {"application": application} if any(one.startswith(f"{application}/") for one in seen) else {}
        expected |= {"surface": surface} if path in seen else {}
        assert {part: told[part] for part in ("application", "surface") if part in told} == expected, path
        assert re.findall(r" (application|surface)=(\S+)", line) == list(expected.items())


async def test_an_open_service_lets_everybody_see_everything(library: Library, noting: Noting) -> None:
    app = build_app(ranker=noting, served=lambda: library.served)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector") as client:
        for key in (None, "anything"):
            assert await _listed(client, key) == set(SURFACES)
            assert (await _rank(client, "shop/reader", key)).status_code == 200


def _limited(library: Library, ranker: Noting, grants: Mapping[str, Grant], usual: Rate | None) -> httpx2.AsyncClient:
    rates = Rates(usual=usual, shared=None, tell=pytest.fail)
    app = build_app(ranker=ranker, served=lambda: library.served, access=grants.get, rates=rates)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector")


async def test_a_rate_is_each_keys_own_and_a_429_says_when_to_ask_again(library: Library, noting: Noting) -> None:
    grants = {
        "a": Grant(id="a", surfaces=EVERYTHING.surfaces, rate=Rate(amount=2, seconds=3_600)),
        "b": Grant(id="b", surfaces=EVERYTHING.surfaces),
    }
    async with _limited(library, noting, grants, Rate(amount=3, seconds=3_600)) as client:

        async def statuses(key: str, times: int) -> list[int]:
            return [(await _rank(client, f"{APPLICATION}/{SURFACE}", key)).status_code for _ in range(times)]

        assert await statuses("a", 3) == [200, 200, 429]
        assert await statuses("b", 4) == [200, 200, 200, 429]
        refused = await client.get("/v1/applications", headers=_headers("a"))
        assert refused.json()["code"] == "rate_limited"
        assert 1 <= int(refused.headers["retry-after"]) <= 3_600
        # Health is asked by an orchestrator, which must not be told off.
        assert (await client.get("/health/ready", headers=_headers("a"))).status_code == 200
    assert len(noting.asked) == 5


async def test_a_batch_counts_as_its_queries(library: Library, noting: Noting) -> None:
    grants = {"a": Grant(id="a", surfaces=EVERYTHING.surfaces, rate=Rate(amount=5, seconds=3_600))}
    async with _limited(library, noting, grants, None) as client:
        answers = [await _rank_batch(client, f"{APPLICATION}/{SURFACE}", "a", queries=number) for number in (3, 4, 1)]
    assert [answer.status_code for answer in answers] == [200, 429, 200]
    assert len(noting.asked) == 4


async def test_a_batch_that_its_keys_rate_can_never_allow_is_told_the_most_that_it_may_hold(
    library: Library, noting: Noting
) -> None:
    grants = {
        "own": Grant(id="own", surfaces=EVERYTHING.surfaces, rate=Rate(amount=5, seconds=3_600)),
        "usual": Grant(id="usual", surfaces=EVERYTHING.surfaces),
    }
    async with _limited(library, noting, grants, Rate(amount=3, seconds=60)) as client:
        for key, rate, most in (("own", "5/hour", 5), ("usual", "3/minute", 3)):
            refused = await _rank_batch(client, f"{APPLICATION}/{SURFACE}", key, queries=most + 1)
            told = {"field": "queries", "problem": f"this key's rate is {rate}: send at most {most} at once"}
            assert (refused.status_code, refused.json()["errors"]) == (422, [told])
            assert "retry-after" not in refused.headers
            # The request itself has counted as one.
            allowed = await _rank_batch(client, f"{APPLICATION}/{SURFACE}", key, queries=most - 1)
            assert allowed.status_code == 200
        assert len(noting.asked) == 4 + 2


async def test_a_batch_as_large_as_its_keys_rate_is_answered(library: Library, noting: Noting) -> None:
    grants = {"a": Grant(id="a", surfaces=EVERYTHING.surfaces, rate=Rate(amount=5, seconds=3_600))}
    async with _limited(library, noting, grants, None) as client:
        assert (await _rank_batch(client, f"{APPLICATION}/{SURFACE}", "a", queries=5)).status_code == 200


async def test_without_a_rate_nothing_is_counted(library: Library, noting: Noting) -> None:
    grants = {"a": Grant(id="a", surfaces=EVERYTHING.surfaces)}
    async with _limited(library, noting, grants, None) as client:
        answers: list[Any] = [await _rank(client, f"{APPLICATION}/{SURFACE}", "a") for _ in range(50)]
    assert {answer.status_code for answer in answers} == {200}
