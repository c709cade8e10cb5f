"""The six ceilings, and what fits under them.

Two questions are asked of the same room: at a search, which ranked tools fit beside what is always there (`admit`:
greedy by rank, one that does not fit is skipped, SRC-5); at a later step, which part of a selection still fits beside
new pins (`longest_prefix`: it loses its lowest ranks, ACT-6).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from surface.errors import ConfigurationError
from surface.identity import require_at_least_one
from surface.protocol import MAX_LIMIT
from surface.receipt import MAX_RECEIPT_CHARACTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The ceilings of every surface of an application. Bytes are UTF-8 bytes."""

    max_query_bytes: int = 2_000
    """The longest query a model may search with."""
    max_results: int = 5
    """The most tools one search may select."""
    max_result_bytes: int = 8_192
    """The most a receipt may weigh as JSON."""
    max_selected_tools: int = 8
    """The most tools a selection may hold, whatever put them there."""
    max_active_tools: int = 24
    """The most tools one step may advertise, the search tool, the always-on tools and the pins included."""
    max_schema_bytes: int = 65_536
    """The most canonical schema bytes one step may advertise."""

    def __post_init__(self) -> None:
        for field in self.__dataclass_fields__:
            require_at_least_one(f"limits.{field}", getattr(self, field))
        if self.max_results > MAX_LIMIT:
            raise ConfigurationError(f"limits.max_results: at most {MAX_LIMIT}, the most a ranker is asked for")
        if self.max_result_bytes > MAX_RECEIPT_CHARACTERS:
            raise ConfigurationError(f"limits.max_result_bytes: at most {MAX_RECEIPT_CHARACTERS} can be read again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is left under the ceilings beside the tools that are there anyway."""

    selected: int
    """Tools that a selection may still hold."""
    active: int
    """Tools that a step may still advertise."""
    schema_bytes: int
    """Canonical schema bytes that a step may still advertise."""
    present: Collection[str]
    """The names that are there anyway: they take a place in the selection but no other room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What fitted and what did not, both in rank order."""

    admitted: tuple[str, ...]
    skipped: tuple[str, ...]


def room_beside(limits: Limits, present: Mapping[str, int]) -> Room:
    """The room beside tools that are there anyway, given as name → schema bytes."""
    return Room(
        selected=limits.max_selected_tools,
        active=limits.max_active_tools - len(present),
        schema_bytes=limits.max_schema_bytes - sum(present.values()),
        present=present.keys(),
    )


def admit(ranked: Iterable[str], weights: Mapping[str, int], room: Room, *, at_most: int | None = None) -> Admission:
    """Greedy by rank: each name is admitted if it fits what is left, else skipped; stops at `at_most` names.

    `weights` gives the schema bytes of every ranked name.
    """
    admitted: list[str] = []
    skipped: list[str] = []
    active, schema_bytes = room.active, room.schema_bytes
    for name in ranked:
        if at_most is not None and len(admitted) == at_most:
            break
        places, weight = (0, 0) if name in room.present else (1, weights[name])
        if len(admitted) < room.selected and places <= active and weight <= schema_bytes:
            admitted.append(name)
            active -= places
            schema_bytes -= weight
        else:
            skipped.append(name)
    return Admission(admitted=tuple(admitted), skipped=tuple(skipped))


def longest_prefix(ranked: tuple[str, ...], weights: Mapping[str, int], room: Room) -> Admission:
    """The longest run of best ranks that fits; everything from the first that does not fit is skipped."""
    greedy = admit(ranked, weights, room)
    first_lost = ranked.index(greedy.skipped[0]) if greedy.skipped else len(ranked)
    return Admission(admitted=ranked[:first_lost], skipped=ranked[first_lost:])
