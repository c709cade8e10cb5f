"""Killed while checkpoints are stored late (MNT-9): LangGraph's default durability, real processes, SIGKILL, SQLite."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.frameworks.late_graph_agent import LateLife
from tests.recovery.processes import said_by


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("helpers", [0, 1, 2])
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_killed_inside_a_tool_whose_turn_is_stored_late_it_does_not_run_again(
    *, sync: bool, helpers: int, tmp_path: Path
) -> None:
    whom = [f"helper-{number}" for number in range(helpers)] or ["main"]
    life = LateLife(begins=True, sync=sync, helpers=helpers, holds=[f"inside:{each}" for each in whom])
    log, program = tmp_path / "stderr", ["tests.frameworks.late_graph_agent", str(tmp_path)]
    _, ended = said_by([*program, life.to_json()], log=log, until=life.holds)
    assert ended == -signal.SIGKILL, log.read_text()
    later = replace(life, begins=False, holds=())
    said, ended = said_by([*program, later.to_json()], log=log)
    assert ended == 0, log.read_text()
    assert said[-1]["ended"].count("INTERRUPTED") == len(whom)
    assert sorted((tmp_path / "paid").read_text().split()) == whom
