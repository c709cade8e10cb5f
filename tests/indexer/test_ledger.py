"""The ledger keeps its promises by itself, whatever keeps the ledger."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer import ledger as rules
from indexer.errors import StoreError
from indexer.ledger import Ledger, empty_ledger
from indexer.release import Release, ReleasedSurface
from indexer.sealed_ledger import read_ledger, sealed
from tests.indexer.samples import NOW, artefact, release

ONE, OTHER = artefact("a"), artefact("b")


def with_release(ledger: Ledger, one: Release) -> Ledger:
    active = ledger.active
    return ledger.activated(one, expected=active.id if active else None, at=NOW)


def filled() -> Ledger:
    ledger = empty_ledger("app")
    for each in (ONE, OTHER):
        ledger = with_release(ledger.published(each.manifest, at=NOW), release(each))
    return ledger


@given(before=st.integers(0, 6), after=st.integers(0, 12))
def test_what_was_activated_since_an_earlier_moment_is_told_as_far_as_it_is_kept(before: int, after: int) -> None:
    ledger = earlier = empty_ledger("app").published(ONE.manifest, at=NOW).published(OTHER.manifest, at=NOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "KEPT_ACTIVATIONS", 5)
        for number in range(before + after):
            active, one = ledger.active, release((ONE, OTHER)[number % 2])
            at = NOW + timedelta(minutes=number)
            ledger = ledger.activated(one, expected=active.id if active else None, at=at)
            earlier = ledger if number < before else earlier
    later = [one.at for one in ledger.since(earlier)]
    assert later == [NOW + timedelta(minutes=before + number) for number in range(after)][-5:]


def test_a_name_that_no_application_may_have_is_a_store_error() -> None:
    for name in ("", "a/b", "x" * 65):
        with pytest.raises(StoreError, match="application"):
            empty_ledger(name)


def test_the_oldest_lines_and_releases_are_forgotten() -> None:
    ledger = filled()
    lines = ledger.activations[-1:] * (rules.KEPT_ACTIVATIONS - 1)
    releases = [ledger.releases[0], *(release(ONE, deploy=f"old{at}") for at in range(rules.KEPT_RELEASES - 2))]
    ledger = ledger.model_copy(update={"activations": lines, "releases": tuple(releases)})
    for number in range(3):
        ledger = with_release(ledger, release(ONE, deploy=f"new{number}"))
    assert len(ledger.activations) == rules.KEPT_ACTIVATIONS
    assert [one.deploy for one in ledger.activations[-3:]] == ["new0", "new1", "new2"]
    assert len(ledger.releases) == rules.KEPT_RELEASES
    assert ledger.releases[-1].deploy == f"old{rules.KEPT_RELEASES - 5}"
    assert read_ledger(sealed(ledger), application="app") == ledger


def test_releases_of_very_many_surfaces_are_forgotten_sooner() -> None:
    surface = ReleasedSurface(version=ONE.version, catalog_digest="0" * 32)
    many = [Release(application="app", deploy=f"n{number}", surfaces={"a": surface, "b": surface}) for number in "123"]
    assert rules._affordable(many, room=5) == many[:2]
    assert rules._affordable(many, room=rules.KEPT_SURFACES) == many


def test_a_version_that_no_release_names_is_pruned_by_its_age() -> None:
    ledger = empty_ledger("app").published(ONE.manifest, at=NOW)
    assert ledger.pruned(keep=1, unused_since=NOW).versions == ()
    assert len(ledger.pruned(keep=1, unused_since=NOW + timedelta(seconds=1)).versions) == 1


def test_what_a_clock_that_ran_ahead_wrote_is_as_old_as_the_next_activation() -> None:
    ahead, after = NOW + timedelta(days=3_650), NOW + timedelta(days=2)
    ledger = empty_ledger("app").announced(ONE.manifest, at=ahead, place="a1").published(ONE.manifest, at=ahead)
    ledger = ledger.announced(ONE.manifest, at=ahead, place="a2").withdrawn("a2")
    ledger = with_release(with_release(ledger, release(ONE)).published(OTHER.manifest, at=NOW), release(OTHER))
    pruning = ledger.pruned(keep=1, unused_since=after)
    assert [one.version for one in pruning.versions] == [ONE.version]
    assert [one.version for one in pruning.ledger.versions] == [OTHER.version]
    assert pruning.ledger.writing == ()
    assert {one.place for one in pruning.leaving} == {"a1", "a2"}
    assert pruning.watched == {"a1"}  # of which nobody knows yet whether its writer is dead
