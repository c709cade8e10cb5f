"""What a key may not ask takes the very way of what does not exist: the same instructions of ours, in the same order.

A clock tells less than that: `python -m benchmarks.tenants` has one, and some ten microseconds hide in its noise. Here
a whole request is followed, from the outermost layer to the log line that is written once it is answered.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import httpx2
import pytest
from starlette.types import ASGIApp

import selector
from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.access import KEY_BYTES, Grant, Keyring, Rate, hashed, key_of
from selector.adapters.http_api import build_app
from selector.adapters.metrics import Metrics
from selector.adapters.rates import Rates
from selector.adapters.routes.explaining import explaining_routes
from selector.adapters.tracing import Traced
from selector.explaining import Explainer
from selector.service import Selector
from tests.selector.builders import TOOLS, library_over, put

ROOT = Path(selector.__file__).parents[1]
OURS = tuple(f"{ROOT / part}{os.sep}" for part in ("indexer", "models", "selector", "surface"))

GRANTS = {
    "one": Grant(id="one", surfaces={"shop": frozenset({"reader"})}, rate=Rate(amount=10_000, seconds=3_600)),
    "two": Grant(id="two", surfaces={"shop": frozenset({"reader"}), "bank": frozenset({"writer", "nobody"})}),
    "readers": Grant(id="readers", surfaces={"*": frozenset({"reader"})}),
}
KEYS = {name: key_of(bytes([at]) * KEY_BYTES) for at, name in enumerate(GRANTS)}
SERVED = {"shop": ("reader", "writer"), "bank": ("reader", "writer"), "vault": ("writer",)}
ALIKE = [
    ("one", ["shop/nobody", "shop/writer", "shop/%77riter"]),
    ("one", ["nobody/reader", "bank/reader", "bank/nobody", "vault/writer", "nobody/nobody"]),
    ("two", ["shop/nobody", "shop/writer"]),
    ("two", ["bank/none", "bank/reader"]),
    ("readers", ["shop/nobody", "shop/writer"]),
    ("readers", ["nobody/writer", "vault/writer", "vault/nobody"]),
]
"""For a key: what does not exist, and what it must not be able to tell from it."""
ASKING = ("rank", "rank-batch", "explain")


class Step(NamedTuple):
    file: str
    function: str
    line: int
    instruction: int


@contextmanager
def followed(seen: list[Step]) -> Iterator[None]:
    """Every instruction of our own that this thread runs inside of it."""

    def step(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            code = frame.f_code
            seen.append(Step(code.co_filename, code.co_qualname, frame.f_lineno, frame.f_lasti))
        return step

    def begun(frame: FrameType, _: str, __: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes = True
        return step

    before = sys.gettrace()
    sys.settrace(begun)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.fixture(scope="module")
def app() -> Iterator[ASGIApp]:
    """The application as `serve` builds it."""
    store, metrics = MemoryStore(), Metrics()
    for application, surfaces in SERVED.items():
        put(store, dict.fromkeys(surfaces, TOOLS), application=application)
    library = library_over(store)
    library.refresh()
    keyring = Keyring((hashed(KEYS[name]), grant) for name, grant in GRANTS.items())
    with ThreadPoolExecutor(1) as executor:
        ranking = Selector(indexes=library, embedder=HashingEmbedder(), executor=executor, around=metrics.around)
        metrics.watch(ranking, library)
        yield build_app(
            ranker=metrics.counting_answers(ranking),
            served=lambda: library.served,
            access=keyring.grant_of,
            rates=Rates(usual=None, shared=None, tell=pytest.fail),
            start=lambda: library.start,
            routers=[
                explaining_routes(Explainer(indexes=library, embedder=HashingEmbedder(), executor=executor)),
            ],
            around=[metrics.counting_requests, Traced],
        )


@pytest.fixture
async def http(app: ASGIApp) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://selector") as client:
        yield client


async def way_of(
    http: httpx2.AsyncClient, key: str, method: str, path: str, body: Any = None
) -> tuple[Any, list[Step]]:
    """What is answered, but for the id that each request has of its own, and how it comes to that."""
    request = http.build_request(method, path, json=body, headers={"authorization": f"Bearer {KEYS[key]}"})
    seen: list[Step] = []
    with followed(seen):
        answer = await http.send(request)
    told = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
    return (answer.status_code, told, answer.content), seen


async def asked(http: httpx2.AsyncClient, key: str, what: str, path: str) -> tuple[Any, list[Step]]:
    application, surface = path.split("/")
    query: dict[str, Any] = {"queries": ["delete a file"] * 2} if what == "rank-batch" else {"query": "delete a file"}
    url = f"/v1/applications/{application}/surfaces/{surface}/{what}"
    return await way_of(http, key, "POST", url, {**query, "limit": 3})


def parting(one: Sequence[Step], other: Sequence[Step]) -> tuple[Step | None, Step | None] | None:
    """Where two ways part; None where they are one."""
    return next((pair for pair in zip_longest(one, other) if pair[0] != pair[1]), None)


@pytest.mark.parametrize("what", ASKING)
@pytest.mark.parametrize(("key", "paths"), ALIKE, ids=lambda value: value if isinstance(value, str) else value[0])
async def test_a_surface_that_is_not_granted_takes_the_way_of_one_that_does_not_exist_step_by_step(
    http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture, key: str, paths: Sequence[str], what: str
) -> None:
    caplog.set_level(logging.INFO, logger="toolsurface")
    missing, *denied = paths
    await asked(http, key, what, missing)  # what is done once is done
    answer, way = await asked(http, key, what, missing)
    assert answer[0] == 404
    for path in denied:
        other, its = await asked(http, key, what, path)
        assert other == answer, path
        assert parting(way, its) is None, path


@pytest.mark.parametrize("key", ["one", "readers"])
async def test_an_application_of_which_a_key_may_see_nothing_takes_the_way_of_one_that_does_not_exist(
    http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    caplog.set_level(logging.INFO, logger="toolsurface")
    await way_of(http, key, "GET", "/v1/applications/nobody")
    answer, way = await way_of(http, key, "GET", "/v1/applications/nobody")
    assert answer[0] == 404
    other, its = await way_of(http, key, "GET", "/v1/applications/vault")
    assert other == answer
    assert parting(way, its) is None


@pytest.mark.parametrize("what", ASKING)
async def test_the_way_is_followed_through_all_layers_and_reaches_neither_a_store_nor_an_index(
    http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    caplog.set_level(logging.INFO, logger="toolsurface")
    _, denied = await asked(http, "one", what, "shop/writer")
    answer, granted = await asked(http, "one", what, "shop/reader")
    assert answer[0] == 200
    assert parting(denied, granted) is not None
    files = {Path(step.file).relative_to(ROOT).as_posix() for step in denied}
    layers = ("tracing", "metrics", "edge", "clock", "door", "routes/ranking", "problems")
    assert {f"selector/adapters/{layer}.py" for layer in layers} | {"selector/reports.py"} <= files
    opened = {step.function for step in granted if step.file.endswith("library.py")} - {
        step.function for step in denied
    }
    assert "Library.opened" in opened
    assert not [file for file in files if file.startswith("indexer/") and file != "indexer/strict_json.py"]
