"""Where a query that asks for several things is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selector.clauses import LEAST_WORDS, MAX_CLAUSES, clauses
from surface.lexical import query_words
from tests.strategies import LAW


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("find the overdue invoices and text each customer", ("find the overdue invoices", "text each customer")),
        ("Book a flight; then rent a car.", ("Book a flight", "rent a car")),
        ("send the report, reserve a table", ("send the report", "reserve a table")),
        ("删除所有文件。发送一封邮件", ("删除所有文件", "发送一封邮件")),
        ("What is the weather tomorrow? Also play some jazz", ("What is the weather tomorrow", "play some jazz")),
    ],
)
def test_requests_joined_by_words_or_signs_are_cut_apart(query: str, expected: tuple[str, ...]) -> None:
    assert clauses(query) == expected


@pytest.mark.parametrize("query", ["cats and dogs", "list files", "", " . ", "the price in Paris, France", "and then"])
def test_one_request_has_no_clauses(query: str) -> None:
    assert clauses(query) == ()


@LAW
@given(st.text(max_size=2_000))
def test_clauses_are_few_lie_in_the_query_and_say_something(query: str) -> None:
    found = clauses(query)
    assert len(found) != 1
    assert len(found) <= MAX_CLAUSES
    assert all(clause in query and len(query_words(clause)) >= LEAST_WORDS for clause in found)
