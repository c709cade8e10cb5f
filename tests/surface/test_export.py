"""What an application exports of its surfaces: the catalog file of a deploy."""

from __future__ import annotations

import json

import pytest

from indexer.catalog_file import read_catalog
from surface.canonical import canonical_json
from surface.errors import ConfigurationError
from surface.export import export_catalog
from surface.identity import catalog_digest, tool_digest
from surface.registry import Surface, SurfaceRegistry, build_registry
from surface.tool import Service
from tests.surface.shop import APPLICATION, ROOMY, SEARCH, make_tool, make_tools


def registry_of(*surfaces: Surface) -> SurfaceRegistry:
    return build_registry(APPLICATION, surfaces, limits=ROOMY, search_tool=SEARCH)


READER = Surface(
    key="reader",
    tools=[
        make_tool("weather", "Forecast.", schema={"type": "object", "properties": {"city": {}}}),
        Service(name="mail", tools=[make_tool("send", idempotent=True), make_tool("list", read_only=True)]),
    ],
    always_on=["weather"],
)
REGISTRY = registry_of(Surface(key="writer", tools=make_tools("one")), READER)


@pytest.mark.parametrize("name", ["", "größe", "a\nb", "d" * 129])
def test_a_deploy_is_called_what_a_deploy_takes(name: str) -> None:
    with pytest.raises(ConfigurationError, match="deploy: needs 1-128 characters of printable ASCII"):
        export_catalog(REGISTRY, deploy=name)
    assert export_catalog(REGISTRY, deploy="d" * 128)["deploy"] == "d" * 128


def test_an_export_holds_every_surface_with_its_tools_in_canonical_order() -> None:
    assert export_catalog(REGISTRY, deploy="abc") == {
        "version": 1,
        "application": "shop",
        "deploy": "abc",
        "surfaces": {
            "reader": {
                "always_on": ["weather"],
                "tools": [
                    {
                        "name": "mail_list",
                        "description": "Does a thing.",
                        "input_schema": {"type": "object", "properties": {}},
                        "service": "mail",
                        "annotations": {"read_only": True, "idempotent": False},
                    },
                    {
                        "name": "mail_send",
                        "description": "Does a thing.",
                        "input_schema": {"type": "object", "properties": {}},
                        "service": "mail",
                        "annotations": {"read_only": False, "idempotent": True},
                    },
                    {
                        "name": "weather",
                        "description": "Forecast.",
                        "input_schema": {"type": "object", "properties": {"city": {}}},
                    },
                ],
            },
            "writer": {
                "always_on": [],
                "tools": [
                    {
                        "name": "one",
                        "description": "Does a thing.",
                        "input_schema": {"type": "object", "properties": {}},
                    }
                ],
            },
        },
    }


@pytest.mark.rule("CAT-3")
def test_the_order_of_surfaces_and_tools_is_no_part_of_an_export() -> None:
    turned = Surface(key="reader", tools=list(reversed(READER.tools)), always_on=READER.always_on)
    again = registry_of(turned, Surface(key="writer", tools=make_tools("one")))
    assert json.dumps(export_catalog(again)) == json.dumps(export_catalog(REGISTRY))


@pytest.mark.rule("CAT-4")
def test_whoever_reads_an_export_comes_to_the_same_digests() -> None:
    catalog = REGISTRY.surface("reader").catalog
    exported = json.loads(canonical_json(export_catalog(REGISTRY)))["surfaces"]["reader"]["tools"]
    digests = [
        tool_digest(
            name=each["name"],
            description=each["description"],
            input_schema=each["input_schema"],
            service=each.get("service"),
        )
        for each in exported
    ]
    assert digests == [made.digest for made in catalog.tools.values()]
    assert catalog_digest(digests) == catalog.digest


def test_the_indexer_reads_what_is_exported() -> None:
    read = read_catalog(json.dumps(export_catalog(REGISTRY, deploy="abc")).encode()).catalog
    assert read.application == "shop"
    assert [tool.name for tool in read.surfaces["reader"].tools] == ["mail_list", "mail_send", "weather"]


@pytest.mark.rule("CAT-1")
def test_an_export_is_a_copy() -> None:
    export_catalog(REGISTRY)["surfaces"]["reader"]["tools"][2]["input_schema"]["properties"].clear()
    assert "city" in REGISTRY.surface("reader").catalog.tools["weather"].entry.input_schema["properties"]


@pytest.mark.rule("EVD-2")
def test_an_export_holds_no_scope_and_no_action() -> None:
    registry = registry_of(Surface(key="reader", tools=[make_tool("one", scope="planted", action="planted")]))
    assert "planted" not in json.dumps(export_catalog(registry))
