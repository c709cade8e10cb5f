"""Whether anything in a catalog fits a query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.calibration import Calibration
from selector.abstaining import LOW_WEIGHT, SIZE_WEIGHT, bar, fits, nearness
from tests.strategies import LAW

MEASURED = Calibration(mean=0.02, spread=0.3, low=0.15, request_mean=0.07, request_spread=0.08)
COSINES = st.integers(1, 6).flatmap(
    lambda tools: st.lists(
        st.lists(st.floats(-1.0, 1.0, width=32), min_size=tools, max_size=tools), min_size=1, max_size=5
    )
)


def test_a_query_of_one_request_is_as_near_as_its_nearest_tool() -> None:
    assert nearness(np.array([[0.1, 0.6, 0.2]])) == pytest.approx(0.6)


def test_a_clause_that_is_nearer_than_its_query_counts_half() -> None:
    assert nearness(np.array([[0.2, 0.1], [0.0, 0.8], [0.4, 0.1]])) == pytest.approx(0.5)


def test_clauses_that_are_farther_than_their_query_take_nothing_from_it() -> None:
    assert nearness(np.array([[0.7, 0.1], [0.0, 0.1]])) == pytest.approx(0.7)


@LAW
@given(COSINES)
def test_nearness_lies_between_the_nearest_of_the_query_and_the_nearest_of_all(cosines: list[list[float]]) -> None:
    matrix = np.array(cosines)
    assert matrix[0].max() - 1e-9 <= nearness(matrix) <= matrix.max() + 1e-9


def test_the_bar_lies_in_spreads_of_unrelated_requests_and_a_quarter_of_the_way_to_the_low_mark() -> None:
    assert bar(MEASURED, tools=1, strictness=2.0) == pytest.approx(0.07 + LOW_WEIGHT * 0.08 + 2.0 * 0.08)


def test_ten_times_the_tools_raise_the_bar_by_the_same_wherever_one_begins() -> None:
    bars = [bar(MEASURED, tools=tools, strictness=1.0) for tools in (10, 100, 1_000)]
    steps = np.diff(bars)
    assert steps[0] == pytest.approx(steps[1]) == pytest.approx(0.08 * SIZE_WEIGHT * np.log(10))


@given(st.integers(1, 100_000), st.floats(0.1, 6.0), st.floats(-1.0, 1.0), st.floats(0.01, 2.0), st.floats(-1.0, 1.0))
def test_a_model_whose_cosines_lie_elsewhere_gives_the_same_answers(
    tools: int, strictness: float, near: float, scale: float, shift: float
) -> None:
    moved = Calibration(
        mean=shift + scale * 0.02,
        spread=scale * 0.3,
        low=shift + scale * 0.15,
        request_mean=shift + scale * 0.07,
        request_spread=scale * 0.08,
    )
    distance = near - bar(MEASURED, tools=tools, strictness=strictness)
    there = shift + scale * near - bar(moved, tools=tools, strictness=strictness)
    assert there == pytest.approx(scale * distance, abs=1e-9)


def test_strictness_0_answers_everything() -> None:
    assert fits(-1.0, MEASURED, tools=100_000, strictness=0.0)


def test_a_query_fits_from_the_bar_on() -> None:
    needed = bar(MEASURED, tools=50, strictness=2.0)
    assert fits(needed, MEASURED, tools=50, strictness=2.0)
    assert not fits(needed - 1e-9, MEASURED, tools=50, strictness=2.0)


def test_a_version_from_before_the_requests_were_compared_goes_by_its_own_cosines() -> None:
    earlier = Calibration(mean=0.07, spread=0.08, low=0.15)
    assert bar(earlier, tools=40, strictness=2.0) == pytest.approx(bar(MEASURED, tools=40, strictness=2.0))
