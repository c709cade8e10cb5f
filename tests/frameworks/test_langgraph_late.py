"""Killed while checkpoints are stored late (MNT-9): LangGraph's default durability, real processes, SIGKILL, SQLite."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.frameworks.late_graph_agent import THREAD, LateLife
from tests.recovery.processes import said_by


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("helpers", [0, 1, 2])
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_killed_inside_a_tool_whose_turn_is_stored_late_it_does_not_run_again(
    *, sync: bool, helpers: int, tmp_path: Path
) -> None:
    whom = [f"helper-{number}" for number in range(helpers)] or ["main"]
    life = LateLife(begins=True, sync=sync, helpers=helpers, holds=[f"inside:{each}" for each in whom])
    _killed(life, tmp_path)
    _goes_on(life, whom, tmp_path)


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_killed_inside_a_tool_whose_turn_is_known_to_the_checkpoint_before_it_alone_it_does_not_run_again(
    *, sync: bool, tmp_path: Path
) -> None:
    life = LateLife(begins=True, sync=sync, helpers=0, never=True, holds=["inside:main"])
    _killed(life, tmp_path)
    with SqliteSaver.from_conn_string(str(tmp_path / "graph.db")) as saver:
        newest = saver.get_tuple({"configurable": THREAD["configurable"]})
        assert newest is not None
        assert [each.type for each in newest.checkpoint["channel_values"]["messages"]] == ["human"]
    _goes_on(life, ["main"], tmp_path)


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_killed_inside_a_tool_of_a_sub_agent_whose_caller_alone_is_stored_late_it_does_not_run_again(
    *, sync: bool, tmp_path: Path
) -> None:
    life = LateLife(begins=True, sync=sync, helpers=1, outermost=True, holds=["inside:helper-0"])
    _killed(life, tmp_path)
    _goes_on(life, ["helper-0"], tmp_path)


def _killed(life: LateLife, folder: Path) -> None:
    """A process of this life, killed inside the tools that it holds in."""
    log, program = folder / "stderr", ["tests.frameworks.late_graph_agent", str(folder)]
    _, ended = said_by([*program, life.to_json()], log=log, until=life.holds)
    assert ended == -signal.SIGKILL, log.read_text()


def _goes_on(life: LateLife, whom: list[str], folder: Path) -> None:
    """Another process takes up what one has left that paid for these, and pays for none of them."""
    later, log = replace(life, begins=False, never=False, holds=()), folder / "stderr"
    said, ended = said_by(["tests.frameworks.late_graph_agent", str(folder), later.to_json()], log=log)
    assert ended == 0, log.read_text()
    assert said[-1]["ended"].count("INTERRUPTED") == len(whom)
    assert sorted((folder / "paid").read_text().split()) == whom
