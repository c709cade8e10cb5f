"""Fusion, order and cut, as pure arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.calibration import Calibration
from selector.ranking import (
    KEPT_SHARE,
    LEAST_TRUST,
    MOST_HEADS,
    Dense,
    Scored,
    best_first,
    put_first,
    rank_dense,
    rank_hybrid,
    rank_lexical,
    trust,
)
from selector.scoring import LEXICAL_WEIGHT
from tests.strategies import LAW

UNIT = Calibration(mean=0.0, spread=1.0, low=0.0)
"""One in which a cosine is its own score."""
STRANGE = Calibration(mean=0.0, spread=1.0, low=0.2, request_mean=0.2, request_spread=0.1)
"""One with a bar of 0.35 for one tool at a strictness of 1.5."""


def _dense(*cosines: list[float]) -> Dense:
    orders = [np.argsort(-np.array(row), kind="stable") for row in cosines]
    return Dense(
        scores=np.array([np.array(row, dtype=np.float32)[at] for row, at in zip(cosines, orders, strict=True)]),
        rows=np.array(orders, dtype=np.int64),
    )


def _hybrid(
    lexical: list[list[float]], dense: Dense, *, trust: float = 1.0, strictness: float = 0.0, limit: int = 10
) -> list[Scored]:
    return rank_hybrid(np.array(lexical), dense, trust=trust, calibration=UNIT, strictness=strictness, limit=limit)


def _rows(ranked: list[Scored]) -> list[int]:
    return [scored.row for scored in ranked]


def test_both_legs_count() -> None:
    ranked = _hybrid([[0.0, 20.0, 0.0]], _dense([0.5, 0.2, 0.1]))
    assert _rows(ranked) == [1, 0, 2]
    assert ranked[0].score == pytest.approx(0.2 + LEXICAL_WEIGHT * 20.0)


def test_a_cosine_counts_in_how_far_it_stands_out() -> None:
    calibration = Calibration(mean=0.1, spread=0.2, low=0.0)
    ranked = rank_hybrid(np.zeros((1, 2)), _dense([0.5, 0.1]), trust=1.0, calibration=calibration, limit=2)
    assert ranked[0].score == pytest.approx(2.0)


def test_common_words_do_not_outweigh_the_vectors() -> None:
    assert _rows(_hybrid([[0.0, 1.0]], _dense([0.5, 0.2]))) == [0, 1]


def test_an_unreadable_query_is_left_to_the_words_and_vectors_break_ties() -> None:
    ranked = _hybrid([[0.0, 3.0, 3.0]], _dense([0.9, 0.1, 0.2]), trust=LEAST_TRUST)
    assert _rows(ranked) == [2, 1, 0]


def test_a_tool_found_only_by_its_words_takes_the_last_reported_cosine() -> None:
    dense = Dense(scores=np.array([[0.6, 0.4]], dtype=np.float32), rows=np.array([[0, 1]]))
    ranked = _hybrid([[0.0, 0.0, 1.0, 0.0]], dense)
    assert _rows(ranked) == [0, 2, 1]
    assert ranked[1].score == pytest.approx(0.4 + LEXICAL_WEIGHT)


def test_equal_scores_stand_in_row_order_in_every_leg() -> None:
    same = np.array([1.0, 1.0, 1.0, 1.0])
    dense = Dense(scores=np.full((1, 4), 0.5, dtype=np.float32), rows=np.array([[3, 1, 0, 2]]))
    assert _rows(rank_lexical(same, limit=3)) == [0, 1, 2]
    assert _rows(rank_dense(dense, limit=3)) == [0, 1, 2]
    assert _rows(_hybrid([same.tolist()], dense, limit=3)) == [0, 1, 2]


def test_words_alone_rank_only_tools_that_share_one() -> None:
    assert _rows(rank_lexical(np.array([0.0, 2.0, 0.0, 1.0]), limit=10)) == [1, 3]


def test_the_best_tool_of_each_clause_stands_in_front_of_the_many_that_fit_one_need() -> None:
    # Rows 0 to 3 serve the first need, row 4 the second; the whole query is near the first need only.
    whole, first, second = [0.9, 0.8, 0.7, 0.6, 0.1], [0.9, 0.8, 0.7, 0.6, 0.0], [0.0, 0.0, 0.0, 0.0, 0.8]
    none = [0.0] * 5
    assert _rows(_hybrid([none], _dense(whole))) == [0, 1, 2, 3, 4]
    assert _rows(_hybrid([none] * 3, _dense(whole, first, second)))[:2] == [0, 4]


def test_only_the_surest_clauses_have_their_best_in_front() -> None:
    size = MOST_HEADS + 3
    clauses = [[0.9 - 0.1 * clause if row == clause + 1 else 0.0 for row in range(size)] for clause in range(size - 1)]
    dense = _dense([1.0, *[0.0] * (size - 1)], *clauses)
    front = _rows(_hybrid([[0.0] * size] * size, dense))
    assert front[: MOST_HEADS + 1] == list(range(MOST_HEADS + 1))


def test_the_ranking_abstains_where_nothing_fits_and_strictness_0_never_does() -> None:
    words, dense = np.array([[9.0, 0.0]]), _dense([0.34, 0.1])
    assert rank_hybrid(words, dense, trust=1.0, calibration=STRANGE, strictness=1.5, limit=5) == []
    assert _rows(rank_hybrid(words, dense, trust=1.0, calibration=STRANGE, strictness=0.0, limit=5)) == [0, 1]


def test_the_bar_is_that_of_all_tools_of_the_catalog() -> None:
    few = rank_hybrid(np.zeros((1, 2)), _dense([0.4, 0.1]), trust=1.0, calibration=STRANGE, strictness=1.5, limit=5)
    tools = 400
    dense = _dense([0.4, *[0.1] * (tools - 1)])
    assert few
    assert not rank_hybrid(np.zeros((1, tools)), dense, trust=1.0, calibration=STRANGE, strictness=1.5, limit=5)


def test_vectors_never_say_that_nothing_fits_a_query_the_model_cannot_read() -> None:
    calibration = Calibration(mean=0.0, spread=0.1, low=0.9)
    dense = _dense([0.1, 0.1])
    ranked = rank_hybrid(np.array([[0.0, 3.0]]), dense, trust=LEAST_TRUST, calibration=calibration, limit=5)
    assert _rows(ranked)[0] == 1


def test_tools_far_behind_the_best_are_left_out_unless_a_clause_wants_them() -> None:
    best = 5.0
    dense = _dense([best, KEPT_SHARE * best + 0.01, KEPT_SHARE * best - 0.01])
    assert _rows(_hybrid([[0.0] * 3], dense, strictness=1.0)) == [0, 1]
    assert _rows(_hybrid([[0.0] * 3], dense, strictness=0.0)) == [0, 1, 2]
    wanted = _dense([best, 0.1, 0.0], [best, 0.0, 0.0], [0.0, 0.0, 4.0])
    assert _rows(_hybrid([[0.0] * 3] * 3, wanted, strictness=1.0)) == [0, 2]


@LAW
@given(
    st.integers(1, 4).flatmap(
        lambda texts: st.integers(1, 8).flatmap(
            lambda tools: st.lists(
                st.lists(st.floats(-1.0, 1.0, width=32), min_size=tools, max_size=tools),
                min_size=texts,
                max_size=texts,
            )
        )
    ),
    st.integers(1, 10),
)
def test_a_ranking_holds_each_tool_once_within_the_limit_and_repeats_itself(
    cosines: list[list[float]], limit: int
) -> None:
    lexical = [[0.0] * len(cosines[0])] * len(cosines)
    ranked = _hybrid(lexical, _dense(*cosines), limit=limit)
    assert len(set(_rows(ranked))) == len(ranked) == min(limit, len(cosines[0]))
    assert ranked == _hybrid(lexical, _dense(*cosines), limit=limit)


def test_a_tool_that_no_leg_found_is_no_clauses_best_where_it_has_the_score_of_one_that_was_found() -> None:
    last = Dense(scores=np.array([[0.25]] * 2, dtype=np.float32), rows=np.array([[4]] * 2))
    assert _rows(_hybrid([[0.0] * 5] * 2, last)) == [4]


@LAW
@given(st.integers(1, 3), st.integers(1, 12), st.data())
def test_a_tool_is_ranked_where_a_leg_found_it_and_fewer_are_the_first_of_more(
    texts: int, tools: int, data: st.DataObject
) -> None:
    def drawn(values: list[float]) -> list[list[float]]:
        row = st.lists(st.sampled_from(values), min_size=tools, max_size=tools)
        return data.draw(st.lists(row, min_size=texts, max_size=texts))

    every, lexical = _dense(*drawn([0.0, 0.25, 0.5])), drawn([0.0, 0.0, 0.0, 1.0])
    reported = data.draw(st.integers(1, tools))
    dense = Dense(scores=every.scores[:, :reported], rows=every.rows[:, :reported])
    ranked = _hybrid(lexical, dense, limit=tools)
    found = set(dense.rows.ravel().tolist()) | {row for of in lexical for row, points in enumerate(of) if points}
    assert set(_rows(ranked)) >= found
    if texts == 1:  # the best for a clause is one of all tools, where the last reported cosine is the best as well
        assert set(_rows(ranked)) == found
        assert ranked == sorted(ranked, key=lambda each: (-each.score, each.row))
    for limit in range(1, tools):
        assert _hybrid(lexical, dense, limit=limit) == ranked[:limit]


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
        ("文件 filename", 0.5),
        ("файл filename", 8 / 12),
        ("文件 file", LEAST_TRUST),
    ],
)
def test_trust_is_the_share_of_latin_letters_or_next_to_nothing_where_that_is_less_than_half(
    query: str, expected: float
) -> None:
    assert trust(query) == pytest.approx(expected)


def test_called_tools_come_first_once_in_their_order_and_within_the_limit() -> None:
    ranked = [Scored(row=1, score=0.9), Scored(row=2, score=0.8), Scored(row=0, score=0.7)]
    first = put_first((0, 2), ranked, limit=3)
    assert _rows(first) == [0, 2, 1]
    assert first[0].score > first[1].score > first[2].score
    assert _rows(put_first((5,), [], limit=2)) == [5]
    assert _rows(put_first((0, 2), ranked, limit=1)) == [0]
