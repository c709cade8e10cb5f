"""Reports of what is served: only what a grant allows, also in the sentences, and no more work than it names."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import StoreError
from indexer.memory_store import MemoryStore
from selector.access import ANY, EVERYTHING, Grant
from selector.reports import TOLD, known_names, report_of
from selector.served import Refusal, RefusalCode, ServedApplication, ServedVersion
from tests.selector.builders import APPLICATION, TOOLS, library_over, put

ADDRESS = "redis://vault.example:6379"


class _HalfReadable(MemoryStore):
    """Once it is away, cannot read one surface, and says its own address."""

    away = False

    def load(self, application: str, surface: str, version: str) -> Any:
        if self.away and surface == "secret-project":
            raise StoreError(f"{ADDRESS}: cannot be reached now")
        return super().load(application, surface, version)


class _NeverWalked(dict[str, Any]):
    def __iter__(self) -> Iterator[str]:
        raise AssertionError("walked over what other tenants have")

    items = keys = values = __iter__  # type: ignore[assignment]


@pytest.fixture(scope="module")
def version() -> ServedVersion:
    store = MemoryStore()
    put(store, {"reader": TOOLS})
    library = library_over(store)
    library.refresh()
    return library.served[APPLICATION].active["reader"]


@pytest.mark.parametrize("granted", [{"reader", "new"}, {"secret-project"}, {ANY}], ids=["neighbour", "its own", "all"])
def test_only_who_sees_everything_reads_names_and_addresses_in_a_refusal(granted: set[str]) -> None:
    store = _HalfReadable()
    put(store, {"reader": TOOLS})
    library = library_over(store)
    library.refresh()
    put(store, {"reader": TOOLS, "new": TOOLS, "secret-project": TOOLS})
    store.away = True
    library.refresh()
    told = report_of(library.served, Grant(id="t", surfaces={APPLICATION: frozenset(granted)}))[APPLICATION]
    assert told.refused
    for surface, refusal in told.refused.items():
        assert refusal.code == ("unreadable" if surface == "secret-project" else "release_refused")
        assert "secret-project" not in refusal.detail
        assert ADDRESS not in refusal.detail
    full = report_of(library.served, EVERYTHING)[APPLICATION].refused
    assert "secret-project" in full["new"].detail
    assert ADDRESS in full["secret-project"].detail


def test_no_two_codes_are_told_in_the_same_words() -> None:
    assert set(TOLD) == set(get_args(RefusalCode))
    assert len(set(TOLD.values())) == len(TOLD)


@pytest.mark.parametrize("code", get_args(RefusalCode))
def test_every_code_has_a_sentence_of_its_own_for_a_tenant(code: RefusalCode) -> None:
    now = ServedApplication(release="r", active={}, refused={"reader": Refusal(code=code, detail="only ours")})
    told = report_of({"shop": now}, Grant(id="t", surfaces={"shop": frozenset({ANY})}))["shop"].refused["reader"]
    assert (told.code, told.detail) == (code, TOLD[code])
    assert "only ours" not in told.detail


_SURFACES = st.sets(st.sampled_from(["a", "b", ANY]), min_size=1).map(frozenset)


@given(surfaces=st.dictionaries(st.sampled_from(["shop", "bank", "nobody", ANY]), _SURFACES))
def test_a_report_holds_what_the_grant_allows_and_nothing_else(
    version: ServedVersion, surfaces: dict[str, frozenset[str]]
) -> None:
    refused = {"c": Refusal(code="damaged", detail="x"), "a": Refusal(code="damaged", detail="x")}
    served = {
        name: ServedApplication(release="r", active={"b": version, "a": version}, refused=refused)
        for name in ("shop", "bank")
    }
    grant = Grant(id="t", surfaces=surfaces)
    report = report_of(served, grant)
    for part in ("surfaces", "refused"):
        told = {(name, each) for name, one in report.items() for each in getattr(one, part)}
        there = ("a", "b") if part == "surfaces" else ("a", "c")
        assert told == {(name, each) for name in served for each in there if grant.allows(name, each)}
    assert list(report) == sorted(report)


def test_a_grant_of_one_surface_costs_no_walk_over_what_others_have(version: ServedVersion) -> None:
    active = _NeverWalked(reader=version, writer=version)
    served = _NeverWalked(shop=ServedApplication(release="r", active=active, refused=_NeverWalked()))
    report = report_of(MappingProxyType(served), Grant(id="t", surfaces={"shop": frozenset({"reader"})}))
    assert list(report["shop"].surfaces) == ["reader"]


@given(
    surfaces=st.dictionaries(st.sampled_from(["shop", "bank", "nobody", ANY]), _SURFACES),
    application=st.sampled_from(["shop", "bank", "empty", "nobody", ANY, "a line\n"]),
    surface=st.sampled_from(["a", "b", "c", ANY, "a line\n", None]),
)
def test_names_for_a_log_are_those_that_a_report_tells_the_same_caller(
    version: ServedVersion, surfaces: dict[str, frozenset[str]], application: str, surface: str | None
) -> None:
    full = ServedApplication(release="r", active={"b": version}, refused={"a": Refusal(code="damaged", detail="x")})
    served = {"shop": full, "bank": full, "empty": ServedApplication(release="r", active={})}
    grant = Grant(id="t", surfaces=surfaces)
    report = report_of(served, grant).get(application)
    expected = {} if report is None else {"application": application}
    if report is not None and surface is not None and surface in {*report.surfaces, *report.refused}:
        expected["surface"] = surface
    assert known_names(served, grant, application=application, surface=surface) == expected


def test_names_for_a_log_cost_no_walk_over_what_others_have(version: ServedVersion) -> None:
    active = _NeverWalked(reader=version, writer=version)
    served = _NeverWalked(shop=ServedApplication(release="r", active=active, refused=_NeverWalked()))
    for grant in (Grant(id="t", surfaces={"shop": frozenset({"reader"})}), EVERYTHING):
        for surface in ("reader", "nobody"):
            told = known_names(MappingProxyType(served), grant, application="shop", surface=surface)
            assert told == {"application": "shop", **({"surface": surface} if surface == "reader" else {})}
