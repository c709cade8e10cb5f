"""What every `Ranker` keeps: the port in `surface/ranking.py`, run on each implementation.

A subclass named `Test…` brings the fixtures `ranker`, `shuffled` (the same tools given in another order) and
`catalog_digest`, all of the surface `SURFACE` of the application `APPLICATION` holding `TOOLS`.
"""

from __future__ import annotations

import pytest

from surface.errors import RankerUnavailable
from surface.identity import is_key
from surface.protocol import MAX_LIMIT, MAX_QUERY_CHARACTERS, RankReply
from surface.ranking import Ranker
from tests.selector.builders import SURFACE, TOOLS, ask

QUERIES = {
    "delete a file": "file_delete",
    "what will the weather be in Paris": "weather_forecast",
    "send the invoice to my customer": "invoices_send",
    "currency_convert": "currency_convert",
}

ODD_QUERIES = [
    "",
    " \t\n",
    "?!… --",
    "\x00",
    "\ud800 cut in the middle",
    "\N{GRINNING FACE}" * 50,
    "\u202eright to left\u202c",
    "列出所有文件",
    "удалить файл",
    "e\u0301" * 300,
    "file " * 3_000,
    "x" * MAX_QUERY_CHARACTERS,
    "x" * (4 * MAX_QUERY_CHARACTERS),
    "; DROP TABLE tools; -- {{7*7}} <script>",
]


async def _answer(ranker: Ranker, query: str) -> RankReply | RankerUnavailable:
    try:
        return await ranker.rank(ask(query))
    except RankerUnavailable as unavailable:
        return unavailable


class RankerContract:
    def test_its_id_can_stand_in_a_receipt(self, ranker: Ranker) -> None:
        assert is_key(ranker.id)

    @pytest.mark.parametrize(("query", "wanted"), QUERIES.items())
    async def test_the_tool_that_is_asked_for_in_plain_words_comes_first(
        self, ranker: Ranker, query: str, wanted: str
    ) -> None:
        reply = await ranker.rank(ask(query))
        assert reply.ranked[0].name == wanted
        assert not reply.abstained
        assert reply.degraded is None

    @pytest.mark.parametrize("limit", [1, 2, 5, MAX_LIMIT])
    async def test_it_answers_known_names_once_each_best_first_and_no_more_than_asked_for(
        self, ranker: Ranker, limit: int
    ) -> None:
        reply = await ranker.rank(ask("a file of a customer in a city", limit=limit))
        names = [ranked.name for ranked in reply.ranked]
        scores = [ranked.score for ranked in reply.ranked]
        assert 1 <= len(names) <= limit
        assert set(names) <= TOOLS.keys()
        assert len(set(names)) == len(names)
        assert scores == sorted(scores, reverse=True)

    async def test_the_reply_says_what_it_was_made_on(self, ranker: Ranker, catalog_digest: str) -> None:
        reply = await ranker.rank(ask("copy a file", catalog_digest=catalog_digest))
        assert reply.surface == SURFACE
        assert reply.catalog_digest == catalog_digest
        assert reply.index_version

    async def test_a_digest_it_does_not_know_is_answered_from_what_it_has(
        self, ranker: Ranker, catalog_digest: str
    ) -> None:
        reply = await ranker.rank(ask("copy a file", catalog_digest="0" * 32))
        assert reply.catalog_digest == catalog_digest

    @pytest.mark.rule("CAT-3")
    @pytest.mark.parametrize("query", [*QUERIES, "file", "customer", "列出所有文件 file"])
    async def test_the_same_question_has_the_same_answer_in_whatever_order_tools_were_given(
        self, ranker: Ranker, shuffled: Ranker, query: str
    ) -> None:
        first = await ranker.rank(ask(query))
        assert await ranker.rank(ask(query)) == first
        assert (await shuffled.rank(ask(query))).ranked == first.ranked

    @pytest.mark.parametrize("query", ODD_QUERIES, ids=lambda query: ascii(query[:12]))
    async def test_an_odd_query_is_answered_or_refused_with_a_code(self, ranker: Ranker, query: str) -> None:
        answer = await _answer(ranker, query)
        if isinstance(answer, RankerUnavailable):
            assert is_key(answer.code)
            return
        assert RankReply.model_validate_json(answer.model_dump_json()) == answer
        assert {ranked.name for ranked in answer.ranked} <= TOOLS.keys()
        assert answer.abstained == (not answer.ranked)

    @pytest.mark.parametrize("surface", ["nobody", "Reader", "..", "re.ader"])
    async def test_a_surface_it_does_not_hold_is_unavailable(self, ranker: Ranker, surface: str) -> None:
        with pytest.raises(RankerUnavailable) as raised:
            await ranker.rank(ask("copy a file", surface=surface))
        assert raised.value.code == "unknown_surface"
