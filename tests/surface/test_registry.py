"""The finite registry of surfaces: every fault of every surface in one error, and a base that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from surface.errors import CatalogError, UnknownSurfaceError
from surface.limits import Limits
from surface.registry import Surface, SurfaceRegistry, build_registry
from tests.surface.shop import ROOMY, SEARCH, make_surface, make_tool, make_tools


def registry_of(
    *surfaces: Surface, application: str = "shop", limits: Limits = ROOMY, search_tool: str = SEARCH
) -> SurfaceRegistry:
    return build_registry(application, surfaces, limits=limits, search_tool=search_tool)


def faults_of(*surfaces: Surface, **other: Any) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        registry_of(*surfaces, **other)
    return [str(fault) for fault in caught.value.faults]


def reader(*, tools: Sequence[str] = ("one", "two"), always_on: Sequence[str] = (), key: str = "reader") -> Surface:
    return Surface(key=key, tools=make_tools(*tools), always_on=always_on)


# CAT-2


@pytest.mark.rule("CAT-2")
def test_an_empty_registry_is_refused() -> None:
    assert faults_of() == ["surfaces: an application needs at least one surface"]


@pytest.mark.rule("CAT-2")
@pytest.mark.parametrize("key", ["", "a b", "x" * 65, "a/b", "a\n"])
def test_an_invalid_surface_key_is_refused(key: str) -> None:
    (fault,) = faults_of(reader(key=key))
    assert fault.endswith("the key needs 1-64 of A-Z a-z 0-9 _ . -")


@pytest.mark.rule("CAT-2")
def test_a_repeated_surface_key_is_refused() -> None:
    assert faults_of(reader(), reader(), reader(key="writer")) == ["surface reader: 2 surfaces have this key"]


@pytest.mark.rule("CAT-2")
def test_a_tool_of_the_search_tools_name_is_refused() -> None:
    assert faults_of(reader(tools=["one", SEARCH])) == [
        f"reader/{SEARCH}: the search tool has this name; rename one of them"
    ]
    assert SEARCH in registry_of(reader(tools=["one", SEARCH]), search_tool="find").surface("reader").catalog


@pytest.mark.rule("CAT-2")
@pytest.mark.parametrize("search_tool", ["", "find tools", "x" * 129])
def test_a_search_tool_needs_a_tools_name(search_tool: str) -> None:
    assert faults_of(reader(), search_tool=search_tool) == ["search_tool: needs 1-128 characters of A-Z a-z 0-9 _ . -"]


@pytest.mark.rule("CAT-2")
def test_an_application_needs_a_key_for_its_name() -> None:
    assert faults_of(reader(), application="my shop") == ["application: needs 1-64 characters of A-Z a-z 0-9 _ . -"]


@pytest.mark.rule("CAT-2")
def test_unknown_and_repeated_always_on_names_are_refused() -> None:
    assert faults_of(reader(always_on=["two", "gone", "one", "two"])) == [
        "reader/always_on two: stands 2 times; once is enough",
        "reader/always_on gone: no tool of this surface has this name",
    ]


@pytest.mark.rule("CAT-2")
def test_the_search_tool_itself_is_no_always_on_name() -> None:
    assert faults_of(reader(always_on=[SEARCH])) == [
        f"reader/always_on {SEARCH}: no tool of this surface has this name"
    ]


@pytest.mark.rule("CAT-2", "REP-4")
def test_an_always_on_name_of_another_surface_is_unknown_here() -> None:
    assert faults_of(reader(always_on=["three"]), reader(key="writer", tools=["three"])) == [
        "reader/always_on three: no tool of this surface has this name"
    ]


@pytest.mark.rule("CAT-2")
def test_the_faults_of_every_surface_stand_in_one_error_with_the_surface_that_has_them() -> None:
    faults = faults_of(reader(tools=["bad name"]), reader(key="writer", always_on=["gone"]), application="")
    assert faults == [
        "application: needs 1-64 characters of A-Z a-z 0-9 _ . -",
        "reader/bad name: the name must match [A-Za-z0-9_.-]{1,128}; rename the tool",
        "writer/always_on gone: no tool of this surface has this name",
    ]


@pytest.mark.rule("CAT-2")
def test_a_faulty_tool_does_not_hide_the_other_faults_of_its_surface() -> None:
    faults = faults_of(reader(tools=["bad name", "one", SEARCH], always_on=["one", "one", "gone"]))
    assert {fault.split(":")[0] for fault in faults} == {
        "reader/bad name",
        f"reader/{SEARCH}",
        "reader/always_on one",
        "reader/always_on gone",
    }


# CAT-6


@pytest.mark.rule("CAT-6")
def test_the_base_fits_the_active_tool_ceiling_exactly_or_is_refused() -> None:
    surface = reader(always_on=["one", "two"])
    registry_of(surface, limits=replace(ROOMY, max_active_tools=3))
    assert faults_of(surface, limits=replace(ROOMY, max_active_tools=2)) == [
        "reader/always_on: 3 tools with the search tool, over limits.max_active_tools = 2"
    ]


@pytest.mark.rule("CAT-6")
def test_the_base_fits_the_schema_byte_ceiling_exactly_or_is_refused() -> None:
    surface = reader(always_on=["one"])
    checked = registry_of(surface).surface("reader")
    weight = checked.search.schema_bytes + checked.catalog.tools["one"].entry.schema_bytes
    registry_of(surface, limits=replace(ROOMY, max_schema_bytes=weight))
    assert faults_of(surface, limits=replace(ROOMY, max_schema_bytes=weight - 1)) == [
        f"reader/always_on: {weight} schema bytes with the search tool, over limits.max_schema_bytes = {weight - 1}"
    ]


@pytest.mark.rule("CAT-6")
def test_every_surface_has_to_fit_and_both_ceilings_are_told() -> None:
    small = reader(tools=["one"])
    large = Surface(key="writer", tools=[make_tool("big", "x" * 5_000), *make_tools("one")], always_on=["big", "one"])
    faults = faults_of(small, large, limits=Limits(max_active_tools=2, max_schema_bytes=3_000))
    assert [fault.split("limits.")[1].split(" ")[0] for fault in faults] == ["max_active_tools", "max_schema_bytes"]
    assert all(fault.startswith("writer/always_on: ") for fault in faults)


# What a registry gives


@pytest.mark.rule("REP-4")
def test_each_surface_knows_its_own_tools_and_no_others() -> None:
    registry = registry_of(reader(), reader(key="writer", tools=["three"]))
    assert list(registry.surface("reader").catalog.tools) == ["one", "two"]
    assert list(registry.surface("writer").catalog.tools) == ["three"]


def test_an_unknown_surface_is_refused_naming_the_ones_there_are() -> None:
    registry = registry_of(reader(), reader(key="writer"))
    with pytest.raises(UnknownSurfaceError, match=r"^surface: no editor in shop; there are reader, writer$"):
        registry.surface("editor")


@pytest.mark.rule("ACT-6")
def test_the_base_is_the_search_tool_and_then_the_always_on_tools_as_declared() -> None:
    surface = make_surface(make_tools("a", "b", "c"), always_on=["c", "a"])
    assert surface.base == (SEARCH, "c", "a")
    assert surface.entry(SEARCH) is surface.search
    assert surface.weight("a") == surface.catalog.tools["a"].entry.schema_bytes


@pytest.mark.rule("CAT-1")
def test_a_registry_does_not_change_when_what_it_was_made_of_does() -> None:
    tools, always_on = make_tools("one", "two"), ["one"]
    surfaces = [Surface(key="reader", tools=tools, always_on=always_on)]
    registry = build_registry("shop", surfaces, limits=ROOMY, search_tool=SEARCH)
    tools.clear()
    always_on.append("two")
    surfaces.clear()
    surface = registry.surface("reader")
    assert surface.always_on == ("one",)
    assert list(surface.catalog.tools) == ["one", "two"]
    with pytest.raises(TypeError):
        registry.surfaces["writer"] = surface  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        surface.key = "writer"  # type: ignore[misc]
