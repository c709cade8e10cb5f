"""The name rule: tools that a query calls by name."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from surface.names import NameIndex, standing_first
from tests.strategies import LAW

NAMES = ["create_invoice", "delete_file", "find", "get_user", "getUser", "list_files", "list_filez", "which"]
INDEX = NameIndex(NAMES)


def _called(query: str) -> list[str]:
    return [NAMES[row] for row in INDEX.called(query)]


@pytest.mark.parametrize(
    "query", ["create_invoice", "  create_invoice\n", "`create_invoice`", '"create_invoice"', "CREATE_INVOICE"]
)
def test_the_whole_query_may_be_a_name(query: str) -> None:
    assert _called(query) == ["create_invoice"]


def test_a_name_of_one_part_counts_only_as_the_whole_query() -> None:
    assert _called("find") == ["find"]
    assert _called("find out which file is mine") == []


@pytest.mark.parametrize(
    "query",
    [
        "please call create_invoice for March",
        "use create_invoice.",
        "create_invoice(customer=3)",
        "Use 'Create_Invoice'!",
        "use craete_invoice now",
    ],
)
def test_a_name_of_several_parts_is_found_inside_a_sentence(query: str) -> None:
    assert _called(query) == ["create_invoice"]


def test_several_names_stand_in_the_order_the_query_calls_them_and_once() -> None:
    assert _called("first get_user, then create_invoice, then get_user again") == ["get_user", "create_invoice"]


@pytest.mark.parametrize(
    "query", ["creat_invoice", "create_invoicee", "craete_invoice", "create-invoice", "cReate_Invoic"]
)
def test_one_typo_is_forgiven(query: str) -> None:
    assert _called(query) == ["create_invoice"]


@pytest.mark.parametrize("query", ["create_invoi", "fnd", "list_filex", "", "   ", "`", "write me a poem"])
def test_two_typos_short_names_ambiguous_ones_and_other_words_call_nothing(query: str) -> None:
    assert _called(query) == []


def test_upper_and_lower_case_decide_where_two_names_differ_only_by_them() -> None:
    index = NameIndex(["readfile", "readFile"])
    assert index.called("readFile") == (1,)
    assert index.called("READFILE") == ()


def test_a_catalog_without_tools_calls_nothing() -> None:
    assert NameIndex([]).called("find") == ()


def test_called_tools_stand_above_the_best_other_one_in_their_order() -> None:
    assert standing_first([4, 2], best=7.5) == {4: 9.5, 2: 8.5}


@LAW
@given(
    st.lists(st.from_regex(r"[a-z]{3,6}_[a-z]{3,6}", fullmatch=True), min_size=1, max_size=20, unique=True), st.data()
)
def test_every_name_calls_itself_whole_and_inside_a_sentence(names: list[str], data: st.DataObject) -> None:
    index = NameIndex(names)
    row = data.draw(st.integers(0, len(names) - 1))
    assert index.called(names[row]) == (row,)
    assert index.called(f"now run {names[row]}, please") == (row,)


@LAW
@given(st.lists(st.text("abc", min_size=5, max_size=7), min_size=1, max_size=6, unique=True), st.data())
def test_a_whole_query_calls_the_one_name_that_is_a_typo_away(names: list[str], data: st.DataObject) -> None:
    query = names[0]
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(1, len(query) - 1))
        query = query[:at] + data.draw(st.sampled_from("abc x")) + query[at + data.draw(st.integers(0, 1)) :]
    assume(query == query.strip() and query not in names)
    near = [row for row, name in enumerate(names) if OSA.distance(query, name) == 1]
    assert NameIndex(names).called(query) == (tuple(near) if len(near) == 1 else ())


@LAW
@given(st.text(max_size=300))
def test_any_query_is_read_without_an_error(query: str) -> None:
    assume(query not in NAMES)
    assert all(0 <= row < len(NAMES) for row in INDEX.called(query))
