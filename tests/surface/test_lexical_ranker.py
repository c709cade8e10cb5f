"""The offline ranker: the lexical rule over an application's own surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from threading import current_thread
from typing import Any

import pytest

from surface import lexical_ranker
from surface.errors import CatalogError, RankerUnavailable
from surface.lexical import RULE_VERSION
from surface.lexical_ranker import LexicalRanker
from surface.lexical_ranker import _reply as reply_of
from surface.protocol import RankReply
from surface.ranking import RankRequest
from surface.registry import Surface
from surface.tool import Service, Tool
from tests.surface.shop import make_surface, make_tool, make_tools

TOOLS: list[Tool | Service] = [
    make_tool("invoices_list", "List the invoices of a customer"),
    make_tool("weather", "Tell the forecast", schema={"type": "object", "properties": {"city": {}}}),
    Service(name="mail", tools=[make_tool("send", "Send a message")]),
    make_tool("pay", service="banking"),
]


def ask(query: str, *, surface: str = "reader", limit: int = 5) -> RankRequest:
    return RankRequest(application="shop", surface=surface, query=query, limit=limit, catalog_digest=None)


async def names(query: str, *, limit: int = 5) -> list[str]:
    reply = await LexicalRanker([make_surface(TOOLS)]).rank(ask(query, limit=limit))
    return [ranked.name for ranked in reply.ranked]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("show my invoice", "invoices_list"),
        ("forecast", "weather"),
        ("which city", "weather"),
        ("mail", "mail_send"),
        ("banking", "pay"),
    ],
)
async def test_name_description_parameters_and_service_are_read(query: str, best: str) -> None:
    assert (await names(query))[0] == best


async def test_a_reply_says_which_rule_and_which_catalog_it_comes_from() -> None:
    surface = make_surface(TOOLS)
    reply = await LexicalRanker([surface]).rank(ask("invoice"))
    assert (reply.surface, reply.index_version, reply.catalog_digest) == (
        "reader",
        RULE_VERSION,
        surface.catalog.digest,
    )
    assert (reply.abstained, reply.degraded) == (False, None)


@pytest.mark.rule("SRC-7")
@pytest.mark.parametrize("query", ["quantum", "", "the of to", "?!", "\ud800"])
async def test_it_abstains_where_no_word_of_the_query_stands_in_the_catalog(query: str) -> None:
    reply = await LexicalRanker([make_surface(TOOLS)]).rank(ask(query))
    assert reply.abstained
    assert reply.ranked == ()


async def test_it_ranks_no_more_than_was_asked_for() -> None:
    assert len(await names("invoice forecast mail", limit=2)) == 2


@pytest.mark.rule("REP-4")
async def test_each_surface_is_ranked_on_its_own() -> None:
    ranker = LexicalRanker([make_surface(TOOLS), make_surface(make_tools("invoice"), key="writer")])
    reply = await ranker.rank(ask("invoice", surface="writer"))
    assert [ranked.name for ranked in reply.ranked] == ["invoice"]
    with pytest.raises(RankerUnavailable) as caught:
        await ranker.rank(ask("invoice", surface="editor"))
    assert caught.value.code == "unknown_surface"


@pytest.mark.rule("CAT-2")
async def test_it_takes_declared_surfaces_and_refuses_faulty_ones() -> None:
    ranker = LexicalRanker([Surface(key="reader", tools=TOOLS)])
    assert (await ranker.rank(ask("invoice"))).ranked[0].name == "invoices_list"
    with pytest.raises(CatalogError):
        LexicalRanker([Surface(key="reader", tools=make_tools("a", "a"))])


async def test_a_query_of_very_many_places_is_ranked_aside_and_ranked_the_same() -> None:
    tools = [make_tool(f"tool_{at}", "list the open invoices of every customer") for at in range(600)]
    ranker = LexicalRanker([make_surface(tools)])
    query = "list open invoices every customer"
    at_once = await ranker.rank(ask(query))
    threads: list[str] = []

    def reply(index: Any, request: RankRequest, terms: Sequence[str]) -> RankReply:
        threads.append(current_thread().name)
        return reply_of(index, request, terms)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical_ranker, "MANY_PLACES", 100)
        patch.setattr(lexical_ranker, "_reply", reply)
        aside = await ranker.rank(ask(query))
    assert threads == ["toolsurface-call"]
    assert aside == at_once
