"""Places in a queue: a bound, and a share of them for everybody."""

from __future__ import annotations

from selector.fair_threads import asked_by
from selector.places import Places
from surface.errors import RankerUnavailable

MOST = 8


def taken_by(places: Places, name: str, count: int = 1, *, times: int = 1) -> int:
    """How many times this asker found places; none is given back."""
    with asked_by(name):
        for at in range(times):
            try:
                places.take(count)
            except RankerUnavailable:
                return at
    return times


def test_one_asker_may_have_all_places_and_no_more() -> None:
    places = Places(MOST)
    assert taken_by(places, "one", times=20) == MOST
    assert places.taken == MOST


def test_who_has_none_finds_places_beyond_those_that_another_one_has_taken_up_to_a_fair_share() -> None:
    places = Places(MOST)
    taken_by(places, "flood", times=20)
    assert taken_by(places, "one", times=20) == MOST // 2
    assert taken_by(places, "flood") == 0
    assert taken_by(places, "two", times=20) == MOST // 3
    assert places.taken <= 2 * MOST


def test_there_is_an_end_to_it_however_many_askers_there_are() -> None:
    places = Places(MOST)
    assert sum(taken_by(places, f"asker {at}") for at in range(100)) == 2 * MOST


def test_work_that_is_alone_or_an_askers_only_one_is_not_too_long() -> None:
    places = Places(MOST)
    assert taken_by(places, "one", 3 * MOST) == 1
    assert taken_by(places, "two") == 0  # beyond that there is no room
    places = Places(MOST)
    taken_by(places, "flood", times=MOST)
    assert taken_by(places, "one", MOST) == 1


def test_what_is_given_back_is_there_again_for_its_asker() -> None:
    places = Places(MOST)
    with asked_by("one"):
        all_of_them = [places.take() for _ in range(MOST)]
    assert taken_by(places, "two") == 1
    for give_back in all_of_them:
        give_back()
    assert places.taken == 1
    assert taken_by(places, "two", times=20) == MOST - 1
