"""What each answer of a soak is held to, once everything is known. Pure.

1. A version was active at some moment between question and answer, or is gone for no longer than replicas may take to
   follow (`history.py`). One that nobody deployed is a fault.
2. All names of an answer are tools of that deploy and that surface, its catalog is that version's, and there are some:
   with strictness 0 no query is abstained from. The queries of a batch are answered on one version.
3. What one asker sees of one process never goes back to an earlier deploy, whichever surfaces it asks in turn: the
   surfaces of a release switch together. (Every deploy is a new one, and none is rolled back.)
4. Statuses: 200, and 404 for a surface that does not exist. The one backpressure that is declared for this load is
   503 ``index_unusable`` with Retry-After, while the store is away: --memory has closed an index and it cannot be
   loaded again. The askers together hold fewer queries than the queue takes, so ``overloaded`` would be a fault.
5. A connection breaks only to a process that is being killed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tests.soak.history import History

NOWHERE: Final = "nowhere"
"""A surface that nobody has."""
MOST_BACKPRESSURE: Final = 0.05
"""Of all answers. Redis is dead for 4 of every 48 seconds, and then a question is refused where --memory has closed its
version: at most one surface of three has none open, and a third of a twelfth is 3 %. While Redis hangs, questions
hang with it and few are asked. What is more is a replica that refuses what it could answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One ranking."""

    version: str
    digest: str
    names: tuple[str, ...]
    degraded: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One request and what came of it; moments are monotonic seconds."""

    asker: int
    replica: str
    life: int
    """Which process of that replica."""
    surface: str
    asked: float
    answered: float
    status: int
    """0: the connection broke."""
    code: str = ""
    """Of the problem document."""
    retry_after: bool = False
    killed: bool = False
    """That process was killed meanwhile."""
    held: int | None = None
    """The deploy whose catalog the asker said it holds."""
    replies: tuple[Reply, ...] = ()
    queries: int = 1


@dataclass(slots=True, kw_only=True)
class Verdict:
    """What was found."""

    faults: Counter[str] = field(default_factory=Counter)
    backpressure: Counter[str] = field(default_factory=Counter)
    latest_s: float = 0.0
    """The longest that a version answered after it was withdrawn, while the store could be read."""


def judge(answers: Iterable[Answer], history: History, *, name_of: dict[str, tuple[int, str]]) -> Verdict:
    """Holds every answer against the rules. `name_of`: of each tool's name, the deploy and the surface it is of."""
    verdict = Verdict()
    latest: dict[tuple[int, str, int], int] = {}
    total = 0
    for answer in answers:
        total += 1
        numbers = _judge_status(answer, history, verdict) and _judge_replies(answer, history, verdict, name_of)
        if not numbers or answer.held is not None:
            continue
        seen = (answer.asker, answer.replica, answer.life)
        if min(numbers) < latest.get(seen, 0):
            verdict.faults["a process went back to an earlier deploy, or served two releases at once"] += 1
        latest[seen] = max(*numbers, latest.get(seen, 0))
    if verdict.backpressure.total() > MOST_BACKPRESSURE * total:
        verdict.faults["more backpressure than is due"] += 1
    return verdict


def _judge_status(answer: Answer, history: History, verdict: Verdict) -> bool:
    """Counts what is wrong with how it was answered; whether it has replies to judge."""
    if answer.status == 0:
        if not answer.killed:
            verdict.faults["a connection broke that nobody cut"] += 1
    elif answer.status == 503:
        verdict.backpressure[answer.code] += 1
        due = answer.code == "index_unusable" and answer.retry_after and answer.surface != NOWHERE
        if not due or not history.is_away(answer.asked, answer.answered):
            verdict.faults[f"503 {answer.code} that was not due"] += 1
    elif answer.status != (404 if answer.surface == NOWHERE else 200):
        verdict.faults[f"{answer.surface} was answered with {answer.status}"] += 1
    return answer.status == 200


def _judge_replies(
    answer: Answer, history: History, verdict: Verdict, name_of: dict[str, tuple[int, str]]
) -> tuple[int, ...]:
    """Counts what is wrong with its rankings; the deploys that they are of."""
    if len(answer.replies) != answer.queries:
        verdict.faults["not as many replies as queries"] += 1
    if len({reply.version for reply in answer.replies}) > 1:
        verdict.faults["a batch was answered on two versions"] += 1
    numbers = []
    for reply in answer.replies:
        deployed = history.of(answer.surface, reply.version)
        if deployed is None:
            verdict.faults["a version that nobody deployed"] += 1
            continue
        numbers.append(deployed.number)
        if reply.digest != deployed.digests[answer.surface]:
            verdict.faults["the catalog is not that of the version"] += 1
        if not reply.names:
            verdict.faults["an answer without names"] += 1
        if any(name_of.get(name) != (deployed.number, answer.surface) for name in reply.names):
            verdict.faults["a tool that is not of the version that was said"] += 1
        if reply.degraded is not None:
            verdict.faults[f"degraded: {reply.degraded}"] += 1
        _judge_moment(answer, deployed.number, history, verdict)
    return tuple(numbers)


def _judge_moment(answer: Answer, number: int, history: History, verdict: Verdict) -> None:
    if answer.held == number:
        due = history.may_answer_for_its_digest(number, asked=answer.asked, answered=answer.answered)
    else:
        due = history.may_answer(number, asked=answer.asked, answered=answer.answered)
        verdict.latest_s = max(verdict.latest_s, history.late(number, answer.asked))
    if not due:
        verdict.faults["a version that was not active then"] += 1
