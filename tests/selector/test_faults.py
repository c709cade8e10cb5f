"""What is wrong with a body: refused on every route that takes one, in words of our own, and nothing of it repeated."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.access import EVERYTHING, Grant, Rate
from selector.adapters import faults
from selector.adapters.http_api import build_app
from selector.adapters.rates import Rates
from selector.adapters.routes.explaining import explaining_routes
from selector.explaining import Explainer
from selector.service import Selector
from surface.protocol import MAX_BATCH, RankBatchBody, RankBody
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, library_over, put

MARKER = "s3cret-marker"
ROUTES: dict[str, type[BaseModel]] = {"rank": RankBody, "rank-batch": RankBatchBody, "explain": RankBody}
GOOD: dict[str, dict[str, Any]] = {
    "rank": {"query": "delete a file", "limit": 5},
    "rank-batch": {"queries": ["delete a file"], "limit": 5},
    "explain": {"query": "delete a file", "limit": 5},
}
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def selector() -> Iterator[tuple[Selector, Explainer]]:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    with ThreadPoolExecutor(1) as executor:
        parts: Any = {"indexes": library, "embedder": HashingEmbedder(), "executor": executor}
        yield Selector(**parts), Explainer(**parts)


@pytest.fixture
async def http(selector: tuple[Selector, Explainer]) -> AsyncIterator[httpx2.AsyncClient]:
    ranker, explainer = selector
    grants = {"": None, "slow": Grant(id="slow", surfaces=EVERYTHING.surfaces, rate=Rate(amount=3, seconds=60))}
    app = build_app(
        ranker=ranker,
        served=dict,
        access=lambda key: grants.get(key, EVERYTHING),
        rates=Rates(usual=None, shared=None, tell=pytest.fail),
        routers=[explaining_routes(explainer)],
    )
    headers = {"authorization": "Bearer everything"}
    transport = httpx2.ASGITransport(app=app)
    base = f"http://selector/v1/applications/{APPLICATION}/surfaces/{SURFACE}/"
    async with httpx2.AsyncClient(transport=transport, base_url=base, headers=headers) as client:
        yield client


def _faults(response: httpx2.Response) -> list[dict[str, str]]:
    assert response.status_code == 422, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["code"] == "invalid_request"
    listed: list[dict[str, str]] = problem["errors"]
    assert problem["detail"] == "; ".join(f"{each['field']}: {each['problem']}" for each in listed)
    return listed


UNREADABLE = [
    (b'{"query": "a", "query": "b", "limit": 5}', "query", faults.TWICE),
    (b'{"query": "a", "limit": 5, "limit": 5}', "limit", faults.TWICE),
    (b'{"queries": [], "queries": ["a"], "limit": 5}', "queries", faults.TWICE),
    (b'{"version": 1, "version": 1}', "version", faults.TWICE),
    (b'{"catalog_digest": null, "catalog_digest": null}', "catalog_digest", faults.TWICE),
    (b'{"lim\\u0069t": 1, "limit": 5, "query": "a"}', "limit", faults.TWICE),
    (b'{"s3cret-marker": 1, "s3cret-marker": 2}', "body", faults.UNREADABLE["repeated_key"]),
    (b'{"query": {"s3cret-marker": 1, "s3cret-marker": 2}}', "body", faults.UNREADABLE["repeated_key"]),
    (b'{"query": "s3cret-marker", "limit": NaN}', "body", faults.UNREADABLE["number"]),
    (b'{"query": "s3cret-marker", "limit": Infinity}', "body", faults.UNREADABLE["number"]),
    (b'{"query": "s3cret-marker", "limit": -Infinity}', "body", faults.UNREADABLE["number"]),
    (b'{"query": "s3cret-marker", "limit": ' + b"9" * 10_000 + b"}", "body", faults.UNREADABLE["number"]),
    (b'{"query": "s3cret-marker", "limit": 5} {}', "body", faults.UNREADABLE["syntax"]),
    (b'{"query": "s3cret-marker", "limit": 5}x', "body", faults.UNREADABLE["syntax"]),
    (b'{"query": "s3cret-marker", "limit": 5,}', "body", faults.UNREADABLE["syntax"]),
    (b"{'query': 's3cret-marker', 'limit': 5}", "body", faults.UNREADABLE["syntax"]),
    (b'{"query": "s3cret-marker\n", "limit": 5}', "body", faults.UNREADABLE["syntax"]),
    (b'{"query": "s3cret-marker", "limit": 05}', "body", faults.UNREADABLE["syntax"]),
    (b'{"query": "s3cret-marker", "limit": +5}', "body", faults.UNREADABLE["syntax"]),
    (b'{"query": "s3cret-marker", "limit": 0x5}', "body", faults.UNREADABLE["syntax"]),
    ('{"query": "s3cret-marker", "limit": \u0665}'.encode(), "body", faults.UNREADABLE["syntax"]),
    (b'{"query": "s3cret-marker", /* a */ "limit": 5}', "body", faults.UNREADABLE["syntax"]),
    (b'\xef\xbb\xbf{"query": "s3cret-marker", "limit": 5}', "body", faults.UNREADABLE["byte_order_mark"]),
    ('{"query": "s3cret-marker", "limit": 5}'.encode("utf-16"), "body", faults.UNREADABLE["encoding"]),
    ('{"query": "s3cret-marker", "limit": 5}'.encode("utf-16-le"), "body", faults.UNREADABLE["syntax"]),
    (b'{"query": "\xff s3cret-marker", "limit": 5}', "body", faults.UNREADABLE["encoding"]),
    (b'{"query": "\xed\xa0\x80 s3cret-marker", "limit": 5}', "body", faults.UNREADABLE["encoding"]),
    (b'{"query": "\xc0\xaf s3cret-marker", "limit": 5}', "body", faults.UNREADABLE["encoding"]),
    (b"[" * 50_000, "body", faults.UNREADABLE["depth"]),
    (b'{"a":' * 20_000, "body", faults.UNREADABLE["depth"]),
    (b" \n", "body", faults.UNREADABLE["empty"]),
    (b"", "body", faults.NO_OBJECT),
    (b"null", "body", faults.NO_OBJECT),
    (b'"s3cret-marker"', "body", faults.NO_OBJECT),
    (b'[{"query": "s3cret-marker", "limit": 5}]', "body", faults.NO_OBJECT),
]


@pytest.mark.rule("EVD-2")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("body", "field", "told"), UNREADABLE, ids=[ascii(body[:40]) for body, *_ in UNREADABLE])
async def test_a_body_that_readers_could_take_for_different_ones_is_refused(
    http: httpx2.AsyncClient, route: str, body: bytes, field: str, told: str
) -> None:
    response = await http.post(route, content=body, headers=JSON)
    assert _faults(response) == [{"field": field, "problem": told}]
    assert MARKER not in response.text


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
async def test_a_body_that_does_not_say_that_it_is_json_is_not_read_as_json(
    http: httpx2.AsyncClient, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    response = await http.post("rank", content=json.dumps(GOOD["rank"]).encode(), headers=headers)
    assert _faults(response) == [{"field": "body", "problem": faults.NO_OBJECT}]


HEX = "needs 32 hexadecimal digits in lower case"
FAULTY: list[tuple[str, dict[str, Any], str, str]] = [
    ("rank", {"query": "a"}, "limit", "is missing; it is required"),
    ("rank", {"limit": 5}, "query", "is missing; it is required"),
    ("rank-batch", {"limit": 5}, "queries", "is missing; it is required"),
    ("rank", {"query": 5, "limit": 5}, "query", "needs a string"),
    ("rank", {"query": None, "limit": 5}, "query", "needs a string"),
    ("rank", {"query": "a\ud800", "limit": 5}, "query", "holds half of a surrogate pair; send whole characters"),
    ("rank", {"query": "", "limit": 5}, "query", "needs at least 1 character"),
    ("rank", {"query": "a" * 16_385, "limit": 5}, "query", "takes at most 16384 characters"),
    ("rank", {"query": "a", "limit": True}, "limit", "needs a whole number"),
    ("rank", {"query": "a", "limit": "5"}, "limit", "needs a whole number"),
    ("rank", {"query": "a", "limit": 5.5}, "limit", "needs a whole number"),
    ("rank", {"query": "a", "limit": 1e-300}, "limit", "needs a whole number"),
    ("rank", {"query": "a", "limit": 0}, "limit", "needs at least 1"),
    ("rank", {"query": "a", "limit": -(10**300)}, "limit", "needs at least 1"),
    ("rank", {"query": "a", "limit": 101}, "limit", "takes at most 100"),
    ("rank", {"query": "a", "limit": 10**300}, "limit", "takes at most 100"),
    ("rank", {"query": "a", "limit": 5, "version": 2}, "version", "needs to be 1"),
    ("rank", {"query": "a", "limit": 5, "version": 2**63}, "version", "takes no number of this size"),
    ("rank", {"query": "a", "limit": 5, "version": -(10**300)}, "version", "takes no number of this size"),
    ("rank", {"query": "a", "limit": 5, "version": "1"}, "version", "needs a whole number"),
    ("rank", {"query": "a", "limit": 5, "catalog_digest": "A" * 32}, "catalog_digest", HEX),
    ("rank", {"query": "a", "limit": 5, "catalog_digest": "a" * 32 + "\n"}, "catalog_digest", HEX),
    ("rank-batch", {"queries": "a", "limit": 5}, "queries", "needs an array of strings"),
    ("rank-batch", {"queries": {"0": "a"}, "limit": 5}, "queries", "needs an array of strings"),
    ("rank-batch", {"queries": [], "limit": 5}, "queries", "needs at least 1 query"),
    ("rank-batch", {"queries": ["a"] * 33, "limit": 5}, "queries", "takes at most 32 queries"),
    ("rank-batch", {"queries": ["a", {}], "limit": 5}, "queries.1", "needs a string"),
    ("rank", {"query": "a", "limit": 5, MARKER: 1}, "body", faults.NOT_TAKEN),
    ("rank", {"query": "a", "limit": 5, "\ud800": 1}, "body", "holds half of a surrogate pair; send whole characters"),
    ("rank", {"query": "a", "limit": 5, "queries": []}, "body", faults.NOT_TAKEN),
]  # fmt: skip


@pytest.mark.rule("EVD-2")
@pytest.mark.parametrize(("route", "body", "field", "told"), FAULTY)
async def test_a_field_that_is_wrong_is_named_with_what_it_needs(
    http: httpx2.AsyncClient, route: str, body: dict[str, Any], field: str, told: str
) -> None:
    response = await http.post(route, content=json.dumps(body).encode(), headers=JSON)
    assert {"field": field, "problem": told} in _faults(response)
    assert MARKER not in response.text


async def test_a_number_beyond_every_float_is_no_whole_number(http: httpx2.AsyncClient) -> None:
    for number in (b"1e400", b"-1e400"):
        response = await http.post("rank", content=b'{"query": "a", "limit": ' + number + b"}", headers=JSON)
        assert _faults(response) == [{"field": "limit", "problem": "needs a whole number"}]


@pytest.mark.parametrize("limit", ["5.0", "5e0", "0.5e1", "5"])
async def test_a_whole_number_may_be_written_in_any_way_that_json_has(http: httpx2.AsyncClient, limit: str) -> None:
    response = await http.post("rank", content=f'{{"query": "file", "limit": {limit}}}'.encode(), headers=JSON)
    assert response.status_code == 200


async def test_a_batch_beyond_its_keys_rate_is_told_in_the_same_form(http: httpx2.AsyncClient) -> None:
    body = {"queries": ["a"] * 4, "limit": 5}
    response = await http.post("rank-batch", json=body, headers={"authorization": "Bearer slow"})
    told = faults.OF_FIELD["too_many_for_rate"].format(rate="3/minute", amount=3)
    assert _faults(response) == [{"field": "queries", "problem": told}]


def test_no_sentence_is_there_that_no_body_brings_about() -> None:
    told = {problem for _, _, problem in UNREADABLE} | {problem for *_, problem in FAULTY}
    told.add(faults.OF_FIELD["too_many_for_rate"].format(rate="3/minute", amount=3))  # the test above
    for sentence in _SENTENCES:
        assert any(re.fullmatch(sentence, problem) for problem in told), sentence


@pytest.mark.parametrize("route", ROUTES)
async def test_a_body_of_ten_thousand_faults_is_answered_in_a_few_lines(http: httpx2.AsyncClient, route: str) -> None:
    unknown = {**GOOD[route], **{f"x{at}": 1 for at in range(10_000)}}
    response = await http.post(route, json=unknown)
    assert _faults(response) == [{"field": "body", "problem": faults.NOT_TAKEN}]
    if route == "rank-batch":
        response = await http.post(route, json={"queries": [1] * 30_000, "limit": 0, "version": 2})
        assert [fault["field"] for fault in _faults(response)] == ["version", "queries.0", "queries", "limit"]
    assert len(response.content) < 4_000


_SENTENCES = [
    re.sub(r"\\\{\w+\\\}", "[0-9a-z/]+", re.escape(sentence))
    for sentence in (
        *faults.UNREADABLE.values(),
        faults.TWICE,
        faults.NOT_TAKEN,
        *faults.OF_FIELD.values(),
        *faults.OF_PATTERN.values(),
    )
]
_ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=20)
    | st.sampled_from([MARKER, MARKER * 1_300, "a" * 32, "0" * 33, 1, 1.0, 100, 101, 10**200])
)
_VALUES = st.recursive(
    _ATOMS,
    lambda inner: st.lists(inner, max_size=MAX_BATCH + 2) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=MAX_BATCH + 4,
)


@st.composite
def _bodies(draw: st.DrawFn, route: str) -> Any:
    """A good body with some of its fields put to anything, taken away, or beside fields that nobody knows."""
    body = {**GOOD[route], **draw(st.dictionaries(st.sampled_from(sorted(ROUTES[route].model_fields)), _VALUES))}
    for gone in draw(st.sets(st.sampled_from(sorted(body)))):
        del body[gone]
    return draw(st.just(body) | st.just({**body, MARKER: 1}) | _VALUES)


@pytest.mark.rule("EVD-2")
@pytest.mark.parametrize("route", ROUTES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
async def test_whatever_the_body_every_word_of_a_refusal_is_from_our_table(
    http: httpx2.AsyncClient, route: str, data: st.DataObject
) -> None:
    body = data.draw(_bodies(route))
    response = await http.post(route, content=json.dumps(body).encode(), headers=JSON)
    if response.status_code == 200:
        return
    found = _faults(response)
    assert 1 <= len(found) <= faults.MOST_FAULTS
    for fault in found:
        field, *places = fault["field"].split(".")
        assert field in faults.FIELDS | {faults.BODY}
        assert all(place.isdigit() for place in places)
        assert any(re.fullmatch(sentence, fault["problem"]) for sentence in _SENTENCES), fault
    assert MARKER not in response.text
