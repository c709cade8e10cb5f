"""The judgement of the demo: what was not observed does not hold."""

from __future__ import annotations

import pytest

from demo.facts import Deployed, Exported, Facts, Process, Run
from demo.jobs import AUDIT, CLEANUP
from demo.points import judge
from demo.script import Script, Turn, Wish

NOTHING = Process(events=(), exit_status=0, messages=({"role": "user", "content": "hello"},))


def test_no_point_holds_where_nothing_was_observed() -> None:
    facts = Facts(
        exported=Exported(services=0, tools={"reader": {}, "operator": {}}),
        deployed=Deployed(release="", unchanged=False, embedded=0, versions={}),
        served={},
        audit=Run(script=AUDIT, killed=NOTHING, restarted=NOTHING),
        cleanup=Run(script=CLEANUP, killed=NOTHING, restarted=NOTHING),
        address_closed=False,
        seconds={},
    )
    points = judge(facts)
    assert [(point.number, point.held) for point in points] == [(number, False) for number in range(1, 7)]
    assert all(point.broken for point in points)


WANTS = Script(
    name="wants",
    run_id="wants-1",
    surface="reader",
    desk="storage",
    asks="?",
    turns=(Turn(says="!", wishes=(Wish(name="it", choices=[("best", {"a": 1}), ("second", {"b": 2})]),)),),
)


@pytest.mark.parametrize(
    ("advertised", "called"), [(["second", "best"], "best"), (["second"], "second"), ([], "best"), (["other"], "best")]
)
def test_the_scripted_model_calls_the_best_it_sees_or_else_what_it_wanted(advertised: list[str], called: str) -> None:
    _, call = WANTS.answer([WANTS.opening()], advertised)["content"]
    assert (call["type"], call["id"], call["name"]) == ("tool_use", "toolu_wants_it", called)


@pytest.mark.parametrize("script", [AUDIT, CLEANUP], ids=lambda script: script.name)
def test_the_calls_of_a_script_have_ids_of_their_own(script: Script) -> None:
    ids = [script.call_id(wish.name) for turn in script.turns for wish in turn.wishes]
    assert len(set(ids)) == len(ids)
