"""Recovery matrix: the process is killed and the same run is resumed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.recovery.conftest import SEARCHED
from tests.recovery.life import Life, call, search
from tests.recovery.processes import Home
from tests.recovery.rows import BASE, active, heard, unanswered


@pytest.mark.rule("ACT-1", "ACT-5", "RCP-6")
@pytest.mark.parametrize(
    ("dialect", "signed"), [("anthropic", True), ("openai-chat", False), ("openai-responses", True)]
)
def test_killed_after_a_search_the_same_run_goes_on_with_the_same_tools_and_no_new_search(
    *, dialect: str, signed: bool, home: Home
) -> None:
    home.kill(replace(SEARCHED, dialect=dialect, signed=signed, turns=[[search("refunds")]], holds=["recorded:1"]))
    resumed = home.live(Life(dialect=dialect, signed=signed, turns=[[call("refund")]]))
    assert resumed.found == active("refund", "look_up")
    assert resumed.advertised == (resumed.found, resumed.found)
    assert home.store.rankings() == 1
    assert home.store.ran("refund") == ["run-1/call-2"]


@pytest.mark.rule("ACT-1", "ACT-2", "ACT-5")
def test_killed_again_the_same_run_keeps_its_tools(searched: Home) -> None:
    assert searched.kill(Life(holds=["resumed"])).found == active("refund", "look_up")
    assert searched.live(Life()).found == active("refund", "look_up")
    assert searched.store.rankings() == 2


@pytest.mark.rule("ACT-5", "REP-2", "MNT-9")
@pytest.mark.parametrize("point", ["called:1", "ranking", "answered:1"])
def test_killed_between_a_search_and_its_result_the_base_set_is_found_and_the_search_is_answered(
    point: str, home: Home
) -> None:
    killed = home.kill(Life(prompt="Refund it.", turns=[[search("refunds"), call("refund")]], holds=[point]))
    assert killed.advertised == (BASE,)
    assert unanswered(home) == ["search_tools", "refund"]
    resumed = home.live(Life(turns=[[call("look_up")]]))
    assert resumed.found == BASE
    assert resumed.advertised[0] == active("refund", "look_up")
    assert '"status":"SELECTED"' in heard(home)["call-1"]
    # The call beside the search was made when its tool was not active. After a restart nobody knows that.
    assert "INTERRUPTED" in heard(home)["call-2"]
    assert not home.store.ran("refund")
    assert len(home.store.ran("look_up")) == 1


@pytest.mark.rule("MNT-9", "ACT-5")
def test_killed_inside_handlers_only_what_may_run_twice_is_run_again_and_with_the_same_key(inside: Home) -> None:
    resumed = inside.live(Life())
    assert resumed.found == active("charge", "top_up", "look_up")
    assert resumed.advertised == (resumed.found,)
    assert inside.store.ran("charge") == ["run-1/call-2"]
    assert inside.store.ran("top_up") == ["run-1/call-3"] * 2
    assert inside.store.ran("look_up") == ["run-1/call-4"] * 2
    keys = {(deed.call, deed.key) for deed in inside.store.deeds() if deed.key}
    assert len(keys) == len(dict(keys)) == len({key for _, key in keys}) == 3
    answers = heard(inside)
    assert "INTERRUPTED" in answers["call-2"]
    assert "it may have run" in answers["call-2"]
    assert answers["call-3"] == "top_up done"
    assert answers["call-4"] == "look_up done"


@pytest.mark.rule("MNT-9")
def test_killed_inside_handlers_the_application_may_decide_that_a_call_is_run_again(inside: Home) -> None:
    inside.live(Life(run_again=True))
    assert inside.store.ran("charge") == ["run-1/call-2"] * 2
    assert heard(inside)["call-2"] == "charge done"


@pytest.mark.rule("MNT-9")
def test_killed_inside_a_handler_of_the_resume_itself_a_call_is_answered_by_the_same_rule(inside: Home) -> None:
    inside.kill(Life(holds=["inside:look_up", "inside:top_up"]))
    inside.live(Life())
    ran = Counter(deed.what for deed in inside.store.deeds())
    assert ran == Counter({"(ranking)": 1, "charge": 1, "top_up": 3, "look_up": 3})
    assert "INTERRUPTED" in heard(inside)["call-2"]


@pytest.mark.rule("MNT-9", "REP-2")
def test_killed_between_two_results_of_one_step_only_the_unrecorded_call_is_answered(home: Home) -> None:
    dialect = "openai-chat"
    calls = [call("top_up"), call("charge")]
    home.kill(Life(dialect=dialect, prompt="Pay.", turns=[[search("money")], calls], holds=["recorded:2:1"]))
    resumed = home.live(Life(dialect=dialect))
    assert resumed.found == active("charge", "top_up", "look_up")
    answers = heard(home, dialect=dialect)
    assert answers["call-2"] == "top_up done"
    assert "INTERRUPTED" in answers["call-3"]
    assert len(home.store.ran("top_up")) == len(home.store.ran("charge")) == 1
