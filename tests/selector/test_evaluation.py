"""The metrics against cases computed by hand."""

from __future__ import annotations

from math import log2

import pytest

from selector.evaluation import DEPTH, judge, mean, percentile


def test_one_wanted_tool_in_second_place() -> None:
    quality = judge(["x", "a", "y"], ["a"])
    assert dict(quality.recall) == {1: 0.0, 3: 1.0, 5: 1.0, 8: 1.0, 10: 1.0}
    assert quality.ndcg == pytest.approx(1 / log2(3))
    assert quality.mrr == 0.5
    assert quality.complete == 1.0


def test_two_of_three_wanted_tools_are_found_one_of_them_late() -> None:
    quality = judge(["a", "x", "x2", "x3", "x4", "x5", "b"], ["a", "b", "c"])
    assert quality.recall[1] == pytest.approx(1 / 3)
    assert quality.recall[5] == pytest.approx(1 / 3)
    assert quality.recall[8] == pytest.approx(2 / 3)
    ideal = 1 + 1 / log2(3) + 1 / log2(4)
    assert quality.ndcg == pytest.approx((1 + 1 / log2(8)) / ideal)
    assert quality.mrr == 1.0
    assert quality.complete == 0.0


def test_all_wanted_tools_within_five_are_complete() -> None:
    assert judge(["a", "x", "b"], ["b", "a"]).complete == 1.0


def test_of_interchangeable_tools_the_first_found_counts_as_all() -> None:
    quality = judge(["x", "b", "a"], ["a", "b", "c"], interchangeable=True)
    assert quality.recall[1] == 0.0
    assert quality.recall[3] == 1.0
    assert quality.ndcg == pytest.approx(1 / log2(3))
    assert quality.complete == 1.0


def test_finding_nothing_scores_nothing() -> None:
    quality = judge([], ["a"])
    assert set(quality.recall.values()) == {0.0}
    assert (quality.ndcg, quality.mrr, quality.complete) == (0.0, 0.0, 0.0)


def test_more_wanted_tools_than_places_are_ideal_when_every_place_holds_one() -> None:
    names = [str(number) for number in range(12)]
    quality = judge(names[:DEPTH], names)
    assert quality.ndcg == pytest.approx(1.0)
    assert quality.recall[10] == pytest.approx(10 / 12)


def test_a_name_that_is_wanted_or_ranked_twice_counts_once() -> None:
    assert judge(["a", "a", "b"], ["a", "a", "b"]).recall[3] == 1.0
    assert judge(["a", "a", "b"], ["b"]).mrr == 0.5


def test_the_mean_is_taken_over_queries() -> None:
    both = mean([judge(["a"], ["a"]), judge(["x"], ["a"])])
    assert both.recall[1] == 0.5
    assert (both.ndcg, both.mrr, both.complete) == (0.5, 0.5, 0.5)


def test_nothing_to_judge_is_an_error() -> None:
    with pytest.raises(ValueError, match="wanted"):
        judge(["a"], [])
    with pytest.raises(ValueError, match="qualities"):
        mean([])


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 2.0), (0.75, 3.0), (0.95, 4.0), (1.0, 4.0)])
def test_a_percentile_is_one_of_the_values(share: float, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == expected


def test_no_values_have_the_percentile_zero() -> None:
    assert percentile([], 0.5) == 0.0
