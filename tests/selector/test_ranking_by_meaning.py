"""The ranking with the model that ships: other scripts, several needs, names, and requests that nothing fits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from indexer.adapters.usual_index import open_artefact
from indexer.memory_store import MemoryStore
from models.adapters.onnx import OnnxEmbedder, default_embedder
from selector.abstaining import STRICTNESS
from selector.library import Library
from selector.ranking import Leg
from selector.service import Selector
from surface.protocol import RankReply
from tests.selector.builders import SURFACE, TOOLS, ask, put

SCRIPTS: Final[Mapping[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "scripts.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return default_embedder(threads=1)


@pytest.fixture(scope="module")
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


def _library(embedder: OnnxEmbedder, tools: Mapping[str, str]) -> Library:
    store = MemoryStore()
    put(store, {SURFACE: tools}, embedder=embedder)
    library = Library(store=store, open_artefact=open_artefact, model=embedder.manifest.identity)
    library.refresh()
    return library


@pytest.fixture(scope="module")
def office(embedder: OnnxEmbedder) -> Library:
    return _library(embedder, TOOLS)


@pytest.fixture(scope="module")
def scripts(embedder: OnnxEmbedder) -> Library:
    return _library(embedder, {tool["name"]: tool["description"] for tool in SCRIPTS["tools"]})


@pytest.fixture
def rank(office: Library, scripts: Library, embedder: OnnxEmbedder, executor: ThreadPoolExecutor) -> Any:
    def ranked(query: str, *, other: bool = False, leg: Leg = "hybrid", strictness: float = STRICTNESS) -> RankReply:
        selector = Selector(
            indexes=scripts if other else office, embedder=embedder, executor=executor, leg=leg, strictness=strictness
        )
        return asyncio.run(selector.rank(ask(query)))

    return ranked


def _place(reply: RankReply, name: str) -> int:
    names = [ranked.name for ranked in reply.ranked]
    return names.index(name) if name in names else len(SCRIPTS["tools"])


@pytest.mark.parametrize("script", sorted(SCRIPTS["queries"]))
def test_a_query_in_another_script_is_never_ranked_worse_than_by_its_words(rank: Any, script: str) -> None:
    queries = SCRIPTS["queries"][script]
    for case in queries:
        by_words = _place(rank(case["query"], other=True, leg="lexical"), case["relevant"])
        assert _place(rank(case["query"], other=True), case["relevant"]) <= by_words, case["query"]
    first = [_place(rank(case["query"], other=True), case["relevant"]) == 0 for case in queries]
    assert sum(first) >= len(first) - 1


@pytest.mark.parametrize(
    "query",
    [
        "what torque do the wheel bolts of a van need",
        "who painted the ceiling of the chapel",
        "restart the web server and show its log",
        "zzzz qqqq",
    ],
)
def test_a_request_that_nothing_fits_gets_no_tool_and_is_told_so(rank: Any, query: str) -> None:
    reply = rank(query)
    assert reply.abstained
    assert reply.ranked == ()
    assert rank(query, strictness=0.0).ranked


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("will it rain in Oslo", "weather_forecast"),
        ("how many yen are ten pounds", "currency_convert"),
        ("put the dentist appointment on Tuesday at nine", "calendar_add_event"),
        ("get rid of old.txt", "file_delete"),
        ("bill the customer by email", "invoices_send"),
    ],
)
def test_a_paraphrase_that_shares_no_word_finds_its_tool(rank: Any, query: str, name: str) -> None:
    assert rank(query).ranked[0].name == name


def test_each_need_of_a_query_has_its_tool_in_front(rank: Any) -> None:
    reply = rank("translate the letter into French and tell me whether it will rain in Paris")
    assert {ranked.name for ranked in reply.ranked[:2]} == {"translate_text", "weather_forecast"}


def test_few_tools_are_returned_where_few_fit(rank: Any) -> None:
    query = "convert 20 dollars to euros"
    assert [ranked.name for ranked in rank(query).ranked] == ["currency_convert"]
    assert len(rank(query, strictness=0.0).ranked) == ask(query).limit


@pytest.mark.parametrize("query", ["file_copy", "flie_copy", "run file_copy on the second one", "zzzz file_copy qqqq"])
def test_a_tool_called_by_name_is_first_and_never_abstained_from(rank: Any, query: str) -> None:
    assert rank(query).ranked[0].name == "file_copy"
