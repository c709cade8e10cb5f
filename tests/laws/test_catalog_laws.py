"""Laws of catalogs: order is not content, and every fault is told."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surface.canonical import canonical_bytes, canonical_json
from surface.catalog import build_catalog
from surface.content import PartKind, Presenter
from surface.errors import CatalogError
from surface.identity import is_tool_name, tool_digest
from surface.registry import Surface, build_registry
from surface.tool import Service, Tool
from tests.strategies import LAW, json_values, shuffled_tool_sets, texts, tool_names, tools
from tests.surface.shop import APPLICATION, ROOMY, SEARCH, make_surface, make_tool

PRESENTER = Presenter(kinds=frozenset({PartKind.TEXT}), present=lambda output: [])


@pytest.mark.rule("CAT-3", "SRC-10")
@LAW
@given(orders=shuffled_tool_sets())
def test_the_order_of_tools_changes_neither_digest_nor_manifest_nor_search_tool(
    orders: tuple[list[Tool | Service], list[Tool | Service]],
) -> None:
    one, two = (make_surface(given_tools) for given_tools in orders)
    assert one.catalog.digest == two.catalog.digest
    assert one.catalog.manifest == two.catalog.manifest
    assert list(one.catalog.tools) == sorted(one.catalog.tools)
    assert one.search == two.search


@pytest.mark.rule("CAT-4")
@LAW
@given(tool=tools, other=tools)
def test_two_tools_have_one_digest_only_when_a_model_reads_the_same_of_both(tool: Tool, other: Tool) -> None:
    def read(each: Tool) -> str:
        return canonical_json([each.name, each.description, each.input.json_schema, each.service])

    one, two = (build_catalog([each]).tools[each.name].digest for each in (tool, other))
    assert (one == two) == (read(tool) == read(other))
    edited = build_catalog([replace(tool, description=tool.description + ".")])
    assert edited.tools[tool.name].digest != one
    assert edited.digest != build_catalog([tool]).digest


@pytest.mark.rule("CAT-4", "CAT-5", "CAT-7")
@LAW
@given(tool=tools)
def test_digest_and_schema_bytes_follow_from_the_entry_alone(tool: Tool) -> None:
    made = build_catalog([tool]).tools[tool.name]
    entry = made.entry
    shown: dict[str, Any] = {"name": entry.name, "description": entry.description, "input_schema": entry.input_schema}
    assert entry.input_schema == tool.input.json_schema
    assert entry.schema_bytes == len(canonical_bytes(shown))
    assert made.digest == tool_digest(**shown, service=tool.service)


@pytest.mark.rule("CAT-2")
@LAW
@given(name=tool_names)
def test_every_name_of_the_alphabet_is_a_tool_name_and_no_longer_one_is(name: str) -> None:
    assert is_tool_name(name)
    assert not is_tool_name(name.ljust(129, "x"))
    assert not is_tool_name(f"{name}\n")
    assert not is_tool_name(f" {name}")


@pytest.mark.rule("CAT-2")
@LAW
@given(name=st.text(), description=st.text(), schema=json_values | texts)
def test_any_tool_at_all_gives_a_catalog_or_the_one_error(name: str, description: str, schema: Any) -> None:
    with suppress(CatalogError):
        assert name in build_catalog([make_tool(name, description, {} if schema is None else schema)])


def _tool_fault(tool: Tool) -> dict[str, Any]:
    return {"tools": [tool]}


# What is wrong → what of a surface makes it so, and what the error says of it.
FAULTS: dict[str, dict[str, Any]] = {
    "two: 2 tools have this name": {"tools": [make_tool("two"), make_tool("two")]},
    "shop_list: 2 tools have this name": {
        "tools": [make_tool("shop_list"), Service(name="shop", tools=[make_tool("list")])]
    },
    "bad name: the name must match": _tool_fault(make_tool("bad name")),
    f"{SEARCH}: the search tool has this name": _tool_fault(make_tool(SEARCH)),
    "listing: the input must be an object": _tool_fault(make_tool("listing", schema={"type": "array"})),
    "strange: the input schema is not JSON": _tool_fault(
        make_tool("strange", schema={"type": "object", "default": float("nan")})
    ),
    "shown: a presenter needs an output type": _tool_fault(make_tool("shown", presenter=PRESENTER)),
    "always_on gone: no tool of this surface": {"always_on": ["gone"]},
    "always_on fine: stands 2 times": {"always_on": ["fine", "fine"]},
}


@pytest.mark.rule("CAT-2")
@LAW
@given(
    wrong=st.sets(st.sampled_from(sorted(FAULTS)), min_size=1),
    keys=st.sampled_from([["reader"], ["bad key"], ["reader", "reader"], ["bad key", "bad key"]]),
    chance=st.randoms(use_true_random=False),
)
def test_every_fault_stands_in_one_error_whatever_the_mix(
    wrong: set[str], keys: list[str], chance: random.Random
) -> None:
    faulty: list[Any] = [make_tool("fine"), *(tool for what in wrong for tool in FAULTS[what].get("tools", []))]
    chance.shuffle(faulty)
    always_on = [name for what in sorted(wrong) for name in FAULTS[what].get("always_on", [])]
    surfaces = [Surface(key=key, tools=faulty, always_on=always_on) for key in keys]
    with pytest.raises(CatalogError) as caught:
        build_registry(APPLICATION, surfaces, limits=ROOMY, search_tool=SEARCH)
    told = [str(fault) for fault in caught.value.faults]
    key = keys[0]
    expected = {f"{key}/{what}" for what in wrong}
    expected |= {"surface bad key: the key needs"} if key == "bad key" else set()
    expected |= {f"surface {key}: 2 surfaces have this key"} if len(keys) > 1 else set()
    assert {what for what in expected if any(fault.startswith(what) for fault in told)} == expected
    assert [fault for fault in told if not fault.startswith(tuple(expected))] == []
