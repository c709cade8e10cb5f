"""The demo's six points, from the JSON of a real run; what its processes do when something goes wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.end_to_end.conftest import ROOT, DemoRun, Starter, demo_command, processes_of

BASE = ["search_tools", "sts_get_caller_identity"]


def run_of(demo: DemoRun, run_id: str) -> Mapping[str, Any]:
    runs: dict[str, Mapping[str, Any]] = {run["run_id"]: run for run in demo.result["runs"]}
    return runs[run_id]


def call_of(run: Mapping[str, Any], call_id: str) -> Mapping[str, Any]:
    calls: dict[str, Mapping[str, Any]] = {call["id"]: call for step in run["steps"] for call in step["calls"]}
    return calls[call_id]


def held(demo: DemoRun, number: int) -> bool:
    point = demo.result["points"][number - 1]
    assert (point["point"], point["broken"]) == (number, [])
    return bool(point["held"])


def test_it_ends_well_and_says_that_all_six_hold(demo_run: DemoRun) -> None:
    assert demo_run.exit_status == 0, demo_run.story
    assert demo_run.result["ok"] is True
    assert [point["point"] for point in demo_run.result["points"]] == [1, 2, 3, 4, 5, 6]


def test_step_1_advertises_the_search_tool_the_always_on_tools_and_the_pins(demo_run: DemoRun) -> None:
    """SRC-1"""
    assert held(demo_run, 1)
    assert run_of(demo_run, "audit-1")["steps"][0]["advertised"] == [*BASE, "s3_list_buckets"]
    assert run_of(demo_run, "cleanup-1")["steps"][0]["advertised"] == [*BASE, "cloudwatch_describe_alarms"]


def test_a_search_goes_over_http_and_comes_back_as_a_receipt(demo_run: DemoRun) -> None:
    assert held(demo_run, 2)
    call = call_of(run_of(demo_run, "audit-1"), "toolu_audit_search")
    assert call["arguments"] == {"query": "which of my buckets are public?"}
    assert (call["search"]["status"], call["search"]["ranker"]) == ("SELECTED", "selector")
    assert call["search"]["index_version"] == demo_run.result["index"]["versions"]["reader"]
    assert "s3_get_bucket_policy_status" in call["search"]["selected"]


def test_the_next_step_has_the_real_tools_and_a_direct_call_runs_its_own_handler(demo_run: DemoRun) -> None:
    """MNT-1"""
    assert held(demo_run, 3)
    run = run_of(demo_run, "audit-1")
    selected = call_of(run, "toolu_audit_search")["search"]["selected"]
    assert set(run["steps"][1]["advertised"]) == {*BASE, "s3_list_buckets", *selected}
    assert call_of(run, "toolu_audit_rejected")["outcome"] == "VALIDATION_ERROR"
    request = call_of(run, "toolu_audit_direct")["request"]
    assert (request["method"], request["path"], request["query"]) == ("GET", "/holiday-photos", "policyStatus")


def test_an_inactive_tool_needs_a_search_and_an_operators_tool_is_unknown(demo_run: DemoRun) -> None:
    """REP-1, REP-4"""
    assert held(demo_run, 4)
    run = run_of(demo_run, "audit-1")
    assert call_of(run, "toolu_audit_inactive")["outcome"] == "SEARCH_REQUIRED"
    assert call_of(run, "toolu_audit_unknown")["outcome"] == "UNKNOWN_TOOL"
    assert not {"toolu_audit_inactive", "toolu_audit_unknown", "toolu_audit_rejected"} & set(run["handler_runs"])


def test_a_killed_run_goes_on_with_the_same_tools_and_another_run_begins_anew(demo_run: DemoRun) -> None:
    """ACT-5, MNT-9"""
    assert held(demo_run, 5)
    run = run_of(demo_run, "audit-1")
    assert [process["exit_status"] for process in run["processes"]] == [-signal.SIGKILL, 0]
    before, after = run["steps"][-2:]
    assert (before["restarted"], after["restarted"]) == (False, True)
    assert before["advertised"] == after["advertised"]
    assert len(after["advertised"]) > len(BASE) + 1
    assert [other["advertised"] for other in run["other_runs"]] == [[*BASE, "s3_list_buckets"]]
    assert call_of(run, "toolu_audit_killed")["answered_after_restart"] is True
    assert call_of(run_of(demo_run, "cleanup-1"), "toolu_cleanup_killed")["outcome"] == "INTERRUPTED"


def test_without_the_selector_a_search_is_answered_locally_and_says_so(demo_run: DemoRun) -> None:
    """SRC-8"""
    assert held(demo_run, 6)
    run = run_of(demo_run, "cleanup-1")
    search = call_of(run, "toolu_cleanup_late")["search"]
    assert (search["status"], search["ranker"], search["degraded"]) == ("SELECTED", "lexical", "unreachable")
    assert set(search["selected"]) <= set(run["steps"][-1]["advertised"])


def test_it_built_a_fresh_index_and_leaves_no_process_behind(demo_run: DemoRun) -> None:
    assert demo_run.result["index"]["fresh"] is True
    assert demo_run.result["index"]["embedded"] == demo_run.result["catalog"]["surfaces"]["operator"]["tools"]
    assert processes_of(demo_run.folder) == []


def wait_for(demo: subprocess.Popen[str], words: str) -> re.Match[str]:
    """Waits until the demo says something of this form."""
    assert demo.stderr is not None
    told = []
    for line in demo.stderr:
        told.append(line)
        if found := re.search(words, line):
            return found
    raise AssertionError("".join(told))


SERVING = r"serving http://\S+, process (\d+)"


@pytest.mark.parametrize(
    ("moment", "number", "status"), [(SERVING, signal.SIGINT, 130), ("indexing both surfaces", signal.SIGTERM, 143)]
)
def test_a_signal_in_the_middle_ends_every_process(
    start_demo: Starter, demo_run: DemoRun, moment: str, number: signal.Signals, status: int
) -> None:
    demo = start_demo()
    wait_for(demo, moment)
    assert len(processes_of(demo_run.folder)) >= 1
    demo.send_signal(number)
    out, told = demo.communicate(timeout=30)
    assert demo.returncode == status, told
    assert out == ""
    assert f"stopped by {number.name}" in told
    assert "Traceback" not in told
    assert processes_of(demo_run.folder) == []


def test_a_selector_that_dies_early_fails_the_demo_which_says_why(start_demo: Starter, demo_run: DemoRun) -> None:
    demo = start_demo("--json")
    os.kill(int(wait_for(demo, SERVING)[1]), signal.SIGKILL)
    out, told = demo.communicate(timeout=30)
    assert demo.returncode == 1, told
    assert "the selector ended early (signal SIGKILL)" in told
    assert "make serve" in told
    result = json.loads(out)
    assert (result["ok"], result["failure"]["process"]) == (False, "selector")
    assert processes_of(demo_run.folder) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--services", "s3,teleport"], "there is no service teleport here"),
        (["--services", "s3,ec2"], "the scripts need cloudwatch, rds, sts too"),
        (["--color"], "unrecognized arguments: --color"),
    ],
)
def test_wrong_use_is_told_at_once(arguments: list[str], problem: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "demo", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert problem in ran.stderr


def test_a_folder_that_cannot_be_made_is_named(demo_run: DemoRun) -> None:
    occupied = demo_run.folder / "catalog.json"
    ran = subprocess.run(demo_command("--keep", str(occupied)), cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"--keep {occupied}: Not a directory" in ran.stderr
