"""A release that does not find what its canaries say is never activated, and no query is told anywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.artefact import Artefact
from indexer.canaries import Canary, read_canaries
from indexer.deploy import deploy
from indexer.errors import CanaryError, CanaryFileError
from indexer.memory_store import MemoryStore
from tests.indexer.embedders import Listening
from tests.indexer.samples import EMBEDDER, NOW, catalog, json_values, tool
from tests.indexer.uploads import Uploads

QUERY = "who owes us money"
TWO = catalog(reader=[tool("a"), tool("b"), tool("c")], writer=[tool("d")])
ONE = catalog(reader=[tool("a"), tool("b"), tool("c")])


class Answering:
    """A rehearsal that answers with the names it was told, and notes what it was asked."""

    def __init__(self, **names: list[str]) -> None:
        self._names = names
        self.asked: list[tuple[str, list[str]]] = []

    def __call__(self, artefact: Artefact, queries: Sequence[str], limit: int) -> Sequence[Sequence[str]]:
        self.asked.append((artefact.manifest.surface, list(queries)))
        return [self._names[artefact.manifest.surface][:limit] for _ in queries]


def lines(*values: Any) -> bytes:
    return b"\n".join(json.dumps(value).encode() for value in values)


def canary(tool_: str, surface: str = "reader", first: int = 5, line: int = 1) -> Canary:
    return Canary(line=line, surface=surface, query=QUERY, tool=tool_, first=first)


def test_a_line_is_a_canary_with_its_number() -> None:
    data = (
        lines({"query": "q", "tool": "a", "surface": "reader", "first": 2})
        + b"\n\n"
        + lines({"query": "r", "tool": "d", "surface": "writer"})
    )
    assert read_canaries(data, catalog=TWO) == (
        Canary(line=1, surface="reader", query="q", tool="a", first=2),
        Canary(line=3, surface="writer", query="r", tool="d", first=5),
    )


def test_the_only_surface_needs_no_name() -> None:
    (read,) = read_canaries(lines({"query": "q", "tool": "a"}), catalog=ONE)
    assert read.surface == "reader"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"query": QUERY, "tool": "a"}, "surface: needs one of reader, writer"),
        ({"query": QUERY, "tool": "a", "surface": QUERY}, "surface: needs one of reader, writer"),
        ({"query": QUERY, "tool": QUERY, "surface": "reader"}, "tool: is not in the catalog's surface reader"),
        ({"query": QUERY, "tool": "d", "surface": "reader"}, "tool: is not in the catalog's surface reader"),
        ({QUERY: "a"}, "query: Field required"),
        ({"query": QUERY, "tool": "a", "surface": "reader", QUERY: 1}, "none of query, tool, surface, first"),
        ({"query": "", "tool": "a"}, "query: "),
        ({"query": QUERY, "tool": "a", "first": 0}, "first: "),
        ({"query": QUERY, "tool": "a", "first": "3"}, "first: "),
        ([QUERY], "is not one JSON object"),
        (QUERY, "is not one JSON object"),
    ],
)
def test_a_line_that_is_no_canary_is_named_by_its_number_and_nothing_of_it_is_told(line: Any, told: str) -> None:
    with pytest.raises(CanaryFileError, match="line 2: ") as caught:
        read_canaries(lines({"query": "q", "tool": "a", "surface": "reader"}, line), catalog=TWO)
    assert told in str(caught.value)
    assert QUERY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_every_fault_is_listed() -> None:
    with pytest.raises(CanaryFileError) as caught:
        read_canaries(b"{\n[]\n" + lines({"query": "q", "tool": "z"}), catalog=ONE)
    assert [f"line {number}" in str(caught.value) for number in (1, 2, 3)] == [True] * 3


def test_a_file_without_canaries_is_a_fault() -> None:
    with pytest.raises(CanaryFileError, match="holds no canary"):
        read_canaries(b"\n\n", catalog=ONE)


@given(st.binary(max_size=60) | st.lists(json_values, max_size=3).map(lambda values: lines(*values)))
def test_any_bytes_give_canaries_or_one_error(data: bytes) -> None:
    with pytest.raises(CanaryFileError):
        read_canaries(data, catalog=ONE)


def test_a_release_whose_canaries_are_found_is_activated() -> None:
    store, rehearse = MemoryStore(), Answering(reader=["b", "a", "c"], writer=["d"])
    canaries = [canary("a", first=2), canary("d", surface="writer", first=1, line=2)]
    result = deploy(TWO, embedder=EMBEDDER, store=store, now=lambda: NOW, canaries=canaries, rehearse=rehearse)
    assert result.canaries == 2
    assert rehearse.asked == [("reader", [QUERY]), ("writer", [QUERY])]
    assert store.active("app") is not None


def test_one_that_fails_stops_the_deploy_and_is_told_by_its_line() -> None:
    store, rehearse = MemoryStore(), Answering(reader=["b", "a"], writer=["d"])
    before = deploy(ONE, embedder=EMBEDDER, store=store, now=lambda: NOW)
    canaries = [canary("a", first=1, line=7), canary("b", line=8), canary("c", line=9)]
    with pytest.raises(CanaryError) as caught:
        deploy(TWO, embedder=EMBEDDER, store=store, now=lambda: NOW, canaries=canaries, rehearse=rehearse)
    assert [(one.line, one.tool, one.place) for one in caught.value.failures] == [(7, "a", 2), (9, "c", None)]
    assert "line 7: a of surface reader stands at 2, must be in the first 1" in str(caught.value)
    assert "line 9: c of surface reader was not found" in str(caught.value)
    assert QUERY not in str(caught.value)
    active = store.active("app")
    assert active is not None
    assert active.id == before.release


def test_nothing_is_uploaded_once_a_canary_has_failed() -> None:
    uploads, found = Uploads(), Answering(reader=["a", "b"], writer=["d"])
    how: dict[str, Any] = {"embedder": EMBEDDER, "now": lambda: NOW, "vectors": uploads, "rehearse": found}
    with pytest.raises(CanaryError):
        deploy(TWO, store=MemoryStore(), canaries=[canary("c", surface="writer", line=2), canary("b", first=1)], **how)
    assert uploads.surfaces == []
    deploy(TWO, store=MemoryStore(), canaries=[canary("a")], **how)
    assert uploads.surfaces == ["reader", "writer"]


def test_a_release_that_is_active_already_is_asked_too() -> None:
    store = MemoryStore()
    deploy(ONE, embedder=EMBEDDER, store=store, now=lambda: NOW)
    with pytest.raises(CanaryError):
        deploy(
            ONE, embedder=EMBEDDER, store=store, now=lambda: NOW, canaries=[canary("a")], rehearse=Answering(reader=[])
        )


def test_canaries_without_a_ranking_are_a_mistake_of_the_program_and_cost_nothing() -> None:
    embedder = Listening()
    with pytest.raises(ValueError, match="rehearse"):
        deploy(ONE, embedder=embedder, store=MemoryStore(), now=lambda: NOW, canaries=[canary("a")])
    assert not embedder.batches
