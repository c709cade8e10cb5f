"""Laws of admission: greedy by rank, and always within the room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surface.limits import Room, admit, longest_prefix
from tests.strategies import LAW

NAMES = "abcdefgh"
WEIGHTS = st.fixed_dictionaries({name: st.integers(1, 50) for name in NAMES})
RANKED = st.lists(st.sampled_from(NAMES), unique=True).map(tuple)
ROOMS = st.builds(
    Room,
    selected=st.integers(0, 9),
    active=st.integers(0, 9),
    schema_bytes=st.integers(0, 250),
    present=st.frozensets(st.sampled_from(NAMES), max_size=3),
)


def fits(names: tuple[str, ...], weights: dict[str, int], room: Room) -> bool:
    """Whether a whole set fits, asked at once."""
    new = [name for name in names if name not in room.present]
    return (
        len(names) <= room.selected
        and len(new) <= room.active
        and sum(weights[name] for name in new) <= room.schema_bytes
    )


@pytest.mark.rule("SRC-5", "SRC-4")
@LAW
@given(ranked=RANKED, weights=WEIGHTS, room=ROOMS, at_most=st.none() | st.integers(0, 8))
def test_admission_is_greedy_and_within_the_room(
    ranked: tuple[str, ...], weights: dict[str, int], room: Room, at_most: int | None
) -> None:
    made = admit(ranked, weights, room, at_most=at_most)
    taken: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    for name in ranked:
        if len(taken) == at_most:
            break
        if fits((*taken, name), weights, room):
            taken += (name,)
        else:
            passed += (name,)
    assert (made.admitted, made.skipped) == (taken, passed)


@pytest.mark.rule("SRC-5")
@LAW
@given(ranked=RANKED, weights=WEIGHTS, room=ROOMS)
def test_nothing_is_admitted_only_where_no_tool_alone_would_fit(
    ranked: tuple[str, ...], weights: dict[str, int], room: Room
) -> None:
    admitted = admit(ranked, weights, room).admitted
    assert bool(admitted) == any(fits((name,), weights, room) for name in ranked)


@pytest.mark.rule("ACT-6")
@LAW
@given(ranked=RANKED, weights=WEIGHTS, room=ROOMS)
def test_the_longest_run_of_best_ranks_stays(ranked: tuple[str, ...], weights: dict[str, int], room: Room) -> None:
    made = longest_prefix(ranked, weights, room)
    assert (*made.admitted, *made.skipped) == ranked
    longest = max(at for at in range(len(ranked) + 1) if fits(ranked[:at], weights, room))
    assert len(made.admitted) == longest
