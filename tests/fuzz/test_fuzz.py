"""The fuzzer finds nothing in a short run, and finds, minimises and replays what is planted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fuzz.__main__ import main
from fuzz.campaign import campaign, described, replay, shown
from fuzz.targets import TARGETS, Target

SEED = 20_260_101


@pytest.mark.rule("RCP-2", "ACT-4")
def test_a_short_run_over_every_target_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seconds", "2", "--seed", str(SEED)]) == 0
    said = capsys.readouterr().out
    assert all(f"{name}: " in said for name in TARGETS)
    assert "executions" in said


@pytest.mark.parametrize("name", TARGETS)
def test_a_number_always_makes_the_same_input(name: str) -> None:
    target = TARGETS[name]
    for number in range(50):
        assert shown(target.input(SEED, number)) == shown(target.input(SEED, number))


@pytest.mark.parametrize("name", TARGETS)
def test_making_an_input_leaves_its_seed_as_it_is(name: str) -> None:
    target = TARGETS[name]
    before = repr(target.seeds)
    for number in range(200):
        target.input(SEED, number)
    assert repr(target.seeds) == before


def test_a_planted_fault_is_found_made_small_and_replayed() -> None:
    planted = _planted(lambda text: "\ud800" in text)
    finding = campaign(planted, seed=SEED, seconds=30, tell=print).finding
    assert finding is not None
    assert finding.failure.what == "KeyError"
    assert finding.smallest == "\ud800"
    again = replay(planted, seed=SEED, number=finding.number).finding
    assert again is not None
    assert again.smallest == finding.smallest
    shown = described(finding)
    assert repr("\ud800") in shown
    assert f"--target receipt --seed {SEED} --replay {finding.number}" in shown


def test_a_planted_fault_deep_in_messages_is_made_small() -> None:
    anthropic = TARGETS["anthropic"]

    def check(messages: Any) -> str:
        if isinstance(messages, list) and {"role": "user", "content": "Do something useful."} not in messages:
            raise KeyError("planted")
        return "fine"

    planted = Target(name="anthropic", seeds=anthropic.seeds, mutate=anthropic.mutate, check=check)
    finding = campaign(planted, seed=SEED, seconds=30, tell=print).finding
    assert finding is not None
    assert finding.smallest == []


def _planted(is_bad: Callable[[str], bool]) -> Target:
    receipt = TARGETS["receipt"]

    def check(made: Any) -> str:
        if isinstance(made, str) and is_bad(made):
            raise KeyError("planted")
        return "fine"

    return Target(name="receipt", seeds=receipt.seeds, mutate=receipt.mutate, check=check)
