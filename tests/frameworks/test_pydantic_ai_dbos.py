"""A pydantic-ai run in a durable engine: DBOS on SQLite, killed in the middle and taken up by another process."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.dbos_agent import MODEL
from tests.recovery.processes import said_by
from tests.recovery.rows import BASE, active
from tests.recovery.store import Store


def lived(folder: Path, *holds: str) -> tuple[list[dict[str, Any]], int]:
    """One process, killed where it is held, if it is."""
    log = folder / "stderr"
    said, code = said_by(["tests.frameworks.dbos_agent", str(folder), json.dumps(holds)], log=log, until=holds)
    assert code == (-signal.SIGKILL if holds else 0), log.read_text()
    return said, code


def advertised(said: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return [tuple(line["advertised"]) for line in said if "advertised" in line]


@pytest.mark.rule("ACT-1", "ACT-5", "MNT-9")
def test_killed_inside_handlers_the_engine_takes_the_run_up_with_the_same_tools_and_repeats_only_what_is_safe(
    tmp_path: Path,
) -> None:
    selected = active("charge", "top_up", "look_up")
    killed, _ = lived(tmp_path, "inside:charge", "inside:top_up", "inside:look_up")
    assert advertised(killed) == [BASE, selected]
    resumed, _ = lived(tmp_path)
    # The two turns that the journal holds are not asked for again, and neither is the search.
    assert advertised(resumed) == [selected]
    store = Store(tmp_path / "agent.db")
    assert (len(store.ran(MODEL)), store.rankings()) == (3, 1)
    assert [len(store.ran(name)) for name in ("charge", "top_up", "look_up")] == [1, 2, 2]
    (answers,) = [line["answers"] for line in resumed if "answers" in line]
    assert "INTERRUPTED" in answers[1]
    assert answers[2:] == ['"top_up done"', '"look_up done"']
    keys = {(deed.call, deed.key) for deed in store.deeds() if deed.key}
    assert len(keys) == 3


@pytest.mark.rule("ACT-5", "REP-2")
def test_killed_inside_a_search_the_engine_has_it_answered_once(tmp_path: Path) -> None:
    killed, _ = lived(tmp_path, "ranking")
    assert advertised(killed) == [BASE]
    resumed, _ = lived(tmp_path)
    assert advertised(resumed) == [active("charge", "top_up", "look_up")] * 2
    store = Store(tmp_path / "agent.db")
    assert (len(store.ran(MODEL)), store.rankings()) == (3, 2)
    assert len(store.ran("charge")) == 1
