"""The paired bootstrap: laws of its interval, and cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selector.comparison import Difference, Pairs, compare
from selector.evaluation import Quality, judge, numbers_of
from tests.strategies import LAW

FOUND, LATE, MISSED = judge(["a"], ["a"]), judge(["x", "a"], ["a"]), judge(["x"], ["a"])
QUALITIES = st.sampled_from([FOUND, LATE, MISSED])
PAIRS = st.lists(st.tuples(QUALITIES, QUALITIES), min_size=1, max_size=30)


def _swapped(pairs: Pairs) -> list[tuple[Quality, Quality]]:
    return [(second, first) for first, second in pairs]


@LAW
@given(PAIRS)
def test_the_interval_lies_within_what_single_queries_differ_by_and_around_the_mean(pairs: Pairs) -> None:
    for metric, difference in compare([pairs], resamples=200).items():
        single = [numbers_of(second)[metric] - numbers_of(first)[metric] for first, second in pairs]
        assert min(single) - 1e-9 <= difference.low <= difference.high <= max(single) + 1e-9
        assert difference.mean == pytest.approx(np.mean(single))


@LAW
@given(PAIRS)
def test_swapping_the_rankings_mirrors_the_interval(pairs: Pairs) -> None:
    forth, back = compare([pairs], resamples=200), compare([_swapped(pairs)], resamples=200)
    for metric, difference in forth.items():
        assert back[metric].mean == pytest.approx(-difference.mean)
        assert back[metric].low == pytest.approx(-difference.high)
        assert back[metric].high == pytest.approx(-difference.low)


@LAW
@given(PAIRS)
def test_a_ranking_compared_with_itself_differs_by_exactly_nothing(pairs: Pairs) -> None:
    same = [(first, first) for first, _ in pairs]
    assert set(compare([same], resamples=50).values()) == {Difference(mean=0.0, low=0.0, high=0.0)}


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    pairs = [(FOUND, MISSED), (MISSED, FOUND), (LATE, FOUND)] * 9
    assert compare([pairs], seed=7) == compare([pairs], seed=7)
    assert compare([pairs], seed=7) != compare([pairs], seed=8)


def test_the_interval_is_as_wide_as_theory_says() -> None:
    """Differences of 0 and 1, half each: the standard error of the mean of 400 is 0.025."""
    pairs = [(MISSED, FOUND), (FOUND, FOUND)] * 200
    found = compare([pairs], resamples=4_000)["recall@1"]
    assert found.mean == 0.5
    assert found.low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.005)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.005)


def test_pairing_sees_what_the_means_alone_would_hide() -> None:
    """Queries differ wildly, and one ranking is a little better on each: certain, although neither mean is."""
    pairs = [(MISSED, LATE)] * 20 + [(LATE, FOUND)] * 20
    assert compare([pairs])["mrr"].certain


def test_over_several_sets_a_large_one_counts_no_more_than_a_small_one() -> None:
    large, small = [(MISSED, FOUND)] * 500, [(FOUND, MISSED)] * 5
    assert compare([large, small])["recall@1"] == Difference(mean=0.0, low=0.0, high=0.0)


def test_more_queries_than_are_drawn_at_once_are_still_all_drawn() -> None:
    pairs = [(MISSED, FOUND), (FOUND, FOUND)] * 60_000
    found = compare([pairs], resamples=40)["recall@1"]
    assert found.mean == 0.5
    assert 0.49 < found.low < found.high < 0.51


@pytest.mark.parametrize("sets", [[], [[]], [[(FOUND, FOUND)], []]])
def test_nothing_to_compare_is_an_error(sets: list[list[tuple[Quality, Quality]]]) -> None:
    with pytest.raises(ValueError, match="sets"):
        compare(sets)
    with pytest.raises(ValueError, match="resamples"):
        compare([[(FOUND, FOUND)]], resamples=0)
