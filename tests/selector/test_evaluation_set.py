"""Reading, filtering and sampling judged queries."""

from __future__ import annotations

import json

import pytest

from selector.errors import EvaluationError
from selector.evaluation_set import JudgedQuery, choose, parse_queries


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
    assert [query.id for query in choose(_queries(6), fold="dev", split="hard")] == ["q1", "q3", "q5"]


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
        choose(_queries(4), fold=fold, split=split)
