"""Arrays of tools as OpenAI, Anthropic and Gemini take them, plain tools, and how their formats are told apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.dialect import Dialect
from surface.errors import CatalogError
from tests.indexer.importing.samples import imported, refusals, source, taken
from tests.surface.shop import make_surface, make_tool

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT = {"type": "function", "function": {"name": "weather", "description": "Reports it.", "parameters": SCHEMA}}
FLAT = {"type": "function", "name": "weather", "description": "Reports it.", "parameters": SCHEMA, "strict": False}
ANTHROPIC = {"name": "weather", "description": "Reports it.", "input_schema": SCHEMA, "cache_control": {}}
PLAIN = {"name": "weather", "description": "Reports it.", "parameters": SCHEMA}
GEMINI = {
    "functionDeclarations": [
        {
            "name": "weather",
            "description": "Reports it.",
            "parameters": {
                "type": "OBJECT",
                "properties": {"city": {"type": "STRING"}},
                "required": ["city"],
                "propertyOrdering": ["city"],
            },
        }
    ]
}
SNAKE = {"function_declarations": [{"name": "weather", "description": "Reports it.", "parameters_json_schema": SCHEMA}]}
FORMS = [
    (CHAT, "openai"),
    (FLAT, "openai"),
    (ANTHROPIC, "anthropic"),
    (GEMINI, "gemini"),
    (GEMINI["functionDeclarations"][0], "gemini"),
    (SNAKE, "gemini"),
    (PLAIN, "plain"),
]


@pytest.mark.parametrize(("entry", "form"), FORMS)
@pytest.mark.parametrize("wrap", ["list", "request", "alone", "lines"])
def test_every_form_is_told_by_itself_and_gives_the_same_tool(entry: Any, form: str, wrap: str) -> None:
    documents: dict[str, Any] = {
        "list": source([entry]),
        "request": source({"model": "m", "tools": [entry]}),
        "alone": source(entry),
        "lines": source(json.dumps(entry).encode() + b"\n\n", "tools.jsonl"),
    }
    read = imported(documents[wrap])
    assert read.files[0].format == form
    (tool,) = read.catalog.surfaces["clerk"].tools
    assert (tool.name, tool.description, tool.input_schema) == ("weather", "Reports it.", SCHEMA)


@pytest.mark.parametrize("dialect", [ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES], ids=lambda one: one.name)
def test_what_our_own_dialects_advertise_is_taken_with_the_digests_of_the_surface(dialect: Dialect) -> None:
    own = make_surface([make_tool("weather", "Reports it.", SCHEMA), make_tool("other", "Über.")]).catalog.manifest
    tools = taken(json.loads(json.dumps(dialect.advertise(own.entries))))
    assert {name: tool.input_schema for name, tool in tools.items()} == {
        entry.name: entry.input_schema for entry in own.entries
    }


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([CHAT, {"type": "web_search"}], "its type is web_search: only functions have an input schema"),
        ([FLAT, {"type": "custom", "name": "shell"}], "its type is custom: only functions"),
        ([FLAT, {"type": "function", "function": 7}], "is not a JSON object"),
        ([CHAT, "weather"], "is not a JSON object"),
        ([ANTHROPIC, {"type": "bash_20250124", "name": "bash"}], "its type is bash_20250124: only custom tools"),
        ([GEMINI, {"googleSearch": {}}], "declares no function, but googleSearch"),
        ([GEMINI, {"functionDeclarations": "x"}], "needs a list of tools"),
        ([GEMINI, {"functionDeclarations": [7]}], "is not a JSON object"),
        ([PLAIN, {"name": 7}], "name: must be text"),
        ([PLAIN, {"name": "x", "description": 7}], "description: must be text"),
        ([PLAIN, {"name": "x", "parameters": 7}], "the input schema must be a JSON object"),
        ([PLAIN, {"name": "x", "server": 7}], "the service's name must be text"),
        ([PLAIN, {"name": "x", "server": "a b"}], "the service a b needs 1-64"),
        ([PLAIN, {"name": "x", "parameters": {"type": "string"}}], "the input must be an object"),
        ([PLAIN, {"name": "x", "parameters": {"type": "object", "properties": 7}}], "is no valid JSON Schema"),
    ],
)
def test_an_entry_that_is_no_tool_of_the_callers_own_is_refused_alone(entries: list[Any], told: str) -> None:
    (fault,) = refusals(entries)
    assert fault.startswith("tools.json: tools[1]")
    assert told in fault


def test_a_line_that_is_no_json_is_refused_alone() -> None:
    lines = source(json.dumps(PLAIN).encode() + b"\n{\n", "tools.jsonl")
    assert refusals(lines)[0].startswith("tools.jsonl: line 2: not JSON")
    assert imported(lines).taken == 1


def test_a_namespace_of_openai_is_the_service_of_its_tools() -> None:
    namespace = {"type": "namespace", "name": "crm", "description": "x", "tools": [FLAT]}
    tools = taken([namespace, FLAT | {"name": "other"}])
    assert {name: tool.service for name, tool in tools.items()} == {"weather": "crm", "other": None}
    assert "needs a list of tools" in refusals([FLAT, {"type": "namespace", "name": "x", "tools": 7}])[0]


def test_googles_schema_becomes_json_schema() -> None:
    parameters = {
        "type": "OBJECT",
        "properties": {
            "n": {"type": "INTEGER", "nullable": True},
            "l": {"type": "ARRAY", "min_items": "2", "items": {"type": "TYPE_UNSPECIFIED", "example": 1}},
            "u": {"any_of": [{"type": "NUMBER"}, {"type": "BOOLEAN"}]},
        },
    }
    (tool,) = taken([{"name": "x", "description": "", "parameters": parameters}]).values()
    assert tool.input_schema["properties"] == {
        "n": {"type": ["integer", "null"]},
        "l": {"type": "array", "minItems": 2, "items": {"examples": [1]}},
        "u": {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
    }


def test_the_service_of_a_plain_tool_is_its_server_unless_the_file_has_one() -> None:
    entry = PLAIN | {"server": "files"}
    assert taken([entry])["weather"].service == "files"
    assert taken(source([entry], service="mine"))["weather"].service == "mine"


def test_no_parameters_take_no_arguments() -> None:
    for entry in (
        {"type": "function", "name": "x"},
        {"name": "x", "description": "y"},
        {"name": "x", "inputSchema": None},
    ):
        assert taken([entry])["x"].input_schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("document", [7, None, [7], {"a": 1}, [{"name": "x"}], {"tools": []}])
def test_a_document_whose_format_cannot_be_told_asks_for_it(document: Any) -> None:
    with pytest.raises(CatalogError, match="say --format, one of catalog, mcp, openapi"):
        imported(document)


@pytest.mark.parametrize(
    ("data", "file"), [(b"", "a.json"), (b" \n", "a.jsonl"), (b"[]", "a.json"), (b"{}", "a.json"), (b"", "a.yaml")]
)
def test_a_file_that_holds_nothing_is_said_to_be_empty(data: bytes, file: str) -> None:
    with pytest.raises(CatalogError, match=rf"{file}: is empty"):
        imported(source(data, file))


@pytest.mark.parametrize("end", [b'{"name": "b", "descr', b'{"name": "b"', b'"\xc3'])
def test_lines_that_were_cut_off_are_refused_with_the_number_of_the_line(end: bytes) -> None:
    whole = json.dumps(PLAIN).encode() + b"\n"
    with pytest.raises(CatalogError, match=r"a.jsonl: is cut off in line 2, .*; write the file again"):
        imported(source(whole + end, "a.jsonl"))
    assert imported(source(whole + end + b"\n", "a.jsonl")).refused_tools == 1  # a line like another, and no tool
    assert imported(source(whole.strip(), "a.jsonl")).taken == 1  # the last line needs no newline


def test_the_caller_may_say_the_format() -> None:
    assert imported([{"name": "x"}], format="plain").files[0].format == "plain"
    assert imported([PLAIN], format="anthropic").catalog.surfaces["clerk"].tools[0].input_schema["properties"] == {}
    for form in ("mcp", "openapi", "openai", "anthropic", "gemini", "plain", "catalog"):
        with pytest.raises(CatalogError):
            imported(7, format=form)
