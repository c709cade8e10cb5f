"""Recovery matrix: the catalog is deployed anew between the kill and the resume."""

from __future__ import annotations

import pytest

from tests.recovery.life import Life, call
from tests.recovery.processes import Home
from tests.recovery.rows import BASE, active, heard


@pytest.mark.rule("RCP-4", "ACT-5")
def test_a_redeploy_that_leaves_the_selected_tools_alone_changes_nothing(searched: Home) -> None:
    resumed = searched.live(Life(catalog="others_changed", turns=[[call("refund")]]))
    assert resumed.found == active("refund", "look_up")
    assert resumed.advertised == (resumed.found, resumed.found)
    assert len(searched.store.ran("refund")) == 1
    assert searched.store.rankings() == 2


@pytest.mark.rule("RCP-4", "CAT-4", "ACT-4")
@pytest.mark.parametrize("deploy", ["refund_edited", "refund_retyped"])
def test_a_redeploy_that_edits_a_selected_tool_makes_its_receipt_stale_and_the_earlier_one_counts(
    deploy: str, searched: Home
) -> None:
    resumed = searched.live(Life(catalog=deploy, turns=[[call("refund"), call("look_up")]]))
    # The whole receipt is stale: `look_up`, which nobody touched, is not active either.
    assert resumed.found == active("invoice")
    assert searched.store.ran("refund") == searched.store.ran("look_up") == []
    assert resumed.advertised[-1] == active("look_up", "refund", "invoice")


@pytest.mark.rule("RCP-4", "REP-3")
def test_a_redeploy_that_removes_a_selected_tool_makes_its_receipt_stale_and_the_earlier_one_counts(
    searched: Home,
) -> None:
    resumed = searched.live(Life(catalog="refund_removed", turns=[[call("refund"), call("invoice")]]))
    assert resumed.found == active("invoice")
    assert "UNKNOWN_TOOL" in heard(searched)["call-4"]
    assert searched.store.ran("refund") == []
    assert searched.store.ran("invoice") == ["run-1/call-2", "run-1/call-5"]


@pytest.mark.rule("RCP-4")
def test_a_redeploy_that_edits_every_selected_tool_leaves_the_base_set(searched: Home) -> None:
    assert searched.live(Life(catalog="both_edited")).found == BASE


@pytest.mark.rule("RCP-4", "ACT-1")
def test_a_redeploy_that_is_rolled_back_finds_the_selection_again(searched: Home) -> None:
    assert searched.kill(Life(catalog="refund_edited", holds=["resumed"])).found == active("invoice")
    assert searched.live(Life()).found == active("refund", "look_up")


@pytest.mark.rule("RCP-4", "REP-2", "MNT-9")
@pytest.mark.parametrize("died", ["called:1", "inside:refund"])
def test_a_call_of_a_tool_that_a_redeploy_edits_is_interrupted_if_the_kill_left_it_unanswered(
    died: str, searched: Home
) -> None:
    searched.kill(Life(turns=[[call("refund")]], holds=[died]))
    before = searched.store.ran("refund")
    resumed = searched.live(Life(catalog="refund_edited"))
    assert "INTERRUPTED" in heard(searched)["call-4"]
    assert "it may have run" in heard(searched)["call-4"]
    assert searched.store.ran("refund") == before
    assert resumed.advertised == (active("invoice"),)


@pytest.mark.rule("REP-3", "MNT-9")
def test_of_a_call_of_a_tool_that_a_redeploy_removes_nobody_says_that_it_did_not_run(searched: Home) -> None:
    searched.kill(Life(turns=[[call("refund")]], holds=["inside:refund"]))
    searched.live(Life(catalog="refund_removed"))
    assert "UNKNOWN_TOOL" in heard(searched)["call-4"]
    assert "may have run" in heard(searched)["call-4"]
    assert len(searched.store.ran("refund")) == 1
