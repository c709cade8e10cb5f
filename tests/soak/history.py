"""What was deployed when, and when the store was away: which version may answer at which moment. Pure.

    active          from when its deploy began, until a later deploy was told to be active
    may be served   as long as it is active, and until replicas have looked at the store and opened the next one

The next one may take `POLL_S`, the interval the replicas are started with, and `SWITCH_S`. Seconds in which the store
could not be read do not count, nor do `RECOVERY_S` after them. A deploy that failed may or may not have become
active: it is allowed to answer, and it withdraws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

POLL_S: Final = 0.5
"""What the replicas are started with."""
SWITCH_S: Final = 2.0
"""To open, verify and warm three surfaces beside requests, on cores that the askers and the deploys share."""
RECOVERY_S: Final = 10.0
"""A look at the store that hung when it went away may wait so long for its answer (`RedisWaits.answer_s`)."""

_TO_FOLLOW_S: Final = POLL_S + SWITCH_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """One release, as it is known before it is deployed: a version is the address of what it holds."""

    number: int
    versions: Mapping[str, str]
    """By surface."""
    digests: Mapping[str, str]
    """Of the catalog, by surface."""


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One deploy of one release; moments are monotonic seconds."""

    deployed: Deployed
    begun: float
    told_active: float | None = None
    """When it was told to be active; None where it was not, or not yet."""


@dataclass(slots=True, kw_only=True)
class History:
    """All deploys of a run, each later one with a larger number, and all times without a store."""

    attempts: list[Attempt] = field(default_factory=list)
    outages: list[tuple[float, float]] = field(default_factory=list)

    def of(self, surface: str, version: str) -> Deployed | None:
        """The deploy that gave this surface this version; None for one that nobody ever deployed."""
        found = (attempt.deployed for attempt in self.attempts if attempt.deployed.versions.get(surface) == version)
        return next(found, None)

    def begun(self, number: int) -> float:
        """When it could be active first."""
        return next(attempt.begun for attempt in self.attempts if attempt.deployed.number == number)

    def withdrawn(self, number: int) -> float | None:
        """When another one was active for certain; None for never."""
        told = [a.told_active for a in self.attempts if a.deployed.number > number and a.told_active is not None]
        return min(told, default=None)

    def late(self, number: int, moment: float) -> float:
        """For how many seconds it had been withdrawn by then, of those in which replicas could know; 0 where active."""
        withdrawn = self.withdrawn(number)
        return 0.0 if withdrawn is None else self._readable(withdrawn, moment)

    def may_answer(self, number: int, *, asked: float, answered: float) -> bool:
        """Whether it was active at some moment from the question on to the answer, or is not gone for long."""
        return self.begun(number) <= answered and self.late(number, asked) <= _TO_FOLLOW_S

    def may_answer_for_its_digest(self, number: int, *, asked: float, answered: float) -> bool:
        """The same of a release that is asked for by its catalog: it stays while the one after it is served.

        The one after it is whichever a replica opened next: another one than the next deploy where it could not look.
        """
        after = (a for a in self.attempts if a.deployed.number > number and self.late(number, a.begun) <= _TO_FOLLOW_S)
        return self.may_answer(number, asked=asked, answered=answered) or any(
            self.may_answer(each.deployed.number, asked=asked, answered=answered) for each in after
        )

    def is_away(self, asked: float, answered: float) -> bool:
        """Whether the store could not be read at some moment between, or had just come back."""
        return any(begun <= answered and asked <= ended + RECOVERY_S for begun, ended in self.outages)

    def _readable(self, since: float, until: float) -> float:
        """Seconds between without those in which the store was away; later outages never overlap."""
        away = 0.0
        counted = since
        for begun, ended in self.outages:
            start, end = max(begun, counted), min(ended + RECOVERY_S, until)
            if end > start:
                away += end - start
                counted = end
        return max(0.0, until - since - away)
