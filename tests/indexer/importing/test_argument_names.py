"""Arguments whose names a provider refuses: said, and renamed where that was asked for and can be undone."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from indexer.catalog_file import CatalogTool
from indexer.importing import Imported
from indexer.importing.report import import_json, import_lines
from surface.provider_inputs import EVERY_PROVIDER
from tests.indexer.importing.samples import body, imported, mcp_tool, openapi, operation, parameter
from tests.indexer.samples import catalog_json

ODATA = [parameter("$top", required=True), parameter("filter[name]"), parameter("plain.name-1"), parameter("x" * 65)]
CARRIED = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def api(*parameters: Any, **other: Any) -> dict[str, Any]:
    return openapi({"/users": {"get": operation("users", parameters=list(parameters), **other)}})


def only(read: Imported) -> CatalogTool:
    assert read.refused == ()
    (tool,) = read.catalog.surfaces["clerk"].tools
    return tool


def notes(read: Imported) -> list[str]:
    said: list[str] = import_json(read, written=None)["notes"]
    return said


def test_an_argument_keeps_its_name_and_the_report_says_who_refuses_it() -> None:
    read = imported(api(*ODATA))
    assert list(only(read).input_schema["properties"]) == ["$top", "filter[name]", "plain.name-1", "x" * 65]
    assert read.renamed == ()
    (note,) = notes(read)
    assert note.startswith("1 tool with arguments whose names Anthropic's API refuses, and the whole request with them")
    assert "users ($top, filter[name], " in note
    assert "plain.name-1" not in note
    assert note.endswith("; --rename gives those of OpenAPI operations others")
    assert f"note: {note}" in import_lines(read, written=None)


def test_the_report_names_tools_whose_schema_a_provider_refuses_for_its_top() -> None:
    either = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}, "oneOf": [{"required": ["a"]}]}
    read = imported([mcp_tool("either", inputSchema=either), mcp_tool("fine")])
    taken = {tool.name: tool.input_schema for tool in read.catalog.surfaces["clerk"].tools}
    assert taken["either"] == either
    (note,) = notes(read)
    assert note.startswith(
        "1 tool with keywords at the top of the input schema that OpenAI's or Anthropic's API refuses"
    )
    assert note.endswith(": either (oneOf)")


def test_renamed_arguments_say_what_they_are_in_the_request() -> None:
    read = imported(api(*ODATA), rename_tools=True)
    tool = only(read)
    assert tool.annotations is not None
    ways = tool.annotations["arguments"]
    top, by_name, plain, long = tool.input_schema["properties"]
    assert (top, by_name, plain) == ("top", "filter_name", "plain.name-1")
    assert re.fullmatch(r"x{55}_[0-9a-f]{8}", long)
    assert tool.input_schema["required"] == ["top"]
    assert {name: way["name"] for name, way in ways.items()} == {
        "top": "$top",
        "filter_name": "filter[name]",
        "plain.name-1": "plain.name-1",
        long: "x" * 65,
    }
    assert [(one.where, one.old, one.new) for one in read.renamed][:2] == [
        ("tools.json: GET /users users: argument $top", "$top", "top"),
        ("tools.json: GET /users users: argument filter[name]", "filter[name]", "filter_name"),
    ]
    assert notes(read) == []


def test_names_that_would_become_one_are_told_apart_by_a_digest() -> None:
    tool = only(
        imported(api(parameter("$top"), parameter("top"), parameter("a b"), parameter("a$b")), rename_tools=True)
    )
    plain, *told = sorted(tool.input_schema["properties"], key=len)
    assert plain == "top"
    assert sorted(name[:4] for name in told) == ["a_b_", "a_b_", "top_"]
    assert len(set(told)) == 3


def test_fields_of_a_body_are_renamed_and_what_is_nested_is_not() -> None:
    schema = {"type": "object", "properties": {"@type": {"type": "object", "properties": {"$id": {}}}}}
    tool = only(imported(openapi({"/": {"post": operation(**body(schema))}}), rename_tools=True))
    assert tool.input_schema["properties"] == {"type": {"type": "object", "properties": {"$id": {}}}}
    assert tool.annotations is not None
    assert tool.annotations["arguments"] == {"type": {"in": "body", "name": "@type"}}


def test_a_tool_that_is_refused_has_no_renamed_arguments() -> None:
    read = imported(api(*ODATA, operationId="a"), api(*ODATA, operationId="a"), rename_tools=True)
    assert (read.taken, read.renamed) == (0, ())


def test_what_nobody_could_map_back_is_never_renamed() -> None:
    odd = {"type": "object", "properties": {"$top": {}}}
    mapped = {"arguments": {"$top": {"in": "query", "name": "$top"}}}  # as an earlier import may have written it
    exported = catalog_json(
        {"name": "a", "description": "A.", "input_schema": odd, "annotations": mapped}, application="shop"
    )
    for document in ([mcp_tool(inputSchema=odd)], exported):
        read = imported(document, rename_tools=True)
        ((tool,),) = [surface.tools for surface in read.catalog.surfaces.values()]
        assert tool.input_schema == odd
        assert read.renamed == ()
        assert len(notes(read)) == 1


@given(
    names=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=80), min_size=1, max_size=6, unique=True)
)
def test_whatever_they_are_called_every_argument_is_carried_and_keeps_its_way(names: list[str]) -> None:
    tool = only(imported(api(*map(parameter, names)), rename_tools=True))
    assert tool.annotations is not None
    assert EVERY_PROVIDER.refused_names(tool.input_schema) == []
    assert all(CARRIED.fullmatch(name) for name in tool.input_schema["properties"])
    assert [way["name"] for way in tool.annotations["arguments"].values()] == names
    assert tool.annotations["arguments"].keys() == tool.input_schema["properties"].keys()
