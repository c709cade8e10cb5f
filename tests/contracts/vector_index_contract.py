"""What every `VectorIndex` answers: the nearest rows of all, in one order, however the engine came by them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from indexer.ports import VectorIndex

Build: TypeAlias = Callable[[NDArray[np.float32]], VectorIndex]


def unit(rows: int, dimension: int, seed: int = 0) -> NDArray[np.float32]:
    """That many vectors of length 1."""
    drawn = np.random.default_rng(seed).normal(size=(rows, dimension))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn.astype(np.float32)


class VectorIndexContract:
    """Subclass it with a fixture `build`."""

    def test_the_nearest_are_those_of_brute_force(self, build: Build) -> None:
        vectors, queries = unit(300, 16), unit(7, 16, seed=1)
        scores, rows = build(vectors).search(queries, 10)
        exact = queries @ vectors.T
        np.testing.assert_array_equal(rows, np.argsort(-exact, axis=1)[:, :10])
        np.testing.assert_allclose(scores, -np.sort(-exact, axis=1)[:, :10], atol=1e-6)
        assert (scores.dtype.str, rows.dtype.str) == ("<f4", "<i8")

    @pytest.mark.parametrize("k", [1, 2, 7, 20, 45])
    def test_equal_scores_stand_in_row_order_also_where_they_are_cut(self, build: Build, k: int) -> None:
        kinds = np.random.default_rng(k).integers(0, 3, size=40).tolist()
        three = np.eye(3, dtype=np.float32)
        query = np.array([[0.9, 0.4, 0.1]], dtype=np.float32)
        scores, rows = build(three[kinds]).search(query, k)
        expected = sorted(range(len(kinds)), key=lambda row: (kinds[row], row))[:k]
        assert rows[0].tolist() == expected
        np.testing.assert_allclose(scores[0], query[0][[kinds[row] for row in expected]], atol=1e-6)

    def test_more_than_there_are_is_answered_with_what_there_is(self, build: Build) -> None:
        scores, rows = build(unit(3, 16)).search(unit(2, 16), 1000)
        assert scores.shape == rows.shape == (2, 3)
        assert sorted(rows[0].tolist()) == [0, 1, 2]

    def test_nothing_is_answered_with_nothing(self, build: Build) -> None:
        assert build(np.empty((0, 16), dtype=np.float32)).search(unit(2, 16), 5)[1].shape == (2, 0)
        three = build(unit(3, 16))
        assert three.search(np.empty((0, 16), dtype=np.float32), 5)[1].shape == (0, 3)
        assert three.search(unit(2, 16), 0)[1].shape == (2, 0)

    @pytest.mark.parametrize(
        ("queries", "k"), [(np.full((1, 16), np.nan), 1), (unit(1, 8), 1), (unit(1, 16)[0], 1), (unit(1, 16), -1)]
    )
    def test_queries_that_would_be_answered_with_rows_that_do_not_exist_are_refused(
        self, build: Build, queries: NDArray[np.float32], k: int
    ) -> None:
        with pytest.raises(ValueError, match=r"queries|k:"):
            build(unit(3, 16)).search(queries, k)

    def test_a_score_is_an_inner_product_from_minus_one_to_one(self, build: Build) -> None:
        vectors = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], dtype=np.float32)
        scores, rows = build(vectors).search(vectors[:1], 3)
        assert rows[0].tolist() == [0, 1, 2]
        np.testing.assert_allclose(scores[0], [1.0, 0.0, -1.0], atol=1e-6)

    def test_threads_may_share_an_index(self, build: Build) -> None:
        index = build(unit(500, 16))
        queries = unit(64, 16, seed=2)
        alone = index.search(queries, 10)[1]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda at: index.search(queries[at : at + 1], 10)[1][0], range(64)))
        np.testing.assert_array_equal(np.stack(together), alone)
