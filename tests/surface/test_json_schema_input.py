"""Tools declared by a JSON Schema: the same manners as those declared by a Python type (MNT-3, CAT-7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surface import CallContext, ConfigurationError, Tool, build_tool_manifest
from surface.adapters.json_schema import JsonSchemaInput
from surface.input_model import InputRejectedError
from tests.surface.neutral_dialect import answers_in, call, error_in, text_in, turn
from tests.surface.one_call import answer_of, mounted

SECRET = "hunter2"  # noqa: S105 - planted to be looked for
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path"],
    "properties": {
        "path": {"type": "string", "minLength": 2, "maxLength": 30, "pattern": "^/"},
        "mode": {"enum": ["read", "write"]},
        "depth": {"type": "integer", "minimum": 1, "maximum": 9},
        "size": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "even": {"type": "integer", "multipleOf": 2},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2, "uniqueItems": True},
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
        "fixed": {"const": "v1"},
        "either": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
        "some": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/node"}]},
        "none": {"not": {"type": "string"}},
        "keyed": {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}},
    },
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}},
}


def tool_of(schema: dict[str, Any], handler: Any = lambda value, call: "done") -> Tool:
    return Tool(name="open", description="Opens.", input=JsonSchemaInput(schema), handler=handler)


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "path: is required"),
        ({"path": 7}, "path: must be of type string"),
        ({"path": SECRET}, "path: must match the pattern ^/"),
        ({"path": "/"}, "path: must have at least 2 characters"),
        ({"path": "/" + SECRET * 5}, "path: must have at most 30 characters"),
        ({"path": "/a", SECRET: 1}, "the arguments: holds a field that is not known here"),
        ({"path": "/a", "mode": SECRET}, "mode: must be one of read, write"),
        ({"path": "/a", "depth": 0}, "depth: must be at least 1"),
        ({"path": "/a", "depth": 99}, "depth: must be at most 9"),
        ({"path": "/a", "size": 0}, "size: must be greater than 0"),
        ({"path": "/a", "size": 1}, "size: must be less than 1"),
        ({"path": "/a", "even": 3}, "even: must be a multiple of 2"),
        ({"path": "/a", "tags": []}, "tags: must have at least 1 items"),
        ({"path": "/a", "tags": ["x", 1]}, "tags.1: must be of type string"),
        ({"path": "/a", "tags": [SECRET, SECRET]}, "tags: must hold no item twice"),
        ({"path": "/a", "labels": {SECRET: "x"}}, "labels.*: must be of type integer"),
        ({"path": "/a", "labels": {"a": 1, "b": 2, "c": 3}}, "labels: must have at most 2 fields"),
        ({"path": "/a", "fixed": SECRET}, "fixed: must be v1"),
        ({"path": "/a", "either": SECRET}, "either: must match exactly one of the allowed forms"),
        ({"path": "/a", "some": SECRET}, "some: matches none of the allowed forms"),
        ({"path": "/a", "some": {"next": {"next": SECRET}}}, "some: matches none of the allowed forms"),
        ({"path": "/a", "none": SECRET}, "none: has a form that is not allowed"),
        ([SECRET], "the arguments: must be of type object"),
        (SECRET, "the arguments: must be of type object"),
        (None, "the arguments: must be of type object"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_violation_names_the_field_and_the_constraint_and_shows_no_value(arguments: Any, message: str) -> None:
    run = mounted(tool_of(SCHEMA)).mount(run_id="run-1")
    made = call("open")
    (answer,) = answers_in(await run.dispatch([turn(type(made)(id="c", name="open", arguments=arguments))]))
    assert error_in(answer)["code"] == "VALIDATION_ERROR"
    assert error_in(answer)["message"] == message


@pytest.mark.rule("MNT-3")
async def test_a_key_that_breaks_a_rule_about_keys_is_not_shown() -> None:
    error = error_in(await answer_of(tool_of(SCHEMA), {"path": "/a", "keyed": {f"{SECRET}!": 1}}))
    assert error["code"] == "VALIDATION_ERROR"
    assert SECRET not in str(error)


@pytest.mark.rule("MNT-3")
async def test_a_flood_of_violations_stays_short() -> None:
    many = {"path": "/a", "labels": {f"{SECRET}{at}": "x" for at in range(5_000)}}
    error = error_in(await answer_of(tool_of(SCHEMA), many))
    assert len(error["message"]) < 2_000
    assert SECRET not in error["message"]


@pytest.mark.rule("MNT-1")
async def test_a_handler_gets_the_arguments_themselves() -> None:
    seen: list[Any] = []
    given = {"path": "/a", "tags": ["x"]}
    answer = await answer_of(tool_of(SCHEMA, lambda value, call: seen.append(value)), given)
    assert answer.outcome == "ok"
    assert seen == [given]


@pytest.mark.rule("MNT-7", "ACT-1")
async def test_a_handler_that_edits_its_arguments_does_not_edit_the_history() -> None:
    def handler(value: Any, call: CallContext) -> str:
        value["tags"].append("edited")
        return ",".join(value["tags"])

    run = mounted(tool_of(SCHEMA, handler)).mount(run_id="run-1")
    shared = {"path": "/a", "tags": ["x"]}
    answers = answers_in(await run.dispatch([turn(call("open", shared, id="a"), call("open", shared, id="b"))]))
    assert [text_in(answer) for answer in answers] == ["x,edited", "x,edited"]
    assert shared == {"path": "/a", "tags": ["x"]}


@pytest.mark.rule("CAT-1", "CAT-7")
def test_the_schema_is_kept_whole_and_cannot_be_changed_from_outside() -> None:
    schema = json.loads(json.dumps(SCHEMA))
    model = JsonSchemaInput(schema)
    schema["properties"].clear()
    model.json_schema["properties"].clear()
    assert model.json_schema == SCHEMA
    (entry,) = build_tool_manifest([tool_of(SCHEMA)])
    assert entry.input_schema == SCHEMA


@pytest.mark.parametrize(
    "schema", [{"default": float("nan")}, {"enum": {1, 2}}, {"x": object()}], ids=["nan", "set", "object"]
)
def test_a_schema_that_is_no_json_is_refused_at_once(schema: Any) -> None:
    with pytest.raises(ConfigurationError, match="schema: needs a JSON value"):
        JsonSchemaInput(schema)


def test_a_schema_that_is_no_schema_is_refused_and_the_place_is_named() -> None:
    model = JsonSchemaInput({"type": "object", "properties": {"a": {"type": SECRET}}})
    with pytest.raises(ConfigurationError, match=r"schema\.properties\.a\.type: is no valid JSON Schema") as raised:
        model.validate({})
    assert SECRET not in str(raised.value)


@pytest.mark.rule("MNT-3")
async def test_a_call_of_a_tool_whose_schema_is_none_is_internal() -> None:
    answer = await answer_of(tool_of({"type": "object", "properties": {"a": {"type": "nothing"}}}))
    assert answer.outcome == "INTERNAL"


class _Counting(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"type": "string"}')

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's own
        """Says nothing."""


@pytest.fixture
def remote() -> Iterator[tuple[str, type[_Counting]]]:
    """The address of a real server on this machine, and what counts its requests."""
    counting = type("Counting", (_Counting,), {"asked": 0})
    with ThreadingHTTPServer(("127.0.0.1", 0), counting) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/schema.json", counting
        server.shutdown()
        thread.join()


@pytest.mark.filterwarnings("ignore")
async def test_a_reference_to_another_host_is_never_fetched(remote: tuple[str, type[_Counting]]) -> None:
    address, counting = remote
    tool = tool_of({"type": "object", "properties": {"a": {"$ref": address}}})
    assert (await answer_of(tool, {"a": "a string"})).outcome == "INTERNAL"
    assert counting.asked == 0


@pytest.mark.filterwarnings("ignore")
async def test_a_reference_to_a_file_is_never_read(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "string"}')
    tool = tool_of({"type": "object", "properties": {"a": {"$ref": file.as_uri()}}})
    assert (await answer_of(tool, {"a": "a string"})).outcome == "INTERNAL"


@pytest.mark.rule("MNT-3")
async def test_a_call_of_a_tool_whose_schema_points_elsewhere_is_internal() -> None:
    answer = await answer_of(tool_of({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}), {"a": 1})
    assert answer.outcome == "INTERNAL"


@pytest.mark.rule("MNT-3")
async def test_arguments_that_nest_past_the_stack_do_not_break_a_run() -> None:
    deep: Any = {}
    for _ in range(50_000):
        deep = {"next": deep}
    answer = await answer_of(tool_of(SCHEMA), {"path": "/a", "some": deep})
    assert answer.outcome in {"VALIDATION_ERROR", "INTERNAL"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.rule("MNT-3")
@given(arguments=st.dictionaries(st.sampled_from(sorted(SCHEMA["properties"])), json_values))
@settings(max_examples=40, deadline=None)
def test_whatever_a_model_writes_is_given_back_or_rejected(arguments: dict[str, Any]) -> None:
    try:
        validated = JsonSchemaInput(SCHEMA).validate(arguments)
    except InputRejectedError as error:
        rejected = error
    else:
        assert validated == arguments
        return
    assert rejected.violations
