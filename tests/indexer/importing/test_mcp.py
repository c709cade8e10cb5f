"""Results of `tools/list`: of one server, of many, in pages, in an envelope."""

from __future__ import annotations

from typing import Any

import pytest

from surface.errors import CatalogError
from tests.indexer.importing.samples import imported, mcp_tool, refusals, source, taken

RESULT = {"tools": [mcp_tool()]}


@pytest.mark.parametrize(
    "document",
    [
        RESULT,
        RESULT["tools"],
        {"jsonrpc": "2.0", "id": 1, "result": RESULT},
        [RESULT, {"tools": []}],
        [{"jsonrpc": "2.0", "id": 1, "result": RESULT | {"nextCursor": "x"}}, {"tools": []}],
        mcp_tool(),
    ],
)
def test_one_servers_tools_are_taken_in_every_form_they_are_saved_in(document: Any) -> None:
    (tool,) = taken(source(document, service="github")).values()
    assert (tool.name, tool.description, tool.service) == ("search", "Finds it.", "github")


def test_of_many_servers_each_is_the_namespace_of_its_tools() -> None:
    document = {
        "github": RESULT,
        "slack": {"jsonrpc": "2.0", "result": {"tools": [mcp_tool("post")]}},
        "files": [{"tools": [mcp_tool("read")]}, {"tools": [mcp_tool("write")]}],
        "wiki": [mcp_tool("find")],
    }
    assert {name: tool.service for name, tool in taken(document).items()} == {
        "search": "github",
        "post": "slack",
        "read": "files",
        "write": "files",
        "find": "wiki",
    }


def test_title_and_hints_are_kept_as_annotations() -> None:
    tool = mcp_tool(
        title="Search", annotations={"readOnlyHint": True, "destructiveHint": False, "x": 1}, outputSchema={}
    )
    assert taken([tool])["search"].annotations == {"title": "Search", "read_only": True, "destructive": False}
    titled = {"name": "a", "inputSchema": {"type": "object"}, "annotations": {"title": "Does a."}}
    assert taken([titled])["a"].description == "Does a."


def test_a_schema_of_an_older_draft_is_brought_to_draft_2020_12() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"$ref": "#/definitions/pair"}},
        "definitions": {"pair": {"type": "array", "items": [{"type": "number"}, {"type": "number"}]}},
    }
    assert taken([mcp_tool(inputSchema=schema)])["search"].input_schema == {
        "type": "object",
        "properties": {"pair": {"$ref": "#/$defs/pair"}},
        "$defs": {"pair": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]}},
    }


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"$schema": "https://example.com/x", "type": "object"}, r"$schema names no draft of JSON Schema"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "a $ref leads to nothing"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.com/a"}}}, "never fetched"),
        ({"type": "array"}, "the input must be an object"),
        ("x", "must be a JSON object"),
    ],
)
def test_a_schema_nobody_can_validate_by_refuses_its_own_tool_only(schema: Any, told: str) -> None:
    read = imported([mcp_tool("good"), mcp_tool("bad", inputSchema=schema)])
    assert [tool.name for tool in read.catalog.surfaces["clerk"].tools] == ["good"]
    (fault,) = read.refused
    assert fault.where == "tools.json: tools[1] bad"
    assert told in fault.problem


def test_what_a_server_lists_twice_is_refused_twice() -> None:
    assert refusals([mcp_tool(), mcp_tool()]) == [
        f"tools.json: tools[{at}] search: 2 tools of the surface have this name; rename them, or say --rename"
        for at in (0, 1)
    ]


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"tools": [mcp_tool()], "nextCursor": "x"}, "save every page"),
        ({"a": RESULT, "b": RESULT | {"nextCursor": "x"}}, "b: the last page has a nextCursor"),
        ({"mcpServers": {"github": {"command": "npx"}}}, "is a client's configuration"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}, "is an answer without tools"),
        ({"github": RESULT, "slack": 7, "wiki": "x"}, r"slack: needs a list(.|\n)*wiki: needs a list"),
    ],
)
def test_a_document_that_is_not_all_of_a_servers_tools_ends_the_import(document: Any, told: str) -> None:
    with pytest.raises(CatalogError, match=told):
        imported(document)
