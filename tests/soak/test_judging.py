"""The judge of the soak is held to its own rules: a run without a fault passes, and every fault by itself is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from models.hashing import HashingEmbedder
from tests.soak.catalogs import SURFACES, names_of, rehearsed
from tests.soak.history import POLL_S, RECOVERY_S, SWITCH_S, Attempt, Deployed, History
from tests.soak.judging import MOST_BACKPRESSURE, NOWHERE, Answer, Reply, Verdict, judge

FOLLOWED = POLL_S + SWITCH_S
DEPLOYS = [
    Deployed(
        number=number,
        versions={surface: f"version {number} of {surface}" for surface in SURFACES},
        digests={surface: f"catalog {number} of {surface}" for surface in SURFACES},
    )
    for number in range(1, 5)
]
NAMES = {name: of for deployed in DEPLOYS for name, of in names_of(deployed.number).items()}


def _history(*outages: tuple[float, float], failed: int | None = None) -> History:
    """Deploys that begin at 10, 20, 30 and 40 and are active a second later, but for one that failed."""
    attempts = [
        Attempt(
            deployed=deployed,
            begun=10.0 * deployed.number,
            told_active=None if deployed.number == failed else 10.0 * deployed.number + 1,
        )
        for deployed in DEPLOYS
    ]
    return History(attempts=attempts, outages=list(outages))


def _reply(number: int, surface: str = "reader", **changed: Any) -> Reply:
    deployed = DEPLOYS[number - 1]
    names = tuple(name for name, of in names_of(number).items() if of == (number, surface))
    reply = Reply(version=deployed.versions[surface], digest=deployed.digests[surface], names=names[:3], degraded=None)
    return replace(reply, **changed)


def _answer(number: int, at: float, **changed: Any) -> Answer:
    """Deploy number so and so, answered to a question at that moment a tenth of a second later."""
    known: Mapping[str, Any] = {
        "asker": 0,
        "replica": "steady",
        "life": 1,
        "surface": "reader",
        "asked": at,
        "answered": at + 0.1,
        "status": 200,
        "replies": (_reply(number),),
    }
    return Answer(**{**known, **changed})


def _faults(*answers: Answer, history: History | None = None) -> dict[str, int]:
    return dict(_verdict(*answers, history=history).faults)


def _verdict(*answers: Answer, history: History | None = None) -> Verdict:
    return judge(answers, history or _history(), name_of=NAMES)


REFUSED: dict[str, Any] = {"status": 503, "code": "index_unusable", "retry_after": True, "replies": ()}


def test_a_run_in_which_every_version_is_answered_in_its_time_has_no_fault() -> None:
    verdict = _verdict(
        *(_answer(1, at) for at in (12.0, 20.0, 21.0 + FOLLOWED)),
        _answer(2, 22.0),
        _answer(2, 22.1, surface="writer", replies=(_reply(2, "writer"),)),
        _answer(2, 23.0, queries=3, replies=(_reply(2),) * 3),
        _answer(1, 25.0, held=1),
        _answer(0, 25.0, surface=NOWHERE, status=404, replies=()),
        _answer(0, 25.0, status=0, killed=True, replies=()),
        _answer(4, 41.0),
    )
    assert verdict.faults == {}
    assert verdict.latest_s == FOLLOWED


NOT_ACTIVE = "a version that was not active then"
WENT_BACK = "a process went back to an earlier deploy, or served two releases at once"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (_answer(1, 21.1 + FOLLOWED), NOT_ACTIVE),
        (_answer(3, 29.0), NOT_ACTIVE),
        (_answer(1, 31.1 + FOLLOWED, held=1), NOT_ACTIVE),
        (_answer(1, 25.0, held=2), NOT_ACTIVE),
        (_answer(1, 12.0, replies=(_reply(1, version="another"),)), "a version that nobody deployed"),
        (_answer(1, 12.0, replies=(_reply(1, "writer"),)), "a version that nobody deployed"),
        (_answer(1, 12.0, replies=(_reply(1, names=()),)), "an answer without names"),
        (
            _answer(1, 12.0, replies=(_reply(1, names=(*_reply(1).names, _reply(2).names[0])),)),
            "a tool that is not of the version that was said",
        ),
        (
            _answer(1, 12.0, replies=(_reply(1, names=_reply(1, "writer").names),)),
            "a tool that is not of the version that was said",
        ),
        (_answer(1, 12.0, replies=(_reply(1, names=("made up",)),)), "a tool that is not of the version that was said"),
        (_answer(1, 12.0, replies=(_reply(1, digest="another"),)), "the catalog is not that of the version"),
        (_answer(1, 12.0, replies=(_reply(1, degraded="dense_failed"),)), "degraded: dense_failed"),
        (_answer(1, 21.0, queries=2, replies=(_reply(1), _reply(2))), "a batch was answered on two versions"),
        (_answer(1, 12.0, queries=2), "not as many replies as queries"),
        (_answer(1, 12.0, status=500, replies=()), "reader was answered with 500"),
        (_answer(1, 12.0, status=404, replies=()), "reader was answered with 404"),
        (_answer(1, 12.0, surface=NOWHERE, status=422, replies=()), "nowhere was answered with 422"),
        (_answer(0, 12.0, status=0, replies=()), "a connection broke that nobody cut"),
    ],
)
def test_a_fault_is_found_and_is_the_only_one(answer: Answer, fault: str) -> None:
    assert _faults(answer) == {fault: 1}


def test_a_process_that_goes_back_is_found_whichever_surface_it_is_asked() -> None:
    later, earlier = _answer(2, 21.0), _answer(1, 21.5, surface="writer", replies=(_reply(1, "writer"),))
    assert _faults(later, earlier) == {WENT_BACK: 1}
    for other in ({"asker": 1}, {"replica": "mortal"}, {"life": 2}, {"held": 1}):
        assert _faults(later, replace(earlier, **other)) == {}


def test_while_replicas_cannot_look_an_earlier_version_may_answer_and_no_longer() -> None:
    history = _history((18.0, 25.0))
    last = 25.0 + RECOVERY_S + FOLLOWED
    assert _faults(_answer(1, last), history=history) == {}
    assert _faults(_answer(1, last + 0.1), history=history) == {NOT_ACTIVE: 1}
    # Two outages beside each other are not counted twice.
    history = _history((18.0, 25.0), (26.0, 27.0))
    assert _faults(_answer(1, 27.0 + RECOVERY_S + FOLLOWED + 0.1), history=history) == {NOT_ACTIVE: 1}


def test_a_deploy_that_failed_may_be_active_or_not() -> None:
    history = _history(failed=2)
    assert _faults(_answer(1, 30.0), _answer(2, 25.0, asker=1), _answer(2, 30.0, asker=1), history=history) == {}
    assert _faults(_answer(2, 19.0), history=history) == {NOT_ACTIVE: 1}
    assert _faults(_answer(1, 31.1 + FOLLOWED), history=history) == {NOT_ACTIVE: 1}


def test_what_an_asker_holds_is_kept_beside_the_release_that_a_replica_opened_next() -> None:
    history = _history((18.0, 21.0))  # it may have gone from the first release to the third
    assert _faults(_answer(1, 38.0, held=1), history=history) == {}
    assert _faults(_answer(1, 38.0, held=1)) == {NOT_ACTIVE: 1}
    assert _faults(_answer(1, 41.1 + FOLLOWED, held=1), history=history) == {NOT_ACTIVE: 1}


def test_a_refusal_is_due_only_while_the_store_is_away_and_with_a_time_to_ask_again() -> None:
    history, much = _history((12.0, 14.0)), [_answer(1, 12.0)] * 40
    for at in (12.5, 14.0 + RECOVERY_S):
        verdict = _verdict(*much, _answer(0, at, **REFUSED), history=history)
        assert (verdict.faults, verdict.backpressure) == ({}, {"index_unusable": 1})
    for at, changed in (
        (11.0, {}),
        (14.1 + RECOVERY_S, {}),
        (12.5, {"retry_after": False}),
        (12.5, {"code": "overloaded"}),
        (12.5, {"surface": NOWHERE}),
    ):
        refused = _answer(0, at, **{**REFUSED, **changed})
        assert _faults(*much, refused, history=history) == {f"503 {refused.code} that was not due": 1}


def test_there_is_an_end_to_the_refusals_that_are_due() -> None:
    history, refused = _history((12.0, 14.0)), _answer(0, 12.5, **REFUSED)
    most = int(MOST_BACKPRESSURE * 100)
    answers = [refused] * most + [_answer(1, 12.0)] * (100 - most)
    assert _faults(*answers, history=history) == {}
    assert _faults(refused, *answers, history=history) == {"more backpressure than is due": 1}


def test_what_a_deploy_makes_is_known_before_it_and_is_another_one_each_time() -> None:
    first, again, second = (rehearsed(number, HashingEmbedder()) for number in (1, 1, 2))
    assert first == again
    assert set(first.versions) == set(SURFACES)
    assert not set(first.versions.values()) & set(second.versions.values())
    assert not set(first.digests.values()) & set(second.digests.values())
