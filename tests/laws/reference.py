"""A second, tiny implementation of ACT-2, ACT-3 and ACT-6, to hold the real one against.

It reads what the calls of a drawn history mean and never a receipt, and asks of whole sets whether they fit instead of
counting down what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from surface.limits import Limits
from surface.receipt import Rejection
from surface.registry import CheckedSurface
from tests.strategies import History, Told

Fits = Callable[[Sequence[str]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must be active after a history."""

    selected: tuple[str, ...]
    lost: frozenset[str]
    names: tuple[str, ...]
    ignored: dict[Rejection, int]
    searches: int


def expected_after(history: History, surface: CheckedSurface, pins: Sequence[str], limits: Limits) -> Expected:
    """What a history must come to, where the pins fit."""
    fits = fitting(surface, pins, limits)
    wanted, selection = in_force(history, fits)
    kept = max((selection[:length] for length in range(len(selection) + 1) if fits(selection[:length])), key=len)
    calls = [told for step in history.steps for told in step]
    return Expected(
        selected=tuple(kept),
        lost=frozenset(wanted) - frozenset(kept),
        names=tuple(_distinct([*surface.base, *kept, *pins])),
        ignored=dict(Counter(told.ignored for told in calls if told.ignored is not None)),
        searches=sum(told.searches for told in calls),
    )


def fitting(surface: CheckedSurface, pins: Sequence[str], limits: Limits) -> Fits:
    """Whether a selection fits beside base and pins under every ceiling."""

    def fits(selection: Sequence[str]) -> bool:
        active = {*surface.base, *pins, *selection}
        return (
            len(selection) <= limits.max_selected_tools
            and len(active) <= limits.max_active_tools
            and sum(map(surface.weight, active)) <= limits.max_schema_bytes
        )

    return fits


def in_force(history: History, fits: Fits) -> tuple[list[str], list[str]]:
    """Everything that the deciding steps ask for, and the selection that follows from it."""
    wanted: list[str] = []
    selection: list[str] = []
    for step in history.steps:
        choices = [told.selects for told in step if told.selects]
        if choices:
            wanted = _distinct(name for choice in choices for name in choice)
            selection = merged(choices, fits)
        for name in _required(step):
            wanted = _distinct([name, *wanted])
            selection = _distinct([name, *selection])
    return wanted, selection


def merged(choices: Sequence[Sequence[str]], fits: Fits) -> list[str]:
    """The selections of parallel searches as one."""
    together = _distinct(name for choice in choices for name in choice)
    if len(choices) == 1 or fits(together):
        return together
    fair: list[str] = []
    for name in _distinct(name for rank in zip_longest(*choices) for name in rank if name is not None):
        if fits([*fair, name]):
            fair.append(name)
    return fair


def _required(step: Sequence[Told]) -> list[str]:
    return [told.requires for told in step if told.requires is not None]


def _distinct(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        if name not in found:
            found.append(name)
    return found
