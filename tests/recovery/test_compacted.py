"""Recovery matrix: the history is compacted, and the receipt is gone with it."""

from __future__ import annotations

import pytest

from tests.recovery.life import Life, call
from tests.recovery.processes import Home
from tests.recovery.rows import BASE, active, heard


@pytest.mark.rule("ACT-9", "REP-1")
def test_a_compacted_history_without_its_receipt_gives_the_base_set_and_asks_for_a_search(searched: Home) -> None:
    whole = len(searched.store.messages("main"))
    searched.kill(Life(forgets=whole, holds=["opened"]))
    resumed = searched.live(Life(turns=[[call("refund")], [call("refund")]]))
    assert resumed.found == BASE
    assert resumed.advertised == (BASE, active("refund"), active("refund"))
    answers = heard(searched)
    assert '"status":"SEARCH_REQUIRED"' in answers["call-1"]
    assert answers["call-2"] == "refund done"
    assert searched.store.ran("refund") == ["run-1/call-2"]


@pytest.mark.rule("ACT-9", "ACT-2")
def test_a_compacted_history_that_keeps_its_last_receipt_keeps_that_selection(searched: Home) -> None:
    whole = len(searched.store.messages("main"))
    assert searched.live(Life(forgets=whole - 2)).found == active("refund", "look_up")


@pytest.mark.rule("ACT-9")
def test_a_history_truncated_between_a_call_and_its_result_gives_the_base_set(searched: Home) -> None:
    # What is left begins with the result of the last search.
    whole = len(searched.store.messages("main"))
    assert searched.live(Life(forgets=whole - 1)).found == BASE
