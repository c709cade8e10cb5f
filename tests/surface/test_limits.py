"""The six ceilings, and what fits under them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from surface.errors import ConfigurationError
from surface.limits import Admission, Limits, Room, admit, longest_prefix, room_beside
from surface.protocol import MAX_LIMIT
from surface.receipt import MAX_RECEIPT_CHARACTERS

WEIGHTS = {"a": 10, "b": 20, "c": 30, "d": 1, "base": 5}


def room(*, selected: int = 9, active: int = 9, schema_bytes: int = 900, present: tuple[str, ...] = ()) -> Room:
    return Room(selected=selected, active=active, schema_bytes=schema_bytes, present=present)


def admitted(names: str, where: Room, at_most: int | None = None) -> tuple[str, str]:
    made = admit(names.split(), WEIGHTS, where, at_most=at_most)
    return " ".join(made.admitted), " ".join(made.skipped)


@pytest.mark.parametrize("field", [field.name for field in fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "8", float("inf")])
def test_a_ceiling_is_a_whole_number_of_at_least_one(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"^limits\.{field}: needs a whole number of at least 1$"):
        Limits(**{field: value})
    assert getattr(Limits(**{field: 1}), field) == 1


def test_there_are_six_ceilings_and_none_changes_afterwards() -> None:
    limits = Limits()
    assert len(fields(limits)) == 6
    with pytest.raises(FrozenInstanceError):
        limits.max_results = 100  # type: ignore[misc]


@pytest.mark.rule("SRC-4", "RCP-2")
def test_no_receipt_may_weigh_more_than_can_be_read_again() -> None:
    Limits(max_result_bytes=MAX_RECEIPT_CHARACTERS)
    with pytest.raises(ConfigurationError, match=r"^limits\.max_result_bytes"):
        Limits(max_result_bytes=MAX_RECEIPT_CHARACTERS + 1)


@pytest.mark.rule("SRC-4", "RCP-2")
def test_no_search_may_select_more_names_than_a_receipt_can_hold() -> None:
    Limits(max_results=MAX_LIMIT)
    with pytest.raises(ConfigurationError, match=r"^limits\.max_results"):
        Limits(max_results=MAX_LIMIT + 1)


@pytest.mark.rule("SRC-5")
def test_the_room_is_what_base_and_pins_leave() -> None:
    limits = Limits(max_selected_tools=3, max_active_tools=5, max_schema_bytes=100)
    left = room_beside(limits, {"base": 5, "a": 10})
    assert (left.selected, left.active, left.schema_bytes, set(left.present)) == (3, 3, 85, {"base", "a"})


@pytest.mark.rule("SRC-5")
def test_admission_goes_by_rank() -> None:
    assert admitted("c a b", room(selected=2)) == ("c a", "b")
    assert admitted("c a b", room(active=1)) == ("c", "a b")


@pytest.mark.rule("SRC-5")
def test_a_tool_that_does_not_fit_is_skipped_and_a_lower_rank_may_still_fit() -> None:
    assert admitted("a c b d", room(schema_bytes=31)) == ("a b d", "c")


@pytest.mark.rule("SRC-5")
@pytest.mark.parametrize(("schema_bytes", "fits"), [(30, "a b"), (29, "a")])
def test_what_fits_exactly_fits(schema_bytes: int, fits: str) -> None:
    assert admitted("a b", room(schema_bytes=schema_bytes))[0] == fits


@pytest.mark.rule("SRC-5")
def test_a_tool_that_is_there_anyway_takes_a_place_in_the_selection_and_no_other_room() -> None:
    assert admitted("base a", room(active=1, schema_bytes=10, present=("base",))) == ("base a", "")
    assert admitted("base a", room(selected=1, present=("base",))) == ("base", "a")
    assert admitted("base a", room(active=0, present=("base",))) == ("base", "a")


@pytest.mark.rule("SRC-4", "SRC-5")
def test_admission_stops_at_the_result_ceiling_without_counting_the_rest_as_skipped() -> None:
    assert admitted("c a b", room(schema_bytes=25), at_most=1) == ("a", "c")
    assert admitted("a b c", room(), at_most=0) == ("", "")


def test_nothing_ranked_admits_nothing() -> None:
    assert admit([], {}, room()) == Admission(admitted=(), skipped=())


@pytest.mark.rule("ACT-6")
def test_a_selection_loses_its_lowest_ranks_from_the_first_that_does_not_fit() -> None:
    ranked = ("a", "c", "b", "d")
    assert longest_prefix(ranked, WEIGHTS, room(schema_bytes=31)) == Admission(admitted=("a",), skipped=("c", "b", "d"))
    assert longest_prefix(ranked, WEIGHTS, room()) == Admission(admitted=ranked, skipped=())
    assert longest_prefix(ranked, WEIGHTS, room(selected=0)) == Admission(admitted=(), skipped=ranked)
    assert longest_prefix((), WEIGHTS, room()) == Admission(admitted=(), skipped=())
