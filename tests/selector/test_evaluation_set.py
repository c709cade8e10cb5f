"""Reading, filtering and sampling judged queries."""

from __future__ import annotations

import json

import pytest

from selector.errors import EvaluationError
from selector.evaluation_set import JudgedQuery, UnknownRelevant, choose, parse_queries, unknown_relevant


def _queries(count: int) -> list[JudgedQuery]:
    return [
        JudgedQuery(id=f"q{at}", query="find", relevant=("a",), fold="dev" if at % 2 else "test", split="hard")
        for at in range(count)
    ]


def test_lines_become_queries_and_blank_ones_and_other_fields_are_passed_over() -> None:
    line = json.dumps({"id": "1", "query": "find", "relevant": ["a", "b"], "match": "any", "fold": "dev", "x": [1]})
    (query,) = parse_queries(["", line, "  "], source="file")
    assert query.relevant == ("a", "b")
    assert query.match == "any"
    assert query.split is None


@pytest.mark.rule("EVD-2")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "1", "query": "s3cret", "relevant": []}', "relevant"),
        ('{"id": "1", "query": 7, "relevant": ["a"]}', "query"),
        ('{"query": "s3cret", "relevant": ["a"]}', "id"),
        ('{"id": "1", "query": "s3cret", "relevant": ["a"], "match": "s3cret"}', "match"),
        ("s3cret", "line"),
    ],
)
def test_a_wrong_line_is_named_with_its_field_and_without_its_query(line: str, said: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        parse_queries(["", line], source="set.jsonl")
    assert "set.jsonl, line 2" in str(raised.value)
    assert said in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_filters_keep_the_order_of_the_file() -> None:
    assert [query.id for query in choose(_queries(6), folds={"dev"}, split="hard")] == ["q1", "q3", "q5"]


def test_a_sample_is_the_same_each_time_and_grows_without_losing_any() -> None:
    queries = _queries(40)
    small = {query.id for query in choose(queries, sample=5)}
    large = {query.id for query in choose(list(reversed(queries)), sample=10)}
    assert len(small) == 5
    assert small < large
    assert choose(queries, sample=100) == queries


@pytest.mark.parametrize(("fold", "split", "said"), [("nope", None, "dev, test"), ("dev", "nope", "hard")])
def test_nothing_left_says_what_there_is(fold: str, split: str | None, said: str) -> None:
    with pytest.raises(EvaluationError, match=said):
        choose(_queries(4), folds={fold}, split=split)


def test_queries_of_any_of_several_folds_are_kept() -> None:
    assert choose(_queries(4), folds=("dev", "test", "transfer")) == _queries(4)


@pytest.mark.rule("EVD-2")
def test_ids_that_stand_twice_are_one_error_with_their_lines() -> None:
    line = '{"id": "s3cret-%s", "query": "find", "relevant": ["a"]}'
    with pytest.raises(EvaluationError) as raised:
        parse_queries([line % at for at in (1, 2, 1, 3, 2, 2, 2)], source="set.jsonl")
    assert "set.jsonl: id: 4 line(s) repeat" in str(raised.value)
    assert "line 3 (as in 1), 5 (as in 2), 6 (as in 2) …" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_what_no_catalog_holds_is_counted_by_query_and_by_name() -> None:
    queries = [
        JudgedQuery(id="1", query="find", relevant=("a", "gone")),
        JudgedQuery(id="2", query="find", relevant=("gone", "lost")),
        JudgedQuery(id="3", query="find", relevant=("a",)),
    ]
    assert unknown_relevant(queries, {"a", "b"}) == UnknownRelevant(queries=2, names=2)
    assert unknown_relevant([], {"a"}) == UnknownRelevant(queries=0, names=0)


@pytest.mark.parametrize(
    ("query", "relevant"),
    [("mail the bill", ("invoice_send",)), ("what is it for", ("isItFor",)), ("送る", ("invoice_send", "mail"))],
)
def test_a_query_is_hard_when_it_says_no_word_of_any_wanted_name(query: str, relevant: tuple[str, ...]) -> None:
    assert JudgedQuery(id="1", query=query, relevant=relevant).hard


@pytest.mark.parametrize(
    ("query", "relevant"),
    [("send the invoices", ("invoice_send",)), ("mail the bill", ("invoice_send", "BillPrinter"))],
)
def test_a_query_is_not_hard_when_it_says_a_word_of_one_of_them(query: str, relevant: tuple[str, ...]) -> None:
    assert not JudgedQuery(id="1", query=query, relevant=relevant).hard
