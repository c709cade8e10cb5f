"""Recovery matrix: what another run, or the same run on another surface, finds in a history that holds receipts."""

from __future__ import annotations

import pytest

from tests.recovery.life import Life, call, search
from tests.recovery.processes import Home
from tests.recovery.rows import BASE, active, heard


@pytest.mark.rule("ACT-5", "RCP-3", "SRC-1")
def test_a_run_is_interrupted_after_a_search_and_a_new_run_in_the_conversation_starts_with_the_base_set(
    searched: Home,
) -> None:
    new = searched.live(Life(run_id="run-2", prompt="Something else.", turns=[[call("refund")]]))
    assert new.found == BASE
    assert new.advertised[0] == BASE
    assert '"status":"SEARCH_REQUIRED"' in heard(searched)["call-4"]
    assert not searched.store.ran("refund")


@pytest.mark.rule("ACT-5", "SRC-1", "MNT-9")
def test_a_run_is_interrupted_inside_handlers_and_a_new_run_in_the_conversation_starts_with_the_base_set(
    inside: Home,
) -> None:
    # A provider wants every call answered before the next request. The interrupted calls are the old run's, so they are
    # answered in its name: with its keys, and without a receipt that would count for the new run.
    new = inside.live(Life(run_id="run-2", closes="run-1", prompt="Something else.", turns=["Gladly."]))
    assert new.found == BASE
    assert new.advertised == (BASE, BASE)
    assert set(inside.store.ran("charge") + inside.store.ran("top_up")) == {"run-1/call-2", "run-1/call-3"}
    assert "INTERRUPTED" in heard(inside)["call-2"]


@pytest.mark.rule("ACT-5", "SRC-1")
def test_a_queued_successor_with_the_whole_history_starts_with_the_base_set(searched: Home) -> None:
    finished = searched.live(Life(turns=[[call("refund")], "Done."]))
    assert finished.advertised[-1] == active("refund", "look_up")
    successor = searched.live(Life(run_id="run-2", prompt="And the next one.", turns=["Gladly."]))
    assert successor.found == BASE
    assert successor.advertised == (BASE, BASE)


@pytest.mark.rule("ACT-5", "SRC-1")
def test_a_sub_agent_with_the_parents_history_starts_with_the_base_set_and_leaves_the_parents_alone(
    inside: Home,
) -> None:
    sub_agent = Life(
        run_id="run-1/sub-1",
        conversation="sub",
        inherits="main",
        prompt="Look after the refund.",
        turns=[[search("refunds")], [call("refund"), call("charge")]],
    )
    sub = inside.live(sub_agent)
    assert sub.found == BASE
    assert sub.advertised[:2] == (BASE, active("refund", "look_up"))
    assert len(inside.store.ran("refund")) == 1
    assert inside.store.ran("charge") == ["run-1/call-2"]
    assert inside.live(Life()).found == active("charge", "top_up", "look_up")


@pytest.mark.rule("ACT-4", "ACT-5", "REP-4")
def test_the_surface_changes_between_steps_and_the_run_starts_there_with_the_base_set(searched: Home) -> None:
    elsewhere = Life(surface="counter", prompt="Go on.", turns=[[call("refund"), call("look_up")]])
    changed = searched.live(elsewhere)
    assert changed.found == BASE
    assert changed.advertised[0] == BASE
    answers = heard(searched)
    assert "UNKNOWN_TOOL" in answers["call-4"]
    assert '"status":"SEARCH_REQUIRED"' in answers["call-5"]
    assert searched.store.ran("refund") == searched.store.ran("look_up") == []
    # What was selected on the first surface is still what that surface finds.
    assert searched.live(Life()).found == active("refund", "look_up")
