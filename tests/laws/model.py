"""A tiny model of the specification: what a run advertises, runs and answers, told without reading a receipt.

It knows what each call *meant* (the test wrote it), never how it is written. Everything follows from the steps so far
and the world they are looked at from, so nothing is remembered here either. Rules are quoted by their ids; nothing of
`surface` is used but the constants of `Status` and `Limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, zip_longest

from surface.limits import Limits
from surface.receipt import Status

SEARCH = "search_tools"


class Fate(StrEnum):
    """What came of a call that got no receipt."""

    RAN = "ran"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTool:
    """One tool of a deploy."""

    version: int
    """Stands for its digest: another version, another digest (CAT-4)."""
    weight: int
    """Canonical schema bytes (CAT-5)."""
    repeatable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What a result holds where a receipt may stand."""

    status: Status
    run: str
    surface: str
    names: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()
    signed_for: str | None = None
    """The call that a genuine signature is for; None: it has none, or not over these fields."""
    legible: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One call and what is recorded for it: a paper, or none."""

    id: str
    name: str
    paper: Paper | None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where the steps are looked at from."""

    run: str
    surface: str
    tools: Mapping[str, ModelTool]
    always_on: tuple[str, ...]
    pins: tuple[str, ...]
    limits: Limits
    search_weight: int
    signed: bool
    budget: int | None

    @property
    def base(self) -> tuple[str, ...]:
        return (SEARCH, *self.always_on)

    def weight(self, names: Iterable[str]) -> int:
        return sum(self.search_weight if name == SEARCH else self.tools[name].weight for name in set(names))

    @property
    def pins_hold(self) -> bool:
        """ACT-6: known, unique, and under the ceilings beside the base."""
        present = {*self.base, *self.pins}
        return (
            all(name in self.tools for name in self.pins)
            and len(set(self.pins)) == len(self.pins)
            and len(present) <= self.limits.max_active_tools
            and self.weight(present) <= self.limits.max_schema_bytes
        )

    def fits(self, selection: Sequence[str]) -> bool:
        """Whether a selection stays under every ceiling beside the base and the pins (SRC-5, ACT-6)."""
        active = {*self.base, *self.pins, *selection}
        return (
            len(selection) <= self.limits.max_selected_tools
            and len(active) <= self.limits.max_active_tools
            and self.weight(active) <= self.limits.max_schema_bytes
        )


def counts(entry: Entry, world: World) -> bool:
    """Whether what a call got is a receipt that counts here (RCP-3, RCP-4, RCP-5)."""
    return entry.paper is not None and genuine(entry, world) and not stale(entry.paper, world)


def genuine(entry: Entry, world: World) -> bool:
    """Legible, in its place, signed where that is asked for, of this run and this surface."""
    paper = entry.paper
    if paper is None or not paper.legible:
        return False
    in_place = {
        Status.SELECTED: entry.name == SEARCH,
        Status.NO_MATCH: entry.name == SEARCH,
        Status.SEARCH_REQUIRED: paper.names == (entry.name,),
        Status.SELECTION_REFUSED: True,
    }[paper.status]
    signed = not world.signed or paper.signed_for == entry.id
    return in_place and signed and (paper.run, paper.surface) == (world.run, world.surface)


def stale(paper: Paper, world: World) -> bool:
    """RCP-4: a name that is gone, or another version of it."""
    mounted = [world.tools[name].version if name in world.tools else None for name in paper.names]
    return mounted != list(paper.versions)


def ignored(steps: Sequence[Sequence[Entry]], world: World) -> int:
    """ACT-4: how many papers change nothing."""
    return sum(entry.paper is not None and not counts(entry, world) for step in steps for entry in step)


def searches(steps: Sequence[Sequence[Entry]], world: World) -> int:
    """SRC-9: the searches of this run that the history shows; one whose receipt went stale was made all the same."""
    return sum(entry.name == SEARCH and genuine(entry, world) for step in steps for entry in step)


def selection(steps: Sequence[Sequence[Entry]], world: World) -> tuple[str, ...]:
    """ACT-2, ACT-3, ACT-6: the selection in force, as far as it fits."""
    chosen: tuple[str, ...] = ()
    for step in steps:
        papers = [entry.paper for entry in step if entry.paper is not None and counts(entry, world)]
        choices = [paper.names for paper in papers if paper.status is Status.SELECTED]
        if choices:
            chosen = _merged(choices, world.fits)
        for paper in papers:
            if paper.status is Status.SEARCH_REQUIRED:
                chosen = _unique((*paper.names, *chosen))
    while not world.fits(chosen):
        chosen = chosen[:-1]
    return chosen


def active(steps: Sequence[Sequence[Entry]], world: World) -> tuple[str, ...]:
    """ACT-6: search tool, always-on, selection, pins."""
    return _unique((*world.base, *selection(steps, world), *world.pins))


def admitted(ranked: Sequence[str], fits: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """SRC-5: greedy by rank; what does not fit is skipped."""
    taken: tuple[str, ...] = ()
    for name in ranked:
        if fits((*taken, name)):
            taken = (*taken, name)
    return taken


def searched(proposed: Sequence[str], number: int, call_id: str, world: World) -> Paper:
    """What a search for these names answers (SRC-3 to SRC-7, SRC-9); `number` counts it among the run's searches."""
    known = _unique(name for name in proposed if name in world.tools)
    taken = admitted(known, world.fits)[: world.limits.max_results]
    status = Status.SELECTED if taken else Status.SELECTION_REFUSED if known else Status.NO_MATCH
    if world.budget is not None and number > world.budget:
        status, taken = Status.SELECTION_REFUSED, ()
    return _paper(status, taken, call_id, world)


def repaired(name: str, call_id: str, world: World) -> Paper:
    """What a call of a known but inactive tool is answered with (REP-1)."""
    fits = world.fits([name])
    return _paper(Status.SEARCH_REQUIRED if fits else Status.SELECTION_REFUSED, (name,) if fits else (), call_id, world)


def _paper(status: Status, names: tuple[str, ...], call_id: str, world: World) -> Paper:
    return Paper(
        status=status,
        run=world.run,
        surface=world.surface,
        names=names,
        versions=tuple(world.tools[name].version for name in names),
        signed_for=call_id if world.signed else None,
    )


def _merged(choices: Sequence[tuple[str, ...]], fits: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """ACT-3: in call order, or best choices first where they do not all fit."""
    in_call_order = _unique(chain.from_iterable(choices))
    if len(choices) == 1 or fits(in_call_order):
        return in_call_order
    rounds = _unique(name for names in zip_longest(*choices) for name in names if name is not None)
    return admitted(rounds, fits)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
