"""The indexes answer as the rules say: exact, ordered, and the same on every call."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from indexer.adapters.faiss_index import HALF_PRECISION_FROM, FaissVectorIndex, bytes_of
from indexer.adapters.lexical_index import ArrayLexicalIndex
from indexer.artefact import Artefact
from indexer.build import build
from indexer.catalog_file import CatalogTool
from indexer.contents import LexicalArrays
from indexer.document import documents_of
from indexer.errors import ArtefactError
from indexer.index import open_index
from surface.lexical import best_first, build_postings, query_words, score
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
    scores = lexical.scores(terms)
    assert {row: scores[row] for row in np.flatnonzero(scores)} == expected
    order = np.argsort(-scores, kind="stable")
    ranked = [(names[row], scores[row]) for row in order if scores[row]]
    assert ranked == best_first(names, expected, len(names))


@settings(max_examples=40)
@given(tools)
def test_the_arrays_hold_every_posting(given_tools: list[CatalogTool]) -> None:
    postings = build_postings([document.fields for document in documents_of(given_tools)])
    arrays = LexicalArrays.of(postings)
    for at, word in enumerate(arrays.words):
        span = slice(arrays.starts[at], arrays.starts[at + 1])
        assert arrays.rows[span].tolist() == list(postings.rows[word])
        assert arrays.impacts[span].tolist() == list(postings.impacts[word])
    assert len(arrays.words) == len(postings.rows)


def unit(rows: int, dimension: int, seed: int = 0) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(rows, dimension))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn.astype(np.float32)


def test_the_nearest_are_those_of_brute_force() -> None:
    vectors, queries = unit(300, 16), unit(7, 16, seed=1)
    scores, rows = FaissVectorIndex(vectors).search(queries, 10)
    exact = queries @ vectors.T
    np.testing.assert_array_equal(rows, np.argsort(-exact, axis=1)[:, :10])
    np.testing.assert_allclose(scores, -np.sort(-exact, axis=1)[:, :10], atol=1e-6)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.integers(1, 45))
def test_equal_scores_stand_in_row_order_also_where_they_are_cut(kinds: list[int], k: int) -> None:
    three = np.eye(3, dtype=np.float32)
    query = np.array([[0.9, 0.4, 0.1]], dtype=np.float32)
    scores, rows = FaissVectorIndex(three[kinds]).search(query, k)
    expected = sorted(range(len(kinds)), key=lambda row: (kinds[row], row))[:k]
    assert rows[0].tolist() == expected
    assert scores.shape == (1, min(k, len(kinds)))


def test_more_than_there_are_is_answered_with_what_there_is() -> None:
    scores, rows = FaissVectorIndex(unit(3, 16)).search(unit(2, 16), 1000)
    assert scores.shape == rows.shape == (2, 3)
    assert sorted(rows[0].tolist()) == [0, 1, 2]


def test_nothing_is_answered_with_nothing() -> None:
    empty = FaissVectorIndex(np.empty((0, 16), dtype=np.float32))
    assert empty.search(unit(2, 16), 5)[1].shape == (2, 0)
    assert FaissVectorIndex(unit(3, 16)).search(np.empty((0, 16), dtype=np.float32), 5)[1].shape == (0, 3)
    assert FaissVectorIndex(unit(3, 16)).search(unit(2, 16), 0)[1].shape == (2, 0)


@pytest.mark.parametrize(
    ("queries", "k"), [(np.full((1, 16), np.nan), 1), (unit(1, 8), 1), (unit(1, 16)[0], 1), (unit(1, 16), -1)]
)
def test_queries_that_would_be_answered_with_rows_that_do_not_exist_are_refused(
    queries: NDArray[np.float32], k: int
) -> None:
    with pytest.raises(ValueError, match=r"queries|k:"):
        FaissVectorIndex(unit(3, 16)).search(queries, k)


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


def test_threads_may_share_an_index() -> None:
    index = FaissVectorIndex(unit(500, 16))
    queries = unit(64, 16, seed=2)
    alone = index.search(queries, 10)[1]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda at: index.search(queries[at : at + 1], 10)[1][0], range(64)))
    np.testing.assert_array_equal(np.stack(together), alone)


def test_an_opened_index_finds_its_tools() -> None:
    one = artefact()
    index = open_index(one, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
    assert (index.version, index.names) == (one.version, ("create_issue", "delete_branch", "list_files"))
    _, rows = index.vectors.search(EMBEDDER.embed_queries(["delete the branch"]), 1)
    assert index.names[rows[0, 0]] == "delete_branch"
    assert index.names[int(index.lexical.scores(query_words("create issues")).argmax())] == "create_issue"


def test_a_version_of_another_lexical_rule_is_not_opened() -> None:
    one = artefact()
    other = Artefact(manifest=one.manifest.model_copy(update={"lexical_rule": "bm25f-0"}), files=one.files)
    with pytest.raises(ArtefactError, match="lexical_rule is bm25f-0"):
        open_index(other, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
