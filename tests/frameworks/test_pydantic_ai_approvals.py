"""Approvals between a call and its result on pydantic-ai, through kills: real processes, SIGKILL, JSON and SQLite."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.recovery.processes import said_by
from tests.recovery.store import Store


def lived(folder: Path, *holds: str, decision: bool | None = None) -> dict[str, Any]:
    """What one process said last of each thing; it is killed where it is held, if it is."""
    log = folder / "stderr"
    program = ["tests.frameworks.pydantic_ai_approvals", str(folder), json.dumps(decision), json.dumps(holds)]
    said, code = said_by(program, log=log, until=holds)
    assert code == (-signal.SIGKILL if holds else 0), log.read_text()
    return {event: value for line in said for event, value in line.items()}


def ran(folder: Path) -> list[tuple[str, str]]:
    """The tools that began, each with its call, and the searches."""
    return [(deed.what, deed.call) for deed in Store(folder / "agent.db").deeds()]


SEARCHED, CHARGED, LOOKED = ("(ranking)", ""), ("charge", "call-2"), ("look_up", "call-3")


@pytest.mark.rule("MNT-9", "ACT-5", "REP-2")
def test_a_call_that_waited_for_its_approval_through_a_kill_runs_once_it_is_given(tmp_path: Path) -> None:
    assert lived(tmp_path, "asked")["asks"] == ["charge"]
    assert ran(tmp_path) == [SEARCHED, LOOKED]
    approved = lived(tmp_path, decision=True)
    assert approved["answers"]["call-2"] == "charge done"
    assert ran(tmp_path) == [SEARCHED, LOOKED, CHARGED]


@pytest.mark.rule("MNT-9", "REP-2")
def test_a_call_that_was_denied_after_a_kill_never_runs(tmp_path: Path) -> None:
    lived(tmp_path, "asked")
    assert "denied" in lived(tmp_path, decision=False)["answers"]["call-2"]
    assert CHARGED not in ran(tmp_path)


@pytest.mark.rule("MNT-9")
def test_an_approved_call_that_was_killed_inside_is_interrupted_however_often_it_is_approved(tmp_path: Path) -> None:
    lived(tmp_path, "asked")
    lived(tmp_path, "inside:charge", decision=True)
    assert "INTERRUPTED" in lived(tmp_path, decision=True)["answers"]["call-2"]
    assert ran(tmp_path).count(CHARGED) == 1


@pytest.mark.rule("MNT-9", "ACT-5")
@pytest.mark.parametrize(("point", "looks"), [("called:2", 1), ("inside:look_up", 2)])
def test_killed_before_anybody_was_asked_the_question_is_asked_again_and_the_call_has_not_begun(
    point: str, looks: int, tmp_path: Path
) -> None:
    lived(tmp_path, point)
    assert lived(tmp_path, "asked")["asks"] == ["charge"]
    assert lived(tmp_path, decision=True)["answers"]["call-2"] == "charge done"
    assert ran(tmp_path) == [SEARCHED, *[LOOKED] * looks, CHARGED]
