"""The indexes answer as the rules say: exact, ordered, and the same on every call."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from unittest.mock import patch

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer import word_scores
from indexer.adapters import faiss_index
from indexer.adapters.faiss_index import HALF_PRECISION_FROM, FaissVectorIndex, bytes_of
from indexer.adapters.lexical_index import ArrayLexicalIndex
from indexer.artefact import Artefact
from indexer.build import build
from indexer.catalog_file import CatalogTool
from indexer.document import documents_of
from indexer.errors import ArtefactError
from indexer.index import open_index
from models.threads import Cores
from surface.lexical import best_first, build_postings, query_words, score
from tests.contracts.vector_index_contract import Build, VectorIndexContract, unit
from tests.indexer.samples import EMBEDDER, artefact, prose, tools


def opened(given_tools: Sequence[CatalogTool]) -> tuple[Artefact, tuple[str, ...], ArrayLexicalIndex]:
    one = build(documents_of(given_tools), application="app", surface="reader", embedder=EMBEDDER)
    index = open_index(one, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
    assert isinstance(index.lexical, ArrayLexicalIndex)
    return one, index.names, index.lexical


@settings(max_examples=100)
@given(tools, prose)
def test_lexical_scores_and_order_are_those_of_the_rule_to_the_last_bit(
    given_tools: list[CatalogTool], query: str
) -> None:
    postings = build_postings([document.fields for document in documents_of(given_tools)])
    terms = query_words(query)
    expected = score(postings, terms)
    _, names, lexical = opened(given_tools)
    other, scores = lexical.scores([(), terms])
    assert not other.any()
    assert {row: scores[row] for row in np.flatnonzero(scores)} == expected
    order = np.argsort(-scores, kind="stable")
    ranked = [(names[row], scores[row]) for row in order if scores[row]]
    assert ranked == best_first(names, expected, len(names))


def test_a_search_takes_one_core_in_whichever_thread_it_is_asked() -> None:
    index = FaissVectorIndex(np.eye(4, dtype=np.float32))

    def asked() -> int:
        faiss.omp_set_num_threads(3)  # as a thread finds it on a machine of so many cores
        index.search(np.eye(4, dtype=np.float32)[:1], 2)
        return int(faiss.omp_get_max_threads())

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(asked).result() == 1


@settings(max_examples=60)
@given(tools, st.integers(1, 40))
def test_the_arrays_hold_every_posting_to_the_last_bit_however_few_words_are_counted_together(
    given_tools: list[CatalogTool], at_once: int
) -> None:
    documents = documents_of(given_tools)
    postings = build_postings([document.fields for document in documents])
    with patch.object(word_scores, "_AT_ONCE", at_once):
        arrays = word_scores.words_of(documents)
    for at, word in enumerate(arrays.words):
        span = slice(arrays.starts[at], arrays.starts[at + 1])
        assert arrays.rows[span].tolist() == list(postings.rows[word])
        assert arrays.impacts[span].tolist() == list(postings.impacts[word])
    assert len(arrays.words) == len(postings.rows)


class TestFaissVectorIndex(VectorIndexContract):
    @pytest.fixture
    def build(self) -> Build:
        return FaissVectorIndex


class TestFaissVectorIndexInParts(VectorIndexContract):
    @pytest.fixture
    def build(self, monkeypatch: pytest.MonkeyPatch) -> Build:
        monkeypatch.setattr(faiss_index, "IN_PARTS_FROM", 1)
        monkeypatch.setattr(faiss_index, "_PART", 7)
        return partial(FaissVectorIndex, cores=Cores(2, name="search"))


@settings(max_examples=50)
@given(kinds=st.lists(st.integers(0, 5), min_size=1, max_size=60), part=st.integers(1, 70), k=st.integers(1, 70))
def test_in_parts_of_any_size_the_answer_is_that_of_the_whole(kinds: list[int], part: int, k: int) -> None:
    vectors, queries = unit(6, 16)[kinds], unit(3, 16, seed=1)
    whole = FaissVectorIndex(vectors).search(queries, k)
    with patch.object(faiss_index, "IN_PARTS_FROM", 1), patch.object(faiss_index, "_PART", part):
        in_parts = FaissVectorIndex(vectors).search(queries, k)
    for expected, found in zip(whole, in_parts, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_half_precision_finds_the_nearest_up_to_its_rounding_in_half_the_memory() -> None:
    vectors, queries = unit(HALF_PRECISION_FROM, 64), unit(20, 64, seed=1)
    scores, rows = FaissVectorIndex(vectors).search(queries, 10)
    exact = queries @ vectors.T
    best = -np.sort(-exact, axis=1)[:, :10]
    np.testing.assert_allclose(scores, best, atol=1e-3)
    np.testing.assert_allclose(np.take_along_axis(exact, rows, axis=1), best, atol=1e-3)
    assert bytes_of(HALF_PRECISION_FROM, 64) * 2 == vectors.nbytes
    assert bytes_of(HALF_PRECISION_FROM - 1, 64) == vectors.nbytes - 64 * 4


def test_equal_scores_in_half_precision_stand_in_row_order() -> None:
    vectors = np.tile(np.eye(4, dtype=np.float32), (HALF_PRECISION_FROM // 4, 1))
    rows = FaissVectorIndex(vectors).search(vectors[2:3], 5)[1]
    assert rows[0].tolist() == [2, 6, 10, 14, 18]


def test_an_opened_index_finds_its_tools() -> None:
    one = artefact()
    index = open_index(one, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
    assert (index.version, index.names) == (one.version, ("create_issue", "delete_branch", "list_files"))
    _, rows = index.vectors.search(EMBEDDER.embed_queries(["delete the branch"]), 1)
    assert index.names[rows[0, 0]] == "delete_branch"
    assert index.names[int(index.lexical.scores([query_words("create issues")]).argmax())] == "create_issue"


def test_versions_that_are_open_at_once_hold_a_name_once() -> None:
    one, other = (
        open_index(artefact(), vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex) for _ in range(2)
    )
    assert one.names is not other.names
    assert all(name is same for name, same in zip(one.names, other.names, strict=True))


def test_a_version_of_another_lexical_rule_is_not_opened() -> None:
    one = artefact()
    other = Artefact(manifest=one.manifest.model_copy(update={"lexical_rule": "bm25f-0"}), files=one.files)
    with pytest.raises(ArtefactError, match="lexical_rule is bm25f-0"):
        open_index(other, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
