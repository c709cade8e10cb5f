"""Fusion, order and cut, as pure arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selector.ranking import (
    LEAST_TRUST,
    LEXICAL_WEIGHT,
    Dense,
    Scored,
    best_first,
    named_exactly,
    put_first,
    rank_dense,
    rank_hybrid,
    rank_lexical,
    trust,
)


def _dense(*cosines: float) -> Dense:
    order = np.argsort(-np.array(cosines), kind="stable")
    return Dense(scores=np.array(cosines, dtype=np.float32)[order], rows=order.astype(np.int64))


def _rows(ranked: list[Scored]) -> list[int]:
    return [scored.row for scored in ranked]


def test_both_legs_count() -> None:
    ranked = rank_hybrid(np.array([0.0, 20.0, 0.0]), _dense(0.5, 0.2, 0.1), trust=1.0, limit=3)
    assert _rows(ranked) == [1, 0, 2]
    assert ranked[0].score == pytest.approx(0.2 + LEXICAL_WEIGHT * 20.0)


def test_common_words_do_not_outweigh_the_vectors() -> None:
    assert _rows(rank_hybrid(np.array([0.0, 2.0]), _dense(0.5, 0.2), trust=1.0, limit=2)) == [0, 1]


def test_an_unreadable_query_is_left_to_the_words_and_vectors_break_ties() -> None:
    ranked = rank_hybrid(np.array([0.0, 3.0, 3.0]), _dense(0.9, 0.1, 0.2), trust=LEAST_TRUST, limit=3)
    assert _rows(ranked) == [2, 1, 0]


def test_a_tool_found_only_by_its_words_takes_the_last_reported_cosine() -> None:
    dense = Dense(scores=np.array([0.6, 0.4], dtype=np.float32), rows=np.array([0, 1]))
    ranked = rank_hybrid(np.array([0.0, 0.0, 5.0, 0.0]), dense, trust=1.0, limit=10)
    assert _rows(ranked) == [0, 2, 1]
    assert ranked[1].score == pytest.approx(0.4 + LEXICAL_WEIGHT * 5.0)


def test_equal_scores_stand_in_row_order_in_every_leg() -> None:
    same = np.array([1.0, 1.0, 1.0, 1.0])
    dense = Dense(scores=np.full(4, 0.5, dtype=np.float32), rows=np.array([3, 1, 0, 2]))
    assert _rows(rank_lexical(same, limit=3)) == [0, 1, 2]
    assert _rows(rank_dense(dense, limit=3)) == [0, 1, 2]
    assert _rows(rank_hybrid(same, dense, trust=1.0, limit=3)) == [0, 1, 2]


def test_words_alone_rank_only_tools_that_share_one() -> None:
    assert _rows(rank_lexical(np.array([0.0, 2.0, 0.0, 1.0]), limit=10)) == [1, 3]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]), max_size=60), st.integers(1, 70))
def test_the_cut_keeps_what_a_full_sort_would_put_first(scores: list[float], limit: int) -> None:
    everything = sorted(range(len(scores)), key=lambda row: (-scores[row], row))
    ranked = best_first(np.array(scores, dtype=np.float64), np.arange(len(scores)), limit=limit)
    assert _rows(ranked) == everything[:limit]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("delete a file", 1.0),
        ("2 + 2 = ?", 1.0),
        ("café à côté", 1.0),
        ("列出所有文件", LEAST_TRUST),
        ("удалить файл", LEAST_TRUST),
        ("文件 file", 4 / 6),
    ],
)
def test_trust_is_the_share_of_latin_letters(query: str, expected: float) -> None:
    assert trust(query) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("query", "row"), [("b", 1), ("  b\n", 1), ("`b`", 1), ('"c d"', 2), ("B", None), ("", None), ("zz", None)]
)
def test_a_query_that_is_a_name_is_recognised_and_nothing_like_it(query: str, row: int | None) -> None:
    assert named_exactly(query, ["a", "b", "c d"]) == row


def test_the_named_tool_comes_first_once_within_the_limit() -> None:
    ranked = [Scored(row=1, score=0.9), Scored(row=2, score=0.8), Scored(row=0, score=0.7)]
    first = put_first(0, ranked, limit=2)
    assert _rows(first) == [0, 1]
    assert first[0].score > first[1].score
    assert _rows(put_first(5, [], limit=2)) == [5]
