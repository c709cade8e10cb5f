"""The recovery matrix on pydantic-ai: messages as JSON on disk, real processes, SIGKILL."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from surface.adapters.pydantic_ai import PYDANTIC_AI
from tests.recovery.conftest import INSIDE, SEARCHED
from tests.recovery.life import Life, call, search
from tests.recovery.processes import Home
from tests.recovery.rows import BASE, active

PROGRAM = "tests.frameworks.pydantic_ai_agent"
FOUND = active("refund", "look_up")


@pytest.fixture(scope="module")
def _searched_once(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("searched"), PROGRAM)
    home.kill(SEARCHED)
    return home


@pytest.fixture(scope="module")
def _inside_once(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("inside"), PROGRAM)
    home.kill(INSIDE)
    return home


@pytest.fixture
def searched(_searched_once: Home, tmp_path: Path) -> Home:
    return _searched_once.copy(tmp_path / "home")


@pytest.fixture
def inside(_inside_once: Home, tmp_path: Path) -> Home:
    return _inside_once.copy(tmp_path / "home")


def heard(home: Home, conversation: str = "main") -> dict[str, str]:
    """Call id → what the model reads of its result, as stored."""
    messages = ModelMessagesTypeAdapter.validate_python(home.store.messages(conversation))
    parts = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    return {part.tool_call_id: str(part.content) for part in parts}


@pytest.mark.rule("ACT-1", "ACT-5", "RCP-6", "RCP-7")
def test_killed_after_a_search_the_same_run_goes_on_with_the_same_tools_and_no_new_search(searched: Home) -> None:
    resumed = searched.live(Life(turns=[[call("refund")]]))
    assert resumed.found == FOUND
    assert resumed.advertised == (FOUND, FOUND)
    assert searched.store.rankings() == 2
    assert searched.store.ran("refund") == ["run-1/call-4"]


@pytest.mark.rule("ACT-5", "REP-2")
def test_killed_between_a_search_and_its_result_the_base_set_is_found_and_the_search_is_answered(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path, PROGRAM)
    home.kill(Life(prompt="Refund it.", turns=[[search("refunds"), call("refund")]], holds=["called:1"]))
    resumed = home.live(Life(turns=[[call("look_up")]]))
    assert resumed.found == BASE
    assert resumed.advertised[0] == FOUND
    assert "SELECTED" in heard(home)["call-1"]
    assert "INTERRUPTED" in heard(home)["call-2"]  # without a journal nobody knows that it was inactive
    assert (len(home.store.ran("refund")), len(home.store.ran("look_up"))) == (0, 1)


@pytest.mark.rule("MNT-9", "ACT-5")
def test_killed_inside_handlers_only_what_may_run_twice_is_run_again_and_with_the_same_key(inside: Home) -> None:
    resumed = inside.live(Life())
    assert resumed.found == active("charge", "top_up", "look_up")
    assert resumed.advertised == (resumed.found,)
    assert [len(inside.store.ran(name)) for name in ("charge", "top_up", "look_up")] == [1, 2, 2]
    assert len({(deed.call, deed.key) for deed in inside.store.deeds() if deed.key}) == 3
    assert "INTERRUPTED" in heard(inside)["call-2"]
    assert heard(inside)["call-3"] == "top_up done"


@pytest.mark.rule("ACT-5", "SRC-1", "MNT-9")
def test_interrupted_inside_handlers_a_new_run_starts_with_the_base_set_once_the_old_one_is_closed(
    inside: Home,
) -> None:
    new = inside.live(Life(run_id="run-2", closes="run-1", prompt="Something else.", turns=["Gladly."]))
    assert new.found == BASE
    assert new.advertised == (BASE, BASE)
    assert set(inside.store.ran("charge") + inside.store.ran("top_up")) == {"run-1/call-2", "run-1/call-3"}


@pytest.mark.rule("ACT-5", "SRC-1")
def test_a_queued_successor_with_the_whole_history_starts_with_the_base_set(searched: Home) -> None:
    finished = searched.live(Life(turns=[[call("refund")], "Done."]))
    assert finished.advertised[-1] == FOUND
    successor = searched.live(Life(run_id="run-2", prompt="And the next one.", turns=[[call("refund")]]))
    assert successor.advertised[0] == BASE
    assert "SEARCH_REQUIRED" in heard(searched)["call-5"]
    assert searched.store.ran("refund") == ["run-1/call-4"]


@pytest.mark.rule("ACT-5", "SRC-1")
def test_a_sub_agent_with_the_parents_history_starts_with_the_base_set(inside: Home) -> None:
    life = Life(
        run_id="run-1/sub-1", conversation="sub", inherits="main", prompt="Look.", turns=[[search("refunds")], "Seen."]
    )
    sub = inside.live(life)
    assert sub.found == BASE
    assert sub.advertised == (BASE, FOUND, FOUND)


@pytest.mark.rule("ACT-4", "ACT-5", "REP-4")
def test_on_another_surface_the_run_starts_with_the_base_set(searched: Home) -> None:
    changed = searched.live(Life(surface="counter", turns=[[call("refund"), call("look_up")]]))
    assert changed.advertised[0] == BASE
    assert "UNKNOWN_TOOL" in heard(searched)["call-4"]
    assert "SEARCH_REQUIRED" in heard(searched)["call-5"]
    assert searched.store.ran("refund") == searched.store.ran("look_up") == []


@pytest.mark.rule("RCP-4", "ACT-5")
@pytest.mark.parametrize(
    ("deploy", "expected"),
    [("others_changed", FOUND), ("refund_edited", active("invoice")), ("both_edited", BASE)],
)
def test_after_a_redeploy_a_selection_counts_as_far_as_its_tools_are_untouched(
    deploy: str, expected: tuple[str, ...], searched: Home
) -> None:
    assert searched.live(Life(catalog=deploy)).found == expected


@pytest.mark.rule("RCP-4", "REP-3")
def test_after_a_redeploy_that_removes_a_selected_tool_the_earlier_selection_counts(searched: Home) -> None:
    resumed = searched.live(Life(catalog="refund_removed", turns=[[call("refund"), call("invoice")]]))
    assert resumed.advertised[0] == active("invoice")
    assert "UNKNOWN_TOOL" in heard(searched)["call-4"]
    assert searched.store.ran("invoice") == ["run-1/call-2", "run-1/call-5"]


@pytest.mark.rule("ACT-9", "REP-1")
def test_with_the_receipts_compacted_away_the_base_set_is_left_and_a_direct_call_asks_for_a_search(
    searched: Home,
) -> None:
    stored = searched.store.messages("main")
    compacted = searched.live(Life(forgets=len(stored), turns=[[call("refund")]]))
    assert compacted.found == BASE
    assert "SEARCH_REQUIRED" in heard(searched)["call-1"]
    assert not searched.store.ran("refund")


@pytest.mark.rule("RCP-7")
def test_what_is_stored_shows_the_model_a_projection_and_keeps_the_receipt_out_of_its_sight(searched: Home) -> None:
    messages = ModelMessagesTypeAdapter.validate_python(searched.store.messages("main"))
    assert all("digests" not in text for text in heard(searched).values())
    assert PYDANTIC_AI.read(messages).steps[0].results["call-1"].text is not None
