"""Real tool sets by third parties: what no catalog may hold is named, the rest is indexed under its own name."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from indexer.adapters.catalog_reader import read_catalog_bytes
from indexer.adapters.faiss_index import FaissVectorIndex
from indexer.adapters.lexical_index import ArrayLexicalIndex
from indexer.adapters.redis_link import read_redis_url
from indexer.adapters.redis_vectors import RedisVectors
from indexer.adapters.usual_index import open_artefact, opening_with
from indexer.build import build
from indexer.deploy import deploy
from indexer.document import documents_of
from indexer.index import open_index
from indexer.memory_store import MemoryStore
from indexer.tool_lines import read_tool_lines, tool_lines_as_they_are
from models.adapters.onnx import default_embedder
from surface.catalog_rules import shown
from surface.errors import CatalogError
from surface.identity import is_tool_name
from surface.lexical import query_words
from tests.indexer.redis_server import BINARIES, running
from tests.indexer.samples import EMBEDDER, NOW

BENCH = Path(os.environ.get("TOOLSURFACE_BENCH", Path(__file__).parents[2] / ".." / "shared" / "bench")).resolve()

pytestmark = pytest.mark.skipif(not BENCH.is_dir(), reason=f"no real tool sets at {BENCH}; set TOOLSURFACE_BENCH")


def real(name: str) -> bytes:
    return read_catalog_bytes(BENCH / name / "catalog.jsonl.gz")


def given_names(data: bytes) -> list[str]:
    return [json.loads(line)["name"] for line in data.splitlines()]


@pytest.mark.parametrize("name", ["cat_githubmcp", "cat_awslabs"])
def test_a_real_catalog_is_taken_whole_and_indexed(name: str) -> None:
    data = real(name)
    catalog = read_tool_lines(data, application="app", surface=name).catalog
    store = MemoryStore()
    result = deploy(catalog, embedder=EMBEDDER, store=store, now=lambda: NOW)
    assert deploy(catalog, embedder=EMBEDDER, store=store, now=lambda: NOW).unchanged
    index = open_index(
        store.load("app", name, result.surfaces[0].version),
        vector_index=FaissVectorIndex,
        lexical_index=ArrayLexicalIndex,
    )
    assert list(index.names) == sorted(given_names(data))


def test_every_odd_tool_is_named_with_its_reason_in_one_error() -> None:
    data = real("edgecases")
    names = Counter(given_names(data))
    with pytest.raises(CatalogError) as caught:
        read_tool_lines(data, application="app", surface="odd")
    named = {fault.where for fault in caught.value.faults}
    wrong = {name for name, count in names.items() if count > 1 or not is_tool_name(name)}
    assert {f"odd/{shown(name)}" for name in wrong} <= named
    assert all(fault.problem for fault in caught.value.faults)
    assert all(str(fault) in str(caught.value) for fault in caught.value.faults)


def test_the_rest_of_the_odd_tools_is_indexed_under_its_own_names() -> None:
    data = real("edgecases")
    names = Counter(given_names(data))
    read = read_tool_lines(data, application="app", surface="odd", skip_invalid=True)
    tools = read.catalog.surfaces["odd"].tools
    assert len(tools) + read.refused_tools == names.total()
    assert len(tools) > 150
    assert all(names[tool.name] == 1 and is_tool_name(tool.name) for tool in tools)
    refused = {fault.where for fault in read.refused}
    assert not refused & {f"odd/{shown(tool.name)}" for tool in tools}
    artefact = build(documents_of(tools), application="app", surface="odd", embedder=EMBEDDER)
    index = open_index(artefact, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
    assert list(index.names) == sorted(tool.name for tool in tools)
    assert max(len(document.text) for document in documents_of(tools)) <= 450


def test_for_evaluation_any_real_set_of_unique_names_is_taken() -> None:
    for name in ("metatool", "apibank", "toolalpaca", "nestful"):
        data = real(name)
        assert [tool.name for tool in tool_lines_as_they_are(data)] == given_names(data)


def test_the_shipped_model_finds_real_tools_by_what_people_say() -> None:
    embedder = default_embedder(threads=2)
    catalog = read_tool_lines(real("cat_githubmcp"), application="app", surface="github").catalog
    documents = documents_of(catalog.surfaces["github"].tools)
    artefact = build(documents, application="app", surface="github", embedder=embedder)
    index = open_index(artefact, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
    _, rows = index.vectors.search(embedder.embed_queries(["report a bug in a repository"]), 5)
    assert any("issue" in index.names[row] for row in rows[0])
    assert index.lexical.scores([query_words("create a pull request")]).max() > 0


def test_vectors_elsewhere_are_searched_as_those_in_memory_with_the_shipped_model_and_real_queries(
    tmp_path: Path,
) -> None:
    embedder = default_embedder(threads=2)
    catalog = read_tool_lines(real("toolalpaca"), application="app", surface="real", skip_invalid=True).catalog
    artefact = build(documents_of(catalog.surfaces["real"].tools), application="app", surface="real", embedder=embedder)
    with gzip.open(BENCH / "toolalpaca" / "queries.jsonl.gz") as lines:
        queries = embedder.embed_queries([json.loads(line)["query"] for line in islice(lines, 100)])
    with running(BINARIES["redis-8"], tmp_path) as server:
        elsewhere = opening_with(RedisVectors(read_redis_url(server.url)))(artefact)
        scores, rows = elsewhere.vectors.search(queries, 1_024)
    expected_scores, expected_rows = open_artefact(artefact).vectors.search(queries, 1_024)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-6)
    apart = np.abs(np.diff(expected_scores, axis=1)) > 1e-6  # closer ones may stand either way
    settled = np.pad(apart, ((0, 0), (1, 0)), constant_values=True) & np.pad(
        apart, ((0, 0), (0, 1)), constant_values=True
    )
    np.testing.assert_array_equal(rows[settled], expected_rows[settled])
    assert settled.mean() > 0.9
