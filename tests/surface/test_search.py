"""What a search answers, and what it leaves alone (SRC-1 to SRC-10, on a mounted run)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from surface import (
    CatalogError,
    ConfigurationError,
    Limits,
    RankedName,
    RankReply,
    RankRequest,
    SearchEvidence,
    Surface,
    create_deferred_agent_tool_surface,
)
from surface.receipt import NEXT, Reason, Status
from tests.surface.deferred import Shop, Talk, receipt_in
from tests.surface.neutral_dialect import NEUTRAL, call, error_in
from tests.surface.rankers import ScriptedRanker, proposing, raising, ranking
from tests.surface.shop import make_tool, make_tools


def talk_with(
    shop: Shop | None = None, *, pins: Any = (), context: Any = None, run_id: str = "run-1", **other: Any
) -> Talk:
    application = (shop or Shop()).application(**other)
    return Talk(application.mount(run_id=run_id, surface="reader", pins=pins, context=context))


@pytest.mark.rule("SRC-1")
async def test_the_first_step_exposes_exactly_the_search_tool_the_always_on_tools_and_the_pins() -> None:
    talk = talk_with(pins=["file_delete"])
    assert await talk.advertised() == ("search_tools", "help", "file_delete")


@pytest.mark.rule("SRC-1", "SRC-6", "RCP-7")
async def test_a_search_selects_in_rank_order_and_the_next_step_advertises_it() -> None:
    talk = talk_with(ranker=proposing("invoices_send", "invoices_list"))
    receipt = await talk.searches()
    assert receipt.status is Status.SELECTED
    assert receipt.selected == ("invoices_send", "invoices_list")
    assert receipt.run_id == "run-1"
    assert receipt.surface == "reader"
    assert receipt.next == NEXT[Status.SELECTED]
    assert await talk.advertised() == ("search_tools", "help", "invoices_send", "invoices_list")
    answer = await talk.calls("invoices_send", {"customer": 7})
    assert answer.outcome == "ok"


@pytest.mark.rule("SRC-10", "RCP-1")
async def test_a_search_shows_names_and_descriptions_and_never_a_schema_or_the_query() -> None:
    answer = await talk_with(ranker=proposing("invoices_list")).calls("search_tools", {"query": "zebra crossing"})
    (match,) = receipt_in(answer).matches
    assert match.name == "invoices_list"
    assert match.description == "List the invoices of a customer"
    assert "zebra" not in repr(answer)
    assert "properties" not in repr(answer)


@pytest.mark.rule("SRC-1")
async def test_a_search_executes_nothing() -> None:
    shop = Shop()
    await talk_with(shop, ranker=proposing("invoices_list")).searches()
    assert shop.handled == []


@pytest.mark.rule("SRC-8")
async def test_a_ranker_is_told_the_query_the_surface_and_the_catalog_it_is_asked_about() -> None:
    ranker = proposing("invoices_list")
    talk = talk_with(ranker=ranker, limits=Limits(max_results=3))
    await talk.searches("late invoices")
    (asked,) = ranker.asked
    assert asked == RankRequest(
        application="shop",
        surface="reader",
        query="late invoices",
        limit=12,
        catalog_digest=talk.run.surface.catalog.digest,
    )


@pytest.mark.rule("SRC-2")
async def test_a_query_is_measured_in_utf8_bytes() -> None:
    ranker = proposing("invoices_list")
    talk = talk_with(ranker=ranker, limits=Limits(max_query_bytes=12))
    assert (await talk.searches("é" * 6)).status is Status.SELECTED
    longer = await talk.searches("é" * 6 + "a")
    assert longer.status is Status.SELECTION_REFUSED
    assert longer.reason is Reason.QUERY_TOO_LONG
    assert longer.selected == ()
    assert len(ranker.asked) == 1
    assert "invoices_list" in await talk.advertised()


@pytest.mark.rule("SRC-2")
@pytest.mark.parametrize("query", ["\ud800", "é" * 500 + "\udfff" * 1_001], ids=["short", "long"])
async def test_a_query_that_is_no_unicode_never_breaks_a_run(query: str) -> None:
    answer = await talk_with().calls("search_tools", {"query": query})
    assert answer.outcome in {"ok", "VALIDATION_ERROR"}


@pytest.mark.rule("SRC-2")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": ""}, "query: must not be blank"),
        ({"query": " \t\n\u3000"}, "query: must not be blank"),
        ({}, "query: is required"),
        ({"query": None}, "query: must be a string"),
        ({"query": 7}, "query: must be a string"),
        ({"query": ["hunter2"]}, "query: must be a string"),
        ({"query": "invoices", "limit": 50}, "the arguments: holds a field that is not known here"),
        ({"query": "invoices", "hunter2": "hunter2"}, "the arguments: holds a field that is not known here"),
        ("hunter2", "the arguments: must be an object"),
        (["hunter2"], "the arguments: must be an object"),
        (None, "the arguments: must be an object"),
    ],
    ids=repr,
)
async def test_a_search_that_is_written_wrongly_is_a_validation_error_without_a_receipt(
    arguments: Any, message: str
) -> None:
    ranker = proposing("invoices_list")
    talk = talk_with(ranker=ranker)
    await talk.searches()
    (answer,) = await talk.says(call("search_tools", id="wrong") if arguments == {} else _call_with(arguments))
    assert error_in(answer)["code"] == "VALIDATION_ERROR"
    assert error_in(answer)["message"] == message
    assert "toolsurface.receipt" not in repr(answer)
    assert len(ranker.asked) == 1
    assert "invoices_list" in await talk.advertised()


def _call_with(arguments: Any) -> Any:
    made = call("search_tools", id="wrong")
    return type(made)(id=made.id, name=made.name, arguments=arguments)


@pytest.mark.rule("SRC-3")
async def test_only_names_of_this_surface_survive_and_the_first_occurrence_wins() -> None:
    seen: list[Any] = []
    ranker = proposing("nobody", "invoices_send", "invoices_list", "invoices_send", "search_tools", "file_delete")
    talk = talk_with(ranker=ranker, observer=seen.append)
    receipt = await talk.searches()
    assert receipt.selected == ("invoices_send", "invoices_list", "file_delete")
    (search,) = [event for event in seen if isinstance(event, SearchEvidence)]
    assert search.ranked == 6
    assert search.rejected == 3
    assert search.selected == 3


@pytest.mark.rule("SRC-3", "REP-4")
async def test_a_ranker_cannot_widen_a_surface_with_the_tools_of_another() -> None:
    shop = Shop()
    application = create_deferred_agent_tool_surface(
        application="shop",
        surfaces=[
            Surface(key="reader", tools=shop.tools),
            Surface(key="writer", tools=[*shop.tools, make_tool("file_write")]),
        ],
        dialect=NEUTRAL,
        ranker=proposing("file_write", "file_delete"),
    )
    reader = Talk(application.mount(run_id="run-1", surface="reader"))
    assert (await reader.searches()).selected == ("file_delete",)
    assert (await reader.calls("file_write")).outcome == "UNKNOWN_TOOL"
    writer = Talk(application.mount(run_id="run-1", surface="writer"))
    assert (await writer.searches()).selected == ("file_write", "file_delete")


@pytest.mark.rule("SRC-4")
async def test_no_more_than_max_results_are_selected() -> None:
    tools = make_tools(*(f"t{at}" for at in range(9)))
    talk = talk_with(tools=tools, ranker=proposing(*(f"t{at}" for at in range(9))), limits=Limits(max_results=2))
    assert (await talk.searches()).selected == ("t0", "t1")


@pytest.mark.rule("SRC-4")
async def test_a_receipt_never_exceeds_its_ceiling_and_says_what_was_cut() -> None:
    limits = Limits(max_result_bytes=2_000)
    tools = [make_tool(f"t{at}", "é" * 3_000) for at in range(3)]
    talk = talk_with(tools=tools, ranker=proposing("t0", "t1", "t2"), limits=limits)
    receipt = await talk.searches()
    assert receipt.selected == ("t0", "t1", "t2")
    assert receipt.truncated
    assert receipt.size() <= 2_000


@pytest.mark.rule("SRC-5", "SRC-6")
async def test_a_tool_that_does_not_fit_is_skipped_for_one_that_does() -> None:
    seen: list[Any] = []
    talk = talk_with(
        tools=[make_tool("giant", "x" * 70_000)],
        ranker=proposing("giant", "invoices_list"),
        observer=seen.append,
    )
    assert (await talk.searches()).selected == ("invoices_list",)
    (search,) = [event for event in seen if isinstance(event, SearchEvidence)]
    assert search.skipped == 1


@pytest.mark.rule("SRC-5")
async def test_only_when_nothing_fits_is_the_search_refused_and_the_selection_before_it_stays() -> None:
    ranker = ScriptedRanker(lambda request: ranking(request, "giant" if request.query == "giants" else "invoices_list"))
    talk = talk_with(tools=[make_tool("giant", "x" * 70_000)], ranker=ranker)
    await talk.searches("invoices")
    before = await talk.advertised()
    refused = await talk.searches("giants")
    assert refused.status is Status.SELECTION_REFUSED
    assert refused.reason is Reason.CEILINGS
    assert await talk.advertised() == before == ("search_tools", "help", "invoices_list")


@pytest.mark.rule("SRC-5")
@pytest.mark.parametrize(
    ("pins", "selected"),
    [((), ("invoices_send", "file_delete")), (("weather_forecast",), ("invoices_send",))],
    ids=["no pins", "one pin"],
)
async def test_the_active_ceiling_counts_the_pins_of_this_step(
    pins: tuple[str, ...], selected: tuple[str, ...]
) -> None:
    talk = talk_with(pins=pins, ranker=proposing("invoices_send", "file_delete"), limits=Limits(max_active_tools=4))
    assert (await talk.searches()).selected == selected
    assert len(await talk.advertised()) == 4


@pytest.mark.rule("SRC-5")
async def test_the_schema_ceiling_counts_the_pins_of_this_step() -> None:
    shop = Shop()
    surface = shop.application().mount(run_id="run-1", surface="reader").surface
    whole = sum(surface.weight(name) for name in ("search_tools", "help", "file_delete", "invoices_send"))
    for room, status in ((whole, Status.SELECTED), (whole - 1, Status.SELECTION_REFUSED)):
        talk = talk_with(
            shop, pins=["file_delete"], ranker=proposing("invoices_send"), limits=Limits(max_schema_bytes=room)
        )
        assert (await talk.searches()).status is status


@pytest.mark.rule("SRC-5")
async def test_the_selected_ceiling_holds_beside_max_results() -> None:
    talk = talk_with(
        ranker=proposing("invoices_send", "file_delete", "invoices_list"), limits=Limits(max_selected_tools=2)
    )
    assert (await talk.searches()).selected == ("invoices_send", "file_delete")


@pytest.mark.rule("SRC-6", "SRC-7")
@pytest.mark.parametrize(
    "ranker",
    [proposing(abstained=True), proposing("file_delete", abstained=True), proposing()],
    ids=["it says so", "it says so and names a tool", "it names nothing"],
)
async def test_a_ranker_that_abstains_is_no_match_and_changes_nothing_that_is_active(ranker: ScriptedRanker) -> None:
    ranker_of = {"invoices": proposing("invoices_list"), "zebras": ranker}
    talk = talk_with(ranker=ScriptedRanker(lambda request: ranker_of[request.query].rank(request)))
    await talk.searches("invoices")
    before = await talk.advertised()
    receipt = await talk.searches("zebras")
    assert receipt.status is Status.NO_MATCH
    assert receipt.reason is Reason.ABSTAINED
    assert receipt.selected == ()
    assert receipt.next == NEXT[Status.NO_MATCH]
    assert await talk.advertised() == before == ("search_tools", "help", "invoices_list")


@pytest.mark.rule("SRC-7")
async def test_the_local_ranker_abstains_where_no_word_of_the_query_is_in_the_catalog() -> None:
    assert (await talk_with().searches("zzyzx")).status is Status.NO_MATCH


@pytest.mark.rule("SRC-8")
async def test_without_a_ranker_the_local_one_answers_undegraded() -> None:
    receipt = await talk_with().searches("weather in a city")
    assert receipt.selected[0] == "weather_forecast"
    assert receipt.provenance.ranker == "lexical"
    assert receipt.provenance.degraded is None


@pytest.mark.rule("SRC-8")
async def test_a_ranker_that_is_down_costs_a_run_nothing_but_the_quality_of_its_ranking() -> None:
    seen: list[Any] = []
    talk = talk_with(ranker=raising(ConnectionError("no route")), observer=seen.append)
    receipt = await talk.searches("weather in a city")
    assert receipt.selected[0] == "weather_forecast"
    assert receipt.provenance.degraded == "ranker_failed"
    (search,) = [event for event in seen if isinstance(event, SearchEvidence)]
    assert search.degraded == "ranker_failed"
    assert (await talk.calls("weather_forecast")).outcome == "ok"


@pytest.mark.rule("SRC-8")
async def test_a_slow_ranker_holds_a_search_up_no_longer_than_its_deadline() -> None:
    async def slow(request: RankRequest) -> RankReply:
        await asyncio.Event().wait()
        return ranking(request)

    clock = asyncio.get_running_loop().time
    talk = talk_with(ranker=ScriptedRanker(slow), search_deadline=0.1)
    started = clock()
    receipt = await talk.searches("weather in a city")
    assert clock() - started < 0.1 + 0.5  # the deadline, and a busy machine's share
    assert receipt.provenance.degraded == "timeout"
    assert receipt.selected[0] == "weather_forecast"


@pytest.mark.rule("SRC-8")
async def test_a_flood_of_names_is_held_to_what_was_asked_for() -> None:
    """A million names would hold the event loop for a minute, past any deadline."""
    flood = tuple(RankedName(name=f"t{at}", score=1.0) for at in range(2_000))
    seen: list[Any] = []
    ranker = ScriptedRanker(lambda request: ranking(request, ranked=(*flood, RankedName(name="help", score=0.0))))
    await talk_with(ranker=ranker, observer=seen.append).searches("weather in a city")
    (search,) = [event for event in seen if isinstance(event, SearchEvidence)]
    assert search.ranked <= ranker.asked[0].limit


@pytest.mark.rule("SRC-9")
async def test_past_the_budget_a_search_is_refused_without_asking_the_ranker() -> None:
    ranker = proposing("invoices_list")
    talk = talk_with(ranker=ranker, max_searches_per_run=2)
    assert (await talk.searches()).status is Status.SELECTED
    assert (await talk.searches()).status is Status.SELECTED
    refused = await talk.searches()
    assert refused.status is Status.SELECTION_REFUSED
    assert refused.reason is Reason.SEARCH_BUDGET
    assert len(ranker.asked) == 2
    assert "invoices_list" in await talk.advertised()


@pytest.mark.rule("SRC-9")
async def test_the_budget_counts_the_searches_of_one_step_in_call_order() -> None:
    talk = talk_with(ranker=proposing("invoices_list"), max_searches_per_run=2)
    answers = await talk.says(*(call("search_tools", {"query": "invoices"}, id=f"s{at}") for at in range(3)))
    assert [receipt_in(answer).status for answer in answers] == ["SELECTED", "SELECTED", "SELECTION_REFUSED"]


@pytest.mark.rule("SRC-9")
async def test_the_budget_belongs_to_the_run_and_not_to_the_process() -> None:
    shop = Shop()
    spent = talk_with(shop, ranker=proposing("invoices_list"), max_searches_per_run=1)
    await spent.searches()
    again = Talk(
        shop.application(ranker=proposing("invoices_list"), max_searches_per_run=1).mount(
            run_id="run-1", surface="reader"
        ),
        spent.messages,
    )
    assert (await again.searches()).reason is Reason.SEARCH_BUDGET
    successor = Talk(
        shop.application(ranker=proposing("invoices_list"), max_searches_per_run=1).mount(
            run_id="run-2", surface="reader"
        ),
        spent.messages,
    )
    assert (await successor.searches()).status is Status.SELECTED


@pytest.mark.rule("SRC-9")
async def test_without_a_budget_a_run_may_search_as_often_as_it_likes() -> None:
    talk = talk_with(ranker=proposing("invoices_list"))
    for _ in range(30):
        assert (await talk.searches()).status is Status.SELECTED


@pytest.mark.rule("ACT-3", "SRC-5")
async def test_parallel_searches_of_one_step_merge_in_call_order_even_when_they_end_the_other_way_round() -> None:
    second_is_done = asyncio.Event()

    async def script(request: RankRequest) -> RankReply:
        if request.query == "first":
            await second_is_done.wait()
            return ranking(request, "invoices_list", "file_delete")
        second_is_done.set()
        return ranking(request, "file_delete", "weather_forecast")

    talk = talk_with(ranker=ScriptedRanker(script))
    await talk.says(call("search_tools", {"query": "first"}, id="a"), call("search_tools", {"query": "second"}, id="b"))
    assert await talk.advertised() == ("search_tools", "help", "invoices_list", "file_delete", "weather_forecast")


@pytest.mark.rule("SRC-7", "SRC-5")
async def test_a_parallel_search_that_finds_nothing_does_not_take_the_other_ones_selection() -> None:
    script = {"invoices": ("invoices_list",), "zebras": ()}
    talk = talk_with(ranker=ScriptedRanker(lambda request: ranking(request, *script[request.query])))
    await talk.says(
        call("search_tools", {"query": "invoices"}, id="a"), call("search_tools", {"query": "zebras"}, id="b")
    )
    assert await talk.advertised() == ("search_tools", "help", "invoices_list")


@pytest.mark.rule("SRC-10")
async def test_the_search_tool_says_what_the_surface_covers_in_the_same_bytes_every_step() -> None:
    talk = talk_with(ranker=proposing("invoices_list"))
    first = (await talk.run.prepare_step(talk.messages)).tools[0]
    await talk.searches()
    later = (await talk.run.prepare_step(talk.messages)).tools[0]
    assert first == later
    assert "5 tools" in first.description


@pytest.mark.rule("SRC-10")
async def test_a_search_tool_may_have_another_name() -> None:
    talk = talk_with(ranker=proposing("invoices_list"), search_tool="find")
    answer = await talk.calls("find", {"query": "invoices"})
    assert receipt_in(answer).selected == ("invoices_list",)
    assert await talk.advertised() == ("find", "help", "invoices_list")
    assert (await talk.calls("search_tools", {"query": "invoices"})).outcome == "UNKNOWN_TOOL"


@pytest.mark.rule("SRC-4")
def test_a_result_ceiling_that_cannot_hold_the_smallest_receipt_is_refused_at_construction() -> None:
    with pytest.raises(ConfigurationError, match=r"limits\.max_result_bytes: 100 cannot hold the smallest receipt"):
        Shop().application(limits=Limits(max_result_bytes=100))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"search_deadline": 0}, "search_deadline"),
        ({"search_deadline": -1}, "search_deadline"),
        ({"search_deadline": float("nan")}, "search_deadline"),
        ({"max_searches_per_run": 0}, "max_searches_per_run"),
    ],
    ids=repr,
)
def test_a_setting_out_of_its_range_is_refused_by_name(wrong: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Shop().application(**wrong)


def test_a_ranker_whose_id_could_not_stand_in_a_receipt_is_refused() -> None:
    ranker = proposing("invoices_list")
    ranker.id = "no id"
    with pytest.raises(ConfigurationError, match=r"ranker\.id"):
        Shop().application(ranker=ranker)


@pytest.mark.rule("CAT-2")
def test_a_tool_with_the_name_of_the_search_tool_is_refused() -> None:
    with pytest.raises(CatalogError, match=r"help: the search tool has this name"):
        Shop().application(search_tool="help")
