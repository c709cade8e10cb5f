"""Activation: which tools a step advertises, rule by rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from surface.activation import Activation, SelectionSource, checked_presence
from surface.errors import PinsRefusedError
from surface.limits import Limits
from surface.receipt import KIND, Receipt, ReceiptSigner, Rejection, SigningKey
from surface.tool import Service
from surface.transcript import Result, Step
from tests.surface.shop import (
    ROOMY,
    RUN,
    SEARCH,
    SIGNER,
    after,
    called,
    empty,
    make_surface,
    make_tool,
    make_tools,
    requiring,
    searched,
    selecting,
    step,
)

NAMES = ("a", "b", "c", "d", "e", "f")
SURFACE = make_surface([*make_tools(*NAMES), make_tool("help")], always_on=["help"])
BASE = (SEARCH, "help")
OTHER = make_surface(make_tools(*NAMES), key="writer")


def search_of(*names: str, call_id: str = "search-1") -> Step:
    """A step with one search that selects these names."""
    return step(searched(selecting(SURFACE, *names), call_id=call_id))


def selection(*steps: Step, limits: Limits = ROOMY, pins: tuple[str, ...] = ()) -> str:
    return "".join(after(SURFACE, *steps, limits=limits, pins=pins).selected)


def ignored_in(*steps: Step, signer: ReceiptSigner | None = None, run_id: str = RUN) -> Mapping[Rejection, int]:
    """What is ignored in steps that must change nothing."""
    activation = after(SURFACE, *steps, signer=signer, run_id=run_id)
    assert activation.names == BASE
    assert activation.source is SelectionSource.NONE
    return activation.ignored


def rejected(receipt: Receipt | str, tool: str = SEARCH, **other: Any) -> Rejection:
    """Why a receipt does not count in the result of a call of this tool."""
    (reason,) = ignored_in(step(called(tool, receipt)), **other)
    return reason


def most(**ceilings: int) -> Limits:
    return replace(ROOMY, **ceilings)


# SRC-1, ACT-6: the base


@pytest.mark.rule("SRC-1", "ACT-6")
def test_the_first_step_exposes_the_search_tool_the_always_on_tools_and_the_pins() -> None:
    activation = after(SURFACE, pins=("c", "a"))
    assert activation.names == (*BASE, "c", "a")
    assert (activation.base, activation.selected, activation.pins) == (BASE, (), ("c", "a"))
    assert (activation.source, activation.searches, activation.evicted) == (SelectionSource.NONE, 0, ())
    assert dict(activation.ignored) == {}


@pytest.mark.rule("ACT-6")
def test_active_is_base_then_selection_then_pins_without_duplicates() -> None:
    activation = after(SURFACE, search_of("b", "help", "a"), pins=("c", "a"))
    assert activation.names == (SEARCH, "help", "b", "a", "c")
    assert activation.selected == ("b", "help", "a")


@pytest.mark.rule("ACT-6", "CAT-5")
def test_schema_bytes_count_every_active_tool_once() -> None:
    activation = after(SURFACE, search_of("b", "help", "a"), pins=("c", "a"))
    assert activation.schema_bytes == sum(SURFACE.weight(name) for name in activation.names)


# ACT-2


@pytest.mark.rule("ACT-2")
def test_a_search_selects_in_rank_order() -> None:
    assert selection(search_of("c", "a", "b")) == "cab"


@pytest.mark.rule("ACT-2")
def test_a_later_search_replaces_what_earlier_ones_selected() -> None:
    assert selection(search_of("a", "b"), search_of("c")) == "c"


@pytest.mark.rule("ACT-2")
def test_a_later_search_replaces_earlier_repairs_too() -> None:
    assert selection(step(called("d", requiring(SURFACE, "d"))), search_of("a")) == "a"


@pytest.mark.rule("ACT-2", "REP-1")
def test_a_later_repair_stands_before_the_selection() -> None:
    assert selection(search_of("a", "b"), step(called("d", requiring(SURFACE, "d")))) == "dab"


@pytest.mark.rule("ACT-2")
def test_a_repair_in_the_step_of_the_search_stands_before_it_wherever_the_call_was() -> None:
    repair = called("d", requiring(SURFACE, "d"))
    search = searched(selecting(SURFACE, "a", "b"))
    assert selection(step(repair, search)) == selection(step(search, repair)) == "dab"


@pytest.mark.rule("ACT-2")
def test_a_repair_of_a_selected_tool_moves_it_to_the_front() -> None:
    assert selection(search_of("a", "b", "c"), step(called("b", requiring(SURFACE, "b")))) == "bac"


@pytest.mark.rule("ACT-2")
def test_repairs_without_any_search_are_a_selection_the_latest_first() -> None:
    steps = [step(called(name, requiring(SURFACE, name))) for name in "abca"]
    assert selection(*steps) == "acb"


@pytest.mark.rule("ACT-2")
def test_several_repairs_of_one_step_stand_with_the_last_call_first() -> None:
    repairs = [called(name, requiring(SURFACE, name), call_id=name) for name in "ab"]
    assert selection(search_of("f"), step(*repairs)) == "baf"


@pytest.mark.rule("SRC-7", "ACT-2")
@pytest.mark.parametrize("refused", [True, False])
def test_a_search_that_selects_nothing_leaves_the_selection_in_force(*, refused: bool) -> None:
    activation = after(SURFACE, search_of("a", "b"), step(searched(empty(SURFACE, refused=refused))))
    assert activation.selected == ("a", "b")
    assert dict(activation.ignored) == {}


@pytest.mark.rule("ACT-2")
def test_a_step_without_receipts_leaves_the_selection_in_force() -> None:
    assert selection(search_of("a"), step(), step(called("a", "an answer")), step(searched(None))) == "a"


# ACT-3


@pytest.mark.rule("ACT-3")
def test_parallel_searches_merge_in_call_order_without_duplicates() -> None:
    parallel = step(
        searched(selecting(SURFACE, "c", "a"), call_id="1"),
        called("f", "an answer"),
        searched(selecting(SURFACE, "a", "b", "c"), call_id="2"),
    )
    assert selection(parallel) == "cab"


@pytest.mark.rule("ACT-3")
def test_call_order_counts_and_not_the_order_of_the_results() -> None:
    parallel = step(searched(selecting(SURFACE, "a"), call_id="1"), searched(selecting(SURFACE, "b"), call_id="2"))
    turned = replace(parallel, results=dict(reversed(list(parallel.results.items()))))
    assert selection(parallel) == selection(turned) == "ab"


@pytest.mark.rule("ACT-3")
def test_when_parallel_searches_do_not_all_fit_each_ones_best_come_first() -> None:
    parallel = step(
        searched(selecting(SURFACE, "a", "b", "c"), call_id="1"),
        searched(selecting(SURFACE, "d", "e"), call_id="2"),
        searched(selecting(SURFACE, "f"), call_id="3"),
    )
    assert selection(parallel, limits=most(max_selected_tools=6)) == "abcdef"
    for ceiling, expected in [(5, "adfbe"), (4, "adfb"), (3, "adf"), (2, "ad"), (1, "a")]:
        activation = after(SURFACE, parallel, limits=most(max_selected_tools=ceiling))
        assert "".join(activation.selected) == expected
        assert sorted(activation.evicted) == sorted(set(NAMES) - set(expected))


@pytest.mark.rule("ACT-3", "ACT-6")
def test_pins_that_come_later_do_not_starve_a_parallel_search() -> None:
    parallel = step(searched(selecting(SURFACE, "a", "b"), call_id="1"), searched(selecting(SURFACE, "c"), call_id="2"))
    limits = most(max_active_tools=5)
    assert selection(parallel, limits=limits) == "abc"
    assert selection(parallel, limits=limits, pins=("e",)) == "ac"


@pytest.mark.rule("ACT-3")
def test_an_invalid_receipt_does_not_take_part_in_a_merge() -> None:
    parallel = step(
        searched(selecting(SURFACE, "a"), call_id="1"),
        searched(selecting(SURFACE, "b", "gone"), call_id="2"),
        searched(selecting(SURFACE, "c"), call_id="3"),
    )
    assert selection(parallel) == "ac"


# RCP-3, RCP-4, RCP-5, ACT-4: what does not count


@pytest.mark.rule("RCP-3", "ACT-4")
def test_what_another_tool_answers_cannot_activate_anything_but_itself() -> None:
    assert rejected(selecting(SURFACE, "a"), "a") is Rejection.MISPLACED
    assert rejected(selecting(SURFACE, "a"), "b") is Rejection.MISPLACED
    assert rejected(requiring(SURFACE, "a"), "b") is Rejection.MISPLACED
    assert rejected(empty(SURFACE), "b") is Rejection.MISPLACED
    assert selection(step(called("a", requiring(SURFACE, "a")))) == "a"


@pytest.mark.rule("RCP-3", "ACT-4")
def test_a_repair_does_not_count_in_the_result_of_a_search() -> None:
    assert rejected(requiring(SURFACE, "a")) is Rejection.MISPLACED


@pytest.mark.rule("RCP-3", "REP-3")
def test_a_repair_of_an_unknown_tool_activates_nothing() -> None:
    assert rejected(requiring(SURFACE, "gone"), "gone") is Rejection.STALE


@pytest.mark.rule("RCP-3", "REP-1")
def test_the_refusal_of_a_repair_is_in_its_place_and_changes_nothing() -> None:
    assert ignored_in(step(called("a", empty(SURFACE, refused=True), failed=True))) == {}


@pytest.mark.rule("RCP-3", "ACT-4")
def test_another_runs_receipt_does_not_count() -> None:
    for receipt, tool in [
        (selecting(SURFACE, "a", run_id="run-2"), SEARCH),
        (selecting(SURFACE, "a", run_id=f"{RUN} "), SEARCH),
        (requiring(SURFACE, "a", run_id="run-2"), "a"),
        (empty(SURFACE, run_id="run-2"), SEARCH),
    ]:
        assert rejected(receipt, tool) is Rejection.FOREIGN_RUN


@pytest.mark.rule("RCP-3", "ACT-4", "REP-4")
def test_another_surfaces_receipt_does_not_count() -> None:
    assert rejected(selecting(OTHER, "a")) is Rejection.FOREIGN_SURFACE
    assert rejected(requiring(OTHER, "a"), "a") is Rejection.FOREIGN_SURFACE


@pytest.mark.rule("RCP-4", "ACT-4")
@pytest.mark.parametrize("digests", [("0" * 32,), ("0" * 31 + "1",)])
def test_a_digest_that_is_not_the_mounted_tools_makes_a_receipt_stale(digests: tuple[str, ...]) -> None:
    assert rejected(replace(selecting(SURFACE, "a"), digests=digests)) is Rejection.STALE


@pytest.mark.rule("RCP-4")
def test_a_receipt_is_stale_as_a_whole_and_never_activates_a_part() -> None:
    assert rejected(selecting(SURFACE, "a", "gone", "b")) is Rejection.STALE
    good = selecting(SURFACE, "a", "b")
    assert rejected(replace(good, digests=(good.digests[0], "f" * 32))) is Rejection.STALE
    assert rejected(replace(good, digests=tuple(reversed(good.digests)))) is Rejection.STALE


@pytest.mark.rule("RCP-4", "CAT-4")
@pytest.mark.parametrize(
    "redeployed",
    [
        make_tool("a", "Does another thing."),
        make_tool("a", schema={"type": "object"}),
        Service(name="shop", tools=make_tools("a")),
    ],
    ids=["description", "schema", "removed"],
)
def test_a_redeploy_that_touches_a_selected_tool_makes_its_receipts_stale(redeployed: Any) -> None:
    later = make_surface([redeployed, *make_tools("b", "c")])
    earlier, touched, untouched = search_of("b"), search_of("c", "a"), search_of("c", "b")
    assert after(later, touched).selected == ()
    assert after(later, earlier, touched).selected == ("b",)
    assert after(later, earlier, touched).ignored == {Rejection.STALE: 1}
    assert after(later, earlier, untouched).selected == ("c", "b")


@pytest.mark.rule("RCP-5", "ACT-4")
def test_with_a_signer_only_a_genuine_receipt_of_its_own_call_counts() -> None:
    receipt = selecting(SURFACE, "a")
    stranger = ReceiptSigner([SigningKey(id="2026-01", secret=b"another sixteen bytes")])
    for forged in (receipt, stranger.sign(receipt, "call-1"), SIGNER.sign(receipt, "call-2")):
        assert rejected(forged, signer=SIGNER) is Rejection.FORGED
    replayed = SIGNER.sign(requiring(SURFACE, "a"), "call-2")
    assert rejected(replayed, "a", signer=SIGNER) is Rejection.FORGED
    genuine = step(called(SEARCH, SIGNER.sign(receipt, "call-1")))
    assert after(SURFACE, genuine, signer=SIGNER).selected == ("a",)


@pytest.mark.rule("RCP-5")
def test_without_a_signer_a_signature_is_not_looked_at() -> None:
    assert selection(step(searched(SIGNER.sign(selecting(SURFACE, "a"), "whatever")))) == "a"


@pytest.mark.rule("RCP-5", "ACT-5")
def test_rotating_keys_loses_no_run() -> None:
    old, new = (SigningKey(id=name, secret=name.encode() * 8) for name in ("2025", "2026"))
    made = step(called(SEARCH, ReceiptSigner([old]).sign(selecting(SURFACE, "a"), "call-1")))
    assert after(SURFACE, made, signer=ReceiptSigner([new, old])).selected == ("a",)
    assert after(SURFACE, made, signer=ReceiptSigner([new])).selected == ()


@pytest.mark.rule("RCP-5", "RCP-2", "ACT-4")
def test_a_call_id_that_is_not_unicode_breaks_no_run() -> None:
    receipt = SIGNER.sign(selecting(SURFACE, "a"), "call-1")
    assert ignored_in(step(searched(receipt, call_id="\ud800")), signer=SIGNER) == {Rejection.FORGED: 1}


@pytest.mark.rule("ACT-4", "RCP-2")
@pytest.mark.parametrize("text", ["", "{}", "[" * 100_000, "1" * 5000, "\ud800", "NaN", f'{{"kind":"{KIND}"}}'])
def test_a_malformed_result_of_a_search_is_counted_and_changes_nothing(text: str) -> None:
    assert ignored_in(step(searched(text))) == {Rejection.MALFORMED: 1}
    assert selection(search_of("a"), step(searched(text))) == "a"


@pytest.mark.rule("ACT-4")
def test_the_ordinary_answer_of_another_tool_is_no_malformed_receipt() -> None:
    assert ignored_in(step(called("a", "any answer"))) == {}
    assert ignored_in(step(called("a", f"it says {KIND}"))) == {Rejection.MALFORMED: 1}


@pytest.mark.rule("ACT-4", "SRC-2")
def test_a_search_that_failed_owes_no_receipt() -> None:
    failure = '{"error":{"code":"VALIDATION_ERROR","message":"query: is required"}}'
    assert ignored_in(step(searched(failure, failed=True))) == {}


@pytest.mark.rule("ACT-4")
def test_every_reason_is_counted() -> None:
    wrong: list[Receipt | str] = [
        selecting(SURFACE, "a", run_id="run-2"),
        selecting(OTHER, "a"),
        selecting(SURFACE, "gone"),
        selecting(SURFACE, "gone", "a"),
        requiring(SURFACE, "a"),
        "junk",
    ]
    one_step = step(*(searched(receipt, call_id=str(number)) for number, receipt in enumerate(wrong)))
    many_steps = [step(searched(receipt)) for receipt in wrong]
    expected = {
        Rejection.FOREIGN_RUN: 1,
        Rejection.FOREIGN_SURFACE: 1,
        Rejection.STALE: 2,
        Rejection.MISPLACED: 1,
        Rejection.MALFORMED: 1,
    }
    assert ignored_in(one_step) == ignored_in(*many_steps) == expected


# ACT-5, ACT-9


@pytest.mark.rule("ACT-5")
def test_another_run_gets_the_base_set_whatever_the_transcript_holds() -> None:
    history = [search_of("a", "b"), step(called("c", requiring(SURFACE, "c")))]
    assert after(SURFACE, *history).selected == ("c", "a", "b")
    assert after(SURFACE, *history, run_id="run-2").names == BASE
    assert after(SURFACE, *history, run_id="run-2").ignored == {Rejection.FOREIGN_RUN: 2}


@pytest.mark.rule("ACT-5", "REP-4")
def test_a_surface_that_changes_between_steps_starts_from_its_base_set() -> None:
    assert after(OTHER, search_of("a", "b")).names == OTHER.base


@pytest.mark.rule("ACT-9")
def test_a_receipt_that_was_cut_from_the_history_is_inactive() -> None:
    history = [search_of("a"), search_of("b"), step(called("c", requiring(SURFACE, "c")))]
    assert selection(*history[1:]) == "cb"
    assert selection(*history[2:]) == "c"
    assert selection() == ""


@pytest.mark.rule("ACT-9")
@pytest.mark.parametrize("remnant", [None, "", "[cleared to save context]"])
def test_a_result_that_compaction_emptied_is_inactive_and_legal(remnant: str | None) -> None:
    emptied = replace(step(searched("")), results={"search-1": Result(text=remnant)})
    assert selection(search_of("a"), emptied) == "a"
    assert selection(emptied) == ""


# ACT-6: ceilings and pins


@pytest.mark.rule("ACT-6")
@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        (most(max_selected_tools=2), "ab"),
        (most(max_active_tools=4), "ab"),
        (most(max_schema_bytes=sum(map(SURFACE.weight, (*BASE, "a", "b")))), "ab"),
        (most(max_schema_bytes=sum(map(SURFACE.weight, (*BASE, "a", "b"))) - 1), "a"),
        (most(max_active_tools=2), ""),
    ],
)
def test_a_selection_that_no_longer_fits_loses_its_lowest_ranks_for_the_step(limits: Limits, kept: str) -> None:
    activation = after(SURFACE, search_of("a", "b", "c"), limits=limits)
    assert "".join(activation.selected) == kept
    assert "".join(activation.evicted) == "abc"[len(kept) :]


@pytest.mark.rule("ACT-6")
def test_new_pins_push_out_the_lowest_ranks_and_old_ones_come_back_without_them() -> None:
    limits = most(max_active_tools=5)
    assert selection(search_of("a", "b", "c"), limits=limits) == "abc"
    assert selection(search_of("a", "b", "c"), limits=limits, pins=("e", "f")) == "a"
    assert selection(search_of("a", "b", "c"), limits=limits) == "abc"


@pytest.mark.rule("ACT-6")
def test_a_selected_tool_that_is_pinned_too_needs_no_second_place() -> None:
    limits = most(max_active_tools=4)
    assert after(SURFACE, search_of("a", "b"), limits=limits, pins=("b",)).names == (*BASE, "a", "b")


@pytest.mark.rule("ACT-6")
def test_a_rank_below_the_first_that_does_not_fit_is_lost_even_where_it_is_small() -> None:
    surface = make_surface([make_tool("big", "x" * 5_000), *make_tools("a", "b")])
    limits = most(max_schema_bytes=sum(map(surface.weight, (SEARCH, "a", "b"))))
    activation = after(surface, step(searched(selecting(surface, "a", "big", "b"))), limits=limits)
    assert (activation.selected, activation.evicted) == (("a",), ("big", "b"))


@pytest.mark.rule("ACT-2", "ACT-6")
def test_a_repair_pushes_out_the_lowest_rank_and_not_itself() -> None:
    repair = step(called("f", requiring(SURFACE, "f")))
    activation = after(SURFACE, search_of("a", "b"), repair, limits=most(max_selected_tools=2))
    assert (activation.selected, activation.evicted) == (("f", "a"), ("b",))


@pytest.mark.rule("ACT-6", "EVD-1")
def test_what_is_active_is_never_counted_as_evicted() -> None:
    parallel = step(
        searched(selecting(SURFACE, "a", "b"), call_id="1"), searched(selecting(SURFACE, "c", "d"), call_id="2")
    )
    repair = step(called("d", requiring(SURFACE, "d")))
    activation = after(SURFACE, parallel, repair, limits=most(max_selected_tools=3))
    assert activation.selected == ("d", "a", "c")
    assert activation.evicted == ("b",)


@pytest.mark.rule("ACT-6")
@pytest.mark.parametrize(
    ("pins", "message"),
    [
        (("a", "a"), "pins: a is repeated"),
        (("gone",), "pins: gone is no tool of surface reader"),
        ((SEARCH,), f"pins: {SEARCH} is no tool of surface reader"),
        (("a\x1b",), r"pins: 'a\\x1b' is no tool of surface reader"),
        (("a", "gone", "a", "odd"), "pins: a is repeated; gone is no tool of surface reader; odd is no tool"),
    ],
)
def test_unknown_and_repeated_pins_refuse_the_step_by_name(pins: tuple[str, ...], message: str) -> None:
    with pytest.raises(PinsRefusedError, match=message):
        after(SURFACE, pins=pins)


@pytest.mark.rule("ACT-6", "REP-4")
def test_a_tool_of_another_surface_cannot_be_pinned() -> None:
    with pytest.raises(PinsRefusedError, match="help is no tool of surface writer"):
        after(OTHER, pins=("help",))


@pytest.mark.rule("ACT-6")
def test_pins_that_do_not_fit_refuse_the_step_naming_the_ceiling() -> None:
    assert after(SURFACE, pins=("a", "b"), limits=most(max_active_tools=4)).pins == ("a", "b")
    with pytest.raises(PinsRefusedError, match=r"pins: 5 tools with the base, over limits\.max_active_tools = 4"):
        after(SURFACE, pins=("a", "b", "c"), limits=most(max_active_tools=4))
    weight = sum(map(SURFACE.weight, (*BASE, "a")))
    assert after(SURFACE, pins=("a",), limits=most(max_schema_bytes=weight)).schema_bytes == weight
    with pytest.raises(PinsRefusedError, match=rf"pins: {weight} schema bytes .* over limits\.max_schema_bytes"):
        after(SURFACE, pins=("a",), limits=most(max_schema_bytes=weight - 1))


@pytest.mark.rule("ACT-6")
def test_a_pin_that_is_always_on_takes_no_second_place() -> None:
    assert after(SURFACE, pins=("help",), limits=most(max_active_tools=2)).names == BASE
    assert checked_presence(SURFACE, ("help",), ROOMY) == {name: SURFACE.weight(name) for name in BASE}


@pytest.mark.rule("ACT-6")
def test_pins_take_no_place_in_the_selection() -> None:
    assert selection(search_of("a"), limits=most(max_selected_tools=1), pins=("b", "c")) == "a"


# ACT-8


@pytest.mark.rule("ACT-8")
def test_the_base_is_the_prefix_of_every_step() -> None:
    history = [search_of("a", "help"), step(called("help", requiring(SURFACE, "help"))), search_of("b")]
    for length in range(4):
        assert after(SURFACE, *history[:length], pins=("c", "help")).names[:2] == BASE


# Provenance


@pytest.mark.rule("EVD-1")
def test_the_source_says_whether_the_selection_comes_from_the_step_just_answered() -> None:
    def source(*steps: Step) -> SelectionSource:
        return after(SURFACE, *steps).source

    search, repair, nothing = search_of("a"), step(called("b", requiring(SURFACE, "b"))), step(called("a", "answer"))
    assert source() is source(nothing) is source(step(searched(empty(SURFACE)))) is SelectionSource.NONE
    assert source(search) is source(nothing, search) is source(search, repair) is SelectionSource.CURRENT
    assert source(search, nothing) is source(repair, nothing, nothing) is SelectionSource.DURABLE


@pytest.mark.rule("SRC-9")
def test_searches_of_this_run_are_counted_whatever_their_status() -> None:
    def searches(*steps: Step) -> int:
        return after(SURFACE, *steps).searches

    nothing = step(
        searched(empty(SURFACE), call_id="1"),
        searched(empty(SURFACE, refused=True), call_id="2"),
        called("a", requiring(SURFACE, "a")),
        called("b", empty(SURFACE, refused=True), call_id="4"),
    )
    assert searches() == 0
    assert searches(search_of("a"), nothing) == 3
    assert searches(step(searched(selecting(SURFACE, "gone")), called("gone", requiring(SURFACE, "gone")))) == 1
    assert searches(step(searched(selecting(SURFACE, "a", run_id="run-2"))), step(searched(None))) == 0


@pytest.mark.rule("ACT-1")
def test_an_activation_cannot_be_changed_by_whoever_reads_it() -> None:
    activation: Activation = after(SURFACE, step(searched("junk")))
    with pytest.raises(TypeError):
        activation.ignored[Rejection.STALE] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        activation.selected = ("a",)  # type: ignore[misc]
