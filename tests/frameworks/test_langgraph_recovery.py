"""The recovery matrix on LangGraph: real processes, SIGKILL, the SQLite checkpointer, approvals in between."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.langgraph_agent import GraphLife
from tests.recovery.life import call, search
from tests.recovery.processes import said_by
from tests.recovery.rows import BASE, active
from tests.recovery.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one process said of itself."""

    found: tuple[str, ...]
    advertised: tuple[tuple[str, ...], ...]
    answers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Thread:
    """A folder with the one thread that successive processes take up."""

    folder: Path

    @property
    def store(self) -> Store:
        """What was done, across processes."""
        return Store(self.folder / "deeds.db")

    def copy(self, folder: Path) -> Thread:
        """The same thread once more, write-ahead logs included."""
        shutil.copytree(self.folder, folder)
        return Thread(folder)

    def live(self, life: GraphLife) -> Told:
        """A life that ends by itself."""
        return self._run(life, until=(), code=0)

    def kill(self, life: GraphLife) -> Told:
        """A life that is killed with SIGKILL once it has reached every point it is held at."""
        return self._run(life, until=life.holds, code=-signal.SIGKILL)

    def _run(self, life: GraphLife, *, until: Sequence[str], code: int) -> Told:
        log = self.folder / "stderr"
        program = ["tests.frameworks.langgraph_agent", str(self.folder), life.to_json()]
        said, ended = said_by(program, log=log, until=until)
        assert ended == code, log.read_text()

        def all_of(event: str) -> list[Any]:
            return [line[event] for line in said if event in line]

        return Told(
            found=tuple(next(iter(all_of("found")), ())),
            advertised=tuple(map(tuple, all_of("advertised"))),
            answers=next(iter(all_of("answers")), {}),
        )


SEARCHED = GraphLife(
    prompt="Put the bill right.",
    turns=[[search("invoices")], [call("invoice")], [search("refunds")]],
    holds=["recorded:3"],
)
PAYS = [[search("money")], [call("charge"), call("top_up"), call("look_up")]]
INSIDE = GraphLife(
    prompt="Take the money.", turns=PAYS, holds=[f"inside:{name}" for name in ("charge", "top_up", "look_up")]
)


@pytest.fixture(scope="session")
def _searched(tmp_path_factory: pytest.TempPathFactory) -> Thread:
    thread = Thread(tmp_path_factory.mktemp("searched"))
    thread.kill(SEARCHED)
    return thread


@pytest.fixture
def searched(_searched: Thread, tmp_path: Path) -> Thread:
    """A thread whose process was killed after a search."""
    return _searched.copy(tmp_path / "thread")


@pytest.fixture
def thread(tmp_path: Path) -> Thread:
    """A new thread."""
    return Thread(tmp_path)


@pytest.mark.rule("ACT-1", "ACT-5", "RCP-6")
def test_killed_after_a_search_the_same_run_goes_on_with_the_same_tools_and_no_new_search(searched: Thread) -> None:
    resumed = searched.live(GraphLife(turns=[[call("refund")]]))
    assert resumed.found == active("refund", "look_up")
    assert resumed.advertised == (resumed.found,)
    assert searched.store.rankings() == 2
    assert len(searched.store.ran("refund")) == 1


@pytest.mark.rule("ACT-5", "SRC-1")
def test_a_new_input_in_the_same_thread_is_a_new_run_and_starts_with_the_base_set(searched: Thread) -> None:
    new = searched.live(GraphLife(prompt="Something else.", turns=[[call("refund")]]))
    assert new.advertised == (BASE,)
    assert "SEARCH_REQUIRED" in new.answers["call-4"]
    assert not searched.store.ran("refund")


@pytest.mark.rule("ACT-5", "SRC-1")
def test_a_queued_successor_starts_with_the_base_set_and_keeps_what_it_then_finds_itself(searched: Thread) -> None:
    finished = searched.live(GraphLife(turns=[[call("refund")], "Done."]))
    assert finished.advertised[-1] == active("refund", "look_up")
    script: Any = [[call("refund")], [search("invoices")], [call("invoice")]]
    successor = searched.kill(GraphLife(prompt="And the next one.", turns=script, holds=["recorded:2"]))
    assert successor.advertised[0] == BASE
    # What it found itself is its own, also after a kill.
    resumed = searched.live(GraphLife(turns=script[2:]))
    assert resumed.found == resumed.advertised[0] == active("invoice")
    assert "SEARCH_REQUIRED" in resumed.answers["call-5"]
    assert resumed.answers["call-7"] == "invoice done"
    assert len(searched.store.ran("refund")) == 1


@pytest.mark.rule("ACT-5", "SRC-1")
def test_a_sub_agent_with_the_parents_history_starts_with_the_base_set_and_leaves_the_parents_alone(
    searched: Thread,
) -> None:
    sub_agent = GraphLife(
        thread="sub", inherits="main", prompt="Look after the refund.", turns=[[call("refund")], [call("refund")]]
    )
    sub = searched.live(sub_agent)
    assert sub.advertised == (BASE, active("refund"))
    assert "SEARCH_REQUIRED" in sub.answers["call-4"]
    assert sub.answers["call-5"] == "refund done"
    assert searched.live(GraphLife()).found == active("refund", "look_up")


@pytest.mark.rule("RCP-4", "ACT-4", "ACT-9", "REP-4")
@pytest.mark.parametrize(
    ("life", "found"),
    [
        (GraphLife(catalog="others_changed"), active("refund", "look_up")),
        (GraphLife(catalog="refund_edited"), active("invoice")),
        (GraphLife(catalog="refund_removed"), active("invoice")),
        (GraphLife(surface="counter"), BASE),
        (GraphLife(forgets=True), BASE),
    ],
    ids=["others-redeployed", "selected-redeployed", "selected-removed", "surface-changed", "compacted"],
)
def test_what_changed_while_nobody_lived_decides_what_is_found(
    life: GraphLife, found: tuple[str, ...], searched: Thread
) -> None:
    resumed = searched.live(replace(life, turns=[[call("refund")]]))
    assert resumed.found == resumed.advertised[0] == found
    # Behind a compacted history the script counts from one again.
    answer = resumed.answers["call-1" if life.forgets else "call-4"]
    known = life.surface == "desk" and life.catalog != "refund_removed"
    expected = "SEARCH_REQUIRED" if known else "UNKNOWN_TOOL"
    assert ("refund done" if "refund" in found else expected) in answer


@pytest.mark.rule("ACT-5", "REP-2", "MNT-9")
@pytest.mark.parametrize("point", ["called:1", "ranking"])
def test_killed_between_a_search_and_its_result_the_search_is_answered_on_resume(point: str, thread: Thread) -> None:
    thread.kill(GraphLife(prompt="Refund it.", turns=[[search("refunds"), call("refund")]], holds=[point]))
    resumed = thread.live(GraphLife(turns=[[call("look_up")]]))
    assert resumed.found == BASE
    assert resumed.advertised == (active("refund", "look_up"),)
    assert '"status":"SELECTED"' in resumed.answers["call-1"]
    assert '"status":"SEARCH_REQUIRED"' in resumed.answers["call-2"]
    assert not thread.store.ran("refund")


@pytest.mark.rule("MNT-9", "ACT-5")
@pytest.mark.parametrize(("native", "sync"), [(True, False), (False, True)], ids=["langchains-async", "library-sync"])
def test_killed_inside_handlers_only_what_may_run_twice_is_run_again(
    *, native: bool, sync: bool, thread: Thread
) -> None:
    kind: Callable[[GraphLife], GraphLife] = lambda life: replace(life, native=native, sync=sync)  # noqa: E731
    thread.kill(kind(INSIDE))
    resumed = thread.live(kind(GraphLife()))
    assert resumed.found == active("charge", "top_up", "look_up")
    ran = Counter(deed.what for deed in thread.store.deeds())
    assert ran == Counter({"(ranking)": 1, "charge": 1, "top_up": 2, "look_up": 2})
    assert "INTERRUPTED" in resumed.answers["call-2"]
    assert (resumed.answers["call-3"], resumed.answers["call-4"]) == ("top_up done", "look_up done")


@pytest.mark.rule("MNT-9", "RCP-4")
@pytest.mark.parametrize(
    "later",
    [GraphLife(catalog="refund_edited"), GraphLife(surface="counter"), GraphLife(prompt="Never mind.")],
    ids=["redeployed", "another-surface", "a-new-run"],
)
@pytest.mark.parametrize("native", [True, False], ids=["langchains", "library"])
def test_killed_inside_a_handler_that_is_not_active_any_more_the_call_does_not_run_again(
    *, native: bool, later: GraphLife, thread: Thread
) -> None:
    refunds = GraphLife(prompt="Refund it.", turns=[[search("refunds")], [call("refund")]], holds=["inside:refund"])
    thread.kill(replace(refunds, native=native))
    told = thread.live(replace(later, native=native, turns=[[call("look_up")]]))
    if later.prompt is None:
        assert ("INTERRUPTED" if later.surface == "desk" else "UNKNOWN_TOOL") in told.answers["call-2"]
    assert len(thread.store.ran("refund")) == 1


@pytest.mark.rule("MNT-9", "REP-2")
def test_a_call_that_waited_for_its_approval_through_a_kill_runs_and_one_killed_inside_does_not_run_again(
    thread: Thread,
) -> None:
    asks = GraphLife(asks_for=["charge"])
    waits = replace(asks, prompt="Take the money.", turns=[[search("money")], [call("charge")]], holds=["recorded:2"])
    thread.kill(waits)
    assert not thread.store.ran("charge")
    thread.kill(replace(asks, approves=True, holds=["inside:charge"]))
    assert len(thread.store.ran("charge")) == 1
    resumed = thread.live(asks)
    assert "INTERRUPTED" in resumed.answers["call-2"]
    assert len(thread.store.ran("charge")) == 1


@pytest.mark.rule("MNT-9")
def test_a_call_that_was_never_begun_runs_once_after_a_kill(thread: Thread) -> None:
    called = GraphLife(prompt="Take the money.", turns=[[search("money")], [call("charge")]], holds=["called:2"])
    thread.kill(called)
    assert thread.live(GraphLife()).answers["call-2"] == "charge done"
    assert len(thread.store.ran("charge")) == 1


@pytest.mark.rule("MNT-9")
def test_a_tool_that_asks_a_human_inside_goes_on_with_the_answer_after_a_kill_and_once_begun_never_again(
    thread: Thread,
) -> None:
    asks = GraphLife(native=True, interrupts=["charge"])
    thread.kill(replace(asks, prompt="Take it.", turns=[[search("money")], [call("charge")]], holds=["recorded:2"]))
    assert not thread.store.ran("charge")
    thread.kill(replace(asks, approves=True, holds=["inside:charge"]))
    resumed = thread.live(asks)
    assert "INTERRUPTED" in resumed.answers["call-2"]
    assert len(thread.store.ran("charge")) == 1
