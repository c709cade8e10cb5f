"""Many files, one catalog: what is taken, what is refused, and what ends the import."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.catalog_file import read_catalog
from indexer.importing import FORMATS
from indexer.importing.report import catalog_json, import_json, import_lines, notes
from surface.errors import CatalogError
from surface.export import export_catalog
from surface.limits import Limits
from surface.registry import Surface, build_registry
from tests.indexer.importing.samples import imported, mcp_tool, openapi, operation, source, taken
from tests.indexer.samples import json_values, tool_json
from tests.surface.shop import make_tool
from tests.surface.web_applications import shop


def catalog(*tools: Any, always_on: Any = (), **changed: Any) -> dict[str, Any]:
    surfaces = {"clerk": {"always_on": list(always_on), "tools": list(tools)}}
    return {"version": 1, "application": "shop", "deploy": "d1", "surfaces": surfaces} | changed


def test_an_applications_own_export_comes_through_with_its_digests() -> None:
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "definitions": {"a": {}}}
    surfaces = [Surface(key="clerk", tools=[make_tool("a", schema=old), make_tool("b")], always_on=["b"])]
    registry = build_registry("shop", surfaces, limits=Limits(), search_tool="search_tools")
    exported = export_catalog(registry, deploy="d7")
    read = imported(exported, application=None, surface=None)
    assert read.catalog.surfaces["clerk"].always_on == ("b",)
    assert (read.catalog.application, read.catalog.deploy) == ("shop", "d7")
    own = registry.surface("clerk").catalog
    assert {tool.name: tool.digest for tool in read.catalog.surfaces["clerk"].tools} == {
        name: made.digest for name, made in own.tools.items()
    }


def test_what_is_written_is_what_a_deploy_reads() -> None:
    read = imported(catalog(tool_json("a", service="s", annotations={"x": None})), [mcp_tool()])
    written = json.dumps(catalog_json(read.catalog)).encode()
    assert read_catalog(written).catalog == read.catalog


def test_files_of_several_formats_fill_one_surface_beside_an_export() -> None:
    read = imported(
        catalog(tool_json("own"), always_on=["own"]),
        source([mcp_tool()], "mcp.json", service="github"),
        source(openapi({"/": {"get": operation("act")}}), "api.json"),
    )
    assert [tool.name for tool in read.catalog.surfaces["clerk"].tools] == ["act", "own", "search"]
    assert [(one.file, one.format, one.taken) for one in read.files] == [
        ("tools.json", "catalog", 1),
        ("mcp.json", "mcp", 1),
        ("api.json", "openapi", 1),
    ]


def test_the_same_tools_give_the_same_catalog_whatever_the_order_of_files() -> None:
    files = [source([mcp_tool("a")], "a.json"), source([mcp_tool("b")], "b.json")]
    assert imported(*files).catalog == imported(*reversed(files)).catalog
    assert imported(*files).catalog.deploy != imported(files[0]).catalog.deploy
    assert imported(*files, deploy="build-7").catalog.deploy == "build-7"


def test_the_operations_of_a_real_application_are_taken() -> None:
    tools = taken(shop.openapi())
    assert "get_item_items__item_id__get" in tools
    assert tools["get_item_items__item_id__get"].input_schema["required"] == ["item_id"]


def test_a_refused_tool_is_counted_for_its_file_and_does_not_stop_the_others() -> None:
    read = imported(source([mcp_tool("a"), mcp_tool("b c"), 7], "x.json"), catalog(tool_json("d"), tool_json("e f")))
    assert (read.taken, read.refused_tools) == (2, 3)
    assert [(one.file, one.taken, one.refused) for one in read.files] == [("x.json", 1, 2), ("tools.json", 1, 1)]
    assert [fault.where for fault in read.refused] == [
        "x.json: tools[1] b c",
        "x.json: tools[2]",
        "tools.json: clerk/e f",
    ]


@pytest.mark.parametrize(
    ("documents", "options", "told"),
    [
        ([], {}, "no file was given"),
        ([b"{"], {}, "tools.json: not JSON"),
        ([b"{", [7]], {}, "not JSON(.|\n)*its format cannot be told"),
        ([[mcp_tool()]], {"surface": None}, "tools.json: names no surface; say which one, with --surface S"),
        ([[mcp_tool()]], {"surface": "a b"}, "surface a b: needs 1-64"),
        ([[mcp_tool()]], {"application": None}, "no file names one; say which one, with --application A"),
        ([[mcp_tool()]], {"application": "a b"}, "application a b: needs 1-64"),
        ([catalog(tool_json())], {"application": "other"}, "a file is a catalog of shop"),
        (
            [catalog(tool_json()), catalog(tool_json("b"), application="bar")],
            {"application": None},
            "the files name bar, shop",
        ),
        ([catalog(tool_json("a b"), always_on=["a b"])], {}, "a b: is always on, so it cannot be skipped"),
        ([catalog(tool_json(), always_on=["a"]), [mcp_tool("a")]], {}, "clerk/a: is always on, so it cannot be left"),
        ([catalog(version=2)], {}, "tools.json: catalog.version"),
        ([source(b"a: [}", "x.yaml")], {}, "x.yaml: not YAML at line 1"),
    ],
)
def test_what_ends_an_import_is_said_with_the_file_and_the_fix(
    documents: list[Any], options: dict[str, Any], told: str
) -> None:
    with pytest.raises(CatalogError, match=told):
        imported(*documents, **options)


def test_the_report_says_everything_and_lists_little() -> None:
    read = imported(
        [mcp_tool(f"a/{number}") for number in range(30)] + [mcp_tool("b", description="")], rename_tools=True
    )
    lines = import_lines(read, written="out.json")
    assert lines[0] == "tools.json (mcp): 31 tools"
    assert lines[2] == "  - tools.json: tools[0] a/0 → a_0"
    assert lines[22] == "  … and 10 more; --json lists all of them"
    assert lines[-1] == "wrote shop to out.json: clerk 31 tools"
    told = import_json(read, written="out.json")
    assert (told["taken"], len(told["renamed"]), told["refused"]) == (31, 30, [])
    json.dumps(told, allow_nan=False)


def test_the_report_notes_what_ranking_or_a_step_will_not_make_much_of() -> None:
    heavy = {"type": "object", "description": "x" * 70_000}
    read = imported([mcp_tool("silent", description=" "), mcp_tool("heavy", inputSchema=heavy), mcp_tool()])
    assert notes(read.catalog) == [
        "1 tool without a description: ranking has only the name and the parameters",
        "1 tool over the default max_schema_bytes, never selectable under it: heavy",
    ]


keys = st.sampled_from(
    "tools name description inputSchema input_schema parameters functionDeclarations type function openapi paths /a get"
    " $ref properties items $defs requestBody content schema surfaces result in required a".split()
)
leaves = (
    json_values
    | st.sampled_from(["3.0.0", "3.1.0", "object", "function", "#/paths", "#/a/b", "query", "application/json"])
    | st.just(float("inf"))
)
shaped = st.recursive(
    leaves, lambda one: st.lists(one, max_size=3) | st.dictionaries(keys, one, max_size=4), max_leaves=15
)


@settings(max_examples=60)
@given(
    shaped.map(lambda value: json.dumps(value).replace("Infinity", "1e999").encode()) | st.binary(max_size=40),
    st.sampled_from(["x.json", "x.jsonl", "x.yaml"]),
    st.none() | st.sampled_from(FORMATS),
    st.booleans(),
)
def test_any_bytes_in_any_format_give_an_import_or_the_one_error(
    data: bytes,
    file: str,
    form: Any,
    renaming: bool,  # noqa: FBT001 - drawn
) -> None:
    try:
        read = imported(source(data, file), format=form, rename_tools=renaming)
    except CatalogError as error:
        str(error).encode()
        return
    if read.taken:
        read_catalog(json.dumps(catalog_json(read.catalog)).encode())
    json.dumps(import_json(read, written=None), allow_nan=False)
    "\n".join(import_lines(read, written=None)).encode()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('{"properties":', "}"), ('{"tools":[', "]}")]
)
def test_a_file_nested_to_the_readers_limit_gives_no_tool(form: Any, opening: str, closing: str) -> None:
    deep = (opening * 900 + "1" + closing * 900).encode()
    try:
        read = imported(source(deep), format=form)
    except CatalogError:
        return
    assert read.taken == 0
