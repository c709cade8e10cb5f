"""Running many inputs of one target: counting what comes of them, and stopping at the first failure."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from fuzz.execution import Execution, Failure
from fuzz.minimise import minimised
from fuzz.targets import Target

REPORT_EVERY = 5.0
"""Seconds between two lines of progress."""
_RETRIES = 3
_CLOCK_EVERY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A failing input."""

    target: str
    seed: int
    number: int
    failure: Failure
    traceback: str
    smallest: Any


@dataclass(slots=True, kw_only=True)
class Tally:
    """What came of a campaign."""

    target: str
    words: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    finding: Finding | None = None

    @property
    def executions(self) -> int:
        return self.words.total()

    def __str__(self) -> str:
        rate = self.executions / self.seconds if self.seconds else 0.0
        words = ", ".join(f"{word} {count}" for word, count in self.words.most_common())
        return f"{self.target}: {self.executions} executions, {rate:.0f}/s ({words})"


def campaign(target: Target, *, seed: int, seconds: float, tell: Callable[[str], None]) -> Tally:
    """Inputs 0, 1, 2 … until the time is up or one fails."""
    tally = Tally(target=target.name)
    started = told = time.monotonic()
    with Execution() as execution:
        for number in count():
            tally.finding = _try(target, execution, tally, seed=seed, number=number)
            if tally.finding is None and number % _CLOCK_EVERY:
                continue
            now = time.monotonic()
            tally.seconds = now - started
            if tally.finding is not None or tally.seconds >= seconds:
                break
            if now - told >= REPORT_EVERY:
                told = now
                tell(str(tally))
    return tally


def replay(target: Target, *, seed: int, number: int) -> Tally:
    """One input once more."""
    tally = Tally(target=target.name)
    with Execution() as execution:
        tally.finding = _try(target, execution, tally, seed=seed, number=number)
    return tally


def _try(target: Target, execution: Execution, tally: Tally, *, seed: int, number: int) -> Finding | None:
    made = target.input(seed, number)
    ran = execution.run(target, made)
    tally.words[ran.word] += 1
    failure = ran.failure
    if failure is None or not all(execution.fails_so(target, made, failure) for _ in range(_RETRIES)):
        return None
    smallest = minimised(made, lambda candidate: execution.fails_so(target, candidate, failure))
    return Finding(
        target=target.name, seed=seed, number=number, failure=failure, traceback=ran.traceback, smallest=smallest
    )


def described(finding: Finding) -> str:
    """A finding as a person reads it, with the way to see it again."""
    failure = finding.failure
    took = "" if failure.seconds is None else f" ({failure.seconds:.2f} s)"
    return "\n".join(
        [
            f"FAILURE in {finding.target}: {failure.what} at {failure.where}{took}",
            finding.traceback,
            "the smallest input that fails so:",
            shown(finding.smallest),
            f"replay: python -m fuzz --target {finding.target} --seed {finding.seed} --replay {finding.number}",
        ]
    )


def shown(value: Any) -> str:
    """An input as Python writes it, however deep; a long one is cut."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 100_000))
    try:
        written = repr(value)
    except RecursionError:
        return "(too deep to show; replay it)"
    finally:
        sys.setrecursionlimit(limit)
    return written if len(written) < 20_000 else f"{written[:20_000]}… ({len(written)} characters; replay it)"
