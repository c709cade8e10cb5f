"""Asking a ranker and judging what it says; what that leaves behind, and what reads it again."""

from __future__ import annotations

import json
from itertools import count

import pytest

from selector.errors import EvaluationError
from selector.evaluation import numbers_of
from selector.evaluation_run import Evaluation, count_false_returns, evaluate
from selector.evaluation_set import JudgedQuery
from selector.per_query import per_query_lines, read_per_query
from surface.protocol import RankReply
from surface.ranking import RankRequest
from surface.testing import ScriptedRanker

QUERIES = [
    JudgedQuery(id="1", query="s3cret delete it", relevant=("file_delete",)),
    JudgedQuery(id="2", query="s3cret wipe it", relevant=("file_delete",)),
    JudgedQuery(id="3", query="s3cret nonsense", relevant=("file_copy",)),
]
RANKER = ScriptedRanker(
    answers={QUERIES[0].query: ["file_delete", "file_copy"], QUERIES[1].query: ["file_copy", "file_delete"]}
)


class Undecided:
    """Abstains, and names tools all the same."""

    id = "undecided"

    async def rank(self, request: RankRequest) -> RankReply:
        reply = await RANKER.rank(request)
        return reply.model_copy(update={"abstained": True})


async def _evaluated() -> Evaluation:
    ticks = count()
    return await evaluate(RANKER, QUERIES, clock=lambda: next(ticks) / 1000)


async def test_every_query_is_judged_and_an_abstention_has_found_nothing() -> None:
    evaluation = await _evaluated()
    assert [reply.answered for reply in evaluation.replies] == [2, 2, 0]
    assert [reply.quality.mrr for reply in evaluation.replies] == [1.0, 0.5, 0.0]
    assert evaluation.quality.recall[1] == pytest.approx(1 / 3)
    assert [reply.ms for reply in evaluation.replies] == pytest.approx([1.0, 1.0, 1.0])


async def test_the_hard_queries_are_those_that_say_no_word_of_a_wanted_name() -> None:
    evaluation = await _evaluated()
    assert [reply.hard for reply in evaluation.replies] == [False, True, True]
    assert evaluation.hard is not None
    assert evaluation.hard.mrr == 0.25


async def test_a_set_without_hard_queries_has_no_hard_numbers() -> None:
    assert (await evaluate(RANKER, QUERIES[:1], clock=lambda: 0.0)).hard is None


async def test_whoever_abstains_has_answered_nothing_even_where_names_are_in_the_reply() -> None:
    evaluation = await evaluate(Undecided(), QUERIES, clock=lambda: 0.0)
    assert [reply.answered for reply in evaluation.replies] == [0, 0, 0]
    assert evaluation.quality.mrr == 0.0
    assert (await count_false_returns(Undecided(), QUERIES)).rate == 0.0


async def test_a_false_return_is_an_answer_with_at_least_one_tool() -> None:
    wrong = await count_false_returns(RANKER, QUERIES)
    assert (wrong.queries, wrong.answered) == (3, 2)
    assert wrong.rate == pytest.approx(2 / 3)


async def test_no_queries_are_an_error() -> None:
    with pytest.raises(ValueError, match="queries"):
        await evaluate(RANKER, [], clock=lambda: 0.0)
    with pytest.raises(ValueError, match="queries"):
        await count_false_returns(RANKER, [])


@pytest.mark.rule("EVD-2")
async def test_what_is_left_behind_holds_ids_and_numbers_and_no_query() -> None:
    lines = list(per_query_lines("shop", "hybrid", await _evaluated()))
    assert [json.loads(line)["id"] for line in lines] == ["1", "2", "3"]
    assert b"s3cret" not in b"".join(lines)


async def test_what_is_left_behind_is_read_again_to_the_last_bit() -> None:
    evaluation = await _evaluated()
    data = b"".join([*per_query_lines("shop", "hybrid", evaluation), b"\n", *per_query_lines("b", "dense", evaluation)])
    earlier = read_per_query(data, source="run.jsonl")
    assert set(earlier) == {("shop", "hybrid"), ("b", "dense")}
    for reply in evaluation.replies:
        assert numbers_of(earlier["shop", "hybrid"][reply.id]) == numbers_of(reply.quality)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "holds no line"),
        (b"no json", "run.jsonl, line 1: line"),
        (b'{"set": "a", "ranker": "b", "metrics": {}}', "line 1: id"),
        (b'{"set": "a", "ranker": "b", "id": "1", "metrics": {}}', "recall@1 is missing"),
        (b'{"set": "a", "ranker": "b", "id": "1", "metrics": {"recall@1": 2}}', "metrics.recall@1"),
        (b'{"set": "a", "ranker": "b", "id": "1", "metrics": {"recall@1": NaN}}', "metrics.recall@1"),
    ],
)
def test_a_file_that_no_run_has_left_behind_is_named_with_its_line(line: bytes, said: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        read_per_query(line, source="run.jsonl")
    assert said in str(raised.value)
