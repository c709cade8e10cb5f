"""The dialect of OpenAI's Responses, held against the SDK's own types."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import (
    FunctionToolParam,
    ResponseCustomToolCall,
    ResponseFunctionToolCall,
    ResponseFunctionToolCallOutputItem,
    ResponseFunctionWebSearch,
    ResponseInputItemParam,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import TypeAdapter

from surface import (
    DialectError,
    File,
    Image,
    PartKind,
    PreparedStep,
    Presenter,
    ResourceLink,
    StepChanges,
    Text,
    Tool,
    TranscriptError,
    mount_agent,
    tool,
)
from surface.adapters.openai_responses import OPENAI_RESPONSES, request
from surface.call import CallAnswer
from surface.content import Part
from surface.failure import failure_parts
from surface.transcript import UNPARSABLE, Call, Result

MARKER = "zyzzyva"
ASKED: dict[str, Any] = {"role": "user", "content": "Hi"}
OUTPUTS = TypeAdapter(list[FunctionCallOutput])


@tool
def add(first: int, second: int = 0) -> int:
    """Adds two numbers."""
    return first + second


def wrote(call_id: str, name: str = "add", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


def result(call_id: str, output: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def turns(*items: Any) -> list[list[str]]:
    """The call ids of each step."""
    return [[call.id for call in step.calls] for step in OPENAI_RESPONSES.read(items).steps]


def unanswered(*items: Any) -> list[str]:
    return [call.id for call in OPENAI_RESPONSES.read(items).unanswered]


def the_result(*items: Any) -> Result:
    (step,) = OPENAI_RESPONSES.read(items).steps
    (recorded,) = step.results.values()
    return recorded


THINKING = ResponseReasoningItem(id="rs_1", type="reasoning", summary=[])
SAID = ResponseOutputMessage(
    id="msg_1",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="One moment.", annotations=[])],
)
SEARCHED_THE_WEB = ResponseFunctionWebSearch(
    id="ws_1", type="web_search_call", status="completed", action=ActionSearch(type="search", query="tools")
)


def sdk_call(call_id: str, name: str = "add", arguments: str = "{}", **more: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id=call_id, name=name, arguments=arguments, status="completed", **more
    )


def test_a_response_reads_the_same_from_the_sdk_s_objects_from_their_dumps_and_from_dictionaries() -> None:
    output = [THINKING, SAID, sdk_call("c1", arguments='{"first": 1}')]
    expected = OPENAI_RESPONSES.read([ASKED, wrote("c1", arguments='{"first": 1}')])
    assert expected.unanswered == (Call(id="c1", name="add", arguments={"first": 1}),)
    assert OPENAI_RESPONSES.read([ASKED, *output]) == expected
    assert OPENAI_RESPONSES.read([ASKED, *(each.model_dump() for each in output)]) == expected
    assert OPENAI_RESPONSES.read([ASKED, *(each.to_dict() for each in output)]) == expected


def test_reasoning_text_and_the_provider_s_own_calls_between_parallel_calls_leave_them_one_turn() -> None:
    items = [ASKED, THINKING, sdk_call("c1"), SEARCHED_THE_WEB, THINKING, SAID, sdk_call("c2"), result("c2")]
    assert turns(*items) == [["c1", "c2"]]
    assert unanswered(*items) == ["c1"]


@pytest.mark.parametrize(
    "kind", ["shell_call_output", "tool_search_output", "program_output", "something_new_output", "mcp_list_tools"]
)
def test_an_item_that_a_provider_may_write_within_a_response_does_not_cut_the_turn(kind: str) -> None:
    assert turns(ASKED, wrote("c1"), item(kind), wrote("c2")) == [["c1", "c2"]]
    assert unanswered(ASKED, wrote("c1"), wrote("c2"), result("c1"), item("program_output")) == ["c2"]


@pytest.mark.parametrize(
    "kind",
    [
        "additional_tools",
        "apply_patch_call_output",
        "compaction_trigger",
        "computer_call_output",
        "configuration_update",
        "custom_tool_call_output",
        "local_shell_call_output",
        "mcp_approval_response",
    ],
)
def test_an_item_that_only_an_application_writes_ends_the_turn_and_begins_none(kind: str) -> None:
    written = item(kind, role="developer") if kind == "additional_tools" else item(kind)
    assert turns(ASKED, written, wrote("c1"), written, wrote("c2")) == [["c1"], ["c2"]]
    assert unanswered(ASKED, wrote("c1"), wrote("c2"), result("c1"), written) == ["c2"]


def test_every_item_that_the_sdk_knows_is_read_and_none_becomes_a_call_of_ours() -> None:
    kinds = {
        kind
        for schema in TypeAdapter(ResponseInputItemParam).json_schema()["$defs"].values()
        for kind in [schema.get("properties", {}).get("type", {}).get("const")]
        if isinstance(kind, str) and kind.endswith(("_call", "_output", "_request", "_response", "_tools"))
    } - {"function_call", "function_call_output"}
    assert len(kinds) > 15
    for kind in sorted(kinds):
        transcript = OPENAI_RESPONSES.read([ASKED, item(kind, call_id="c1", name="add", arguments="{}"), ASKED])
        assert all(not step.calls for step in transcript.steps), kind


def test_prompts_leave_no_trace_and_a_text_only_turn_is_a_step_without_calls() -> None:
    items = [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "And kind."}]},
        ASKED,
        {"role": "assistant", "content": "Hello."},
        ASKED,
        SAID,
    ]
    assert turns(*items) == [[], []]


def test_a_call_of_a_custom_tool_is_the_application_s_own_and_passed_over() -> None:
    custom = ResponseCustomToolCall(type="custom_tool_call", call_id="c1", name="add", input="1 + 1")
    assert turns(ASKED, custom, item("custom_tool_call_output", call_id="c1", output="2"), sdk_call("c2")) == [
        [],
        ["c2"],
    ]


@pytest.mark.rule("REP-3")
async def test_a_function_called_in_a_namespace_is_none_of_ours_and_honestly_unknown() -> None:
    run = mount_agent([add], dialect=OPENAI_RESPONSES).mount(run_id="run-1")
    answers = await run.dispatch([ASKED, sdk_call("c1", arguments='{"first": 1}', namespace="crm")])
    assert json.loads(answers[0]["output"])["error"]["code"] == "UNKNOWN_TOOL"
    assert unanswered(ASKED, wrote("c1", namespace="crm"), *answers) == []


def test_one_turn_with_two_calls_of_one_id_is_refused() -> None:
    with pytest.raises(TranscriptError, match="two tool calls with the same id"):
        OPENAI_RESPONSES.read([wrote("c1"), wrote("c1")])


@pytest.mark.parametrize(
    "orphan", [result("c9"), result(""), {"type": "function_call_output", "output": "x"}, result("c2")]
)
def test_an_output_whose_call_is_not_there_says_to_send_the_whole_transcript(orphan: dict[str, Any]) -> None:
    with pytest.raises(TranscriptError, match=r"items\.2\.call_id: .*previous_response_id.*send the whole transcript"):
        OPENAI_RESPONSES.read([ASKED, wrote("c1"), orphan, wrote("c2")])


@pytest.mark.parametrize("reference", [item("item_reference", id="fc_1"), {"id": "fc_1", "type": None}, {"id": "fc_1"}])
def test_an_item_reference_is_refused_because_it_hides_history(reference: dict[str, Any]) -> None:
    with pytest.raises(TranscriptError, match=r"items\.1: an item reference hides history"):
        OPENAI_RESPONSES.read([ASKED, reference])


@pytest.mark.parametrize(
    ("items", "named"),
    [
        ("Hi", "needs a list"),
        ([42], r"items\.0\.type"),
        ([ASKED, {"content": "Hi"}], r"items\.1\.type"),
        ([{"type": "function_call", "name": "add", "arguments": "{}"}], r"items\.0: .*call_id"),
        ([{"type": "function_call", "call_id": "c1", "arguments": "{}"}], r"items\.0: .*name"),
        ([{"role": "robot", "content": "Hi"}], r"items\.0\.role"),
        ([{"role": "tool", "tool_call_id": "c1", "content": "done"}], "Chat Completions"),
        ([{"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]}], "Chat Completions"),
    ],
)
def test_items_of_another_form_are_refused_and_the_error_names_the_place(items: Any, named: str) -> None:
    with pytest.raises(TranscriptError, match=named):
        OPENAI_RESPONSES.read(items)


def test_the_text_of_an_output_counts_only_where_it_is_the_only_content() -> None:
    receipt = {"type": "input_text", "text": "receipt"}
    recorded = ResponseFunctionToolCallOutputItem.model_validate(
        {**result("c1", [receipt]), "id": "fo_1", "status": "completed"}
    )
    assert the_result(wrote("c1"), result("c1", "receipt")).text == "receipt"
    assert the_result(wrote("c1"), result("c1", [receipt])).text == "receipt"
    assert the_result(wrote("c1"), recorded).text == "receipt"
    assert the_result(wrote("c1"), result("c1", [receipt, receipt])).text is None
    assert the_result(wrote("c1"), result("c1", [{"type": "input_image", "text": "receipt"}])).text is None
    assert the_result(wrote("c1"), result("c1", None)).text is None


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    "arguments",
    [
        f'{{"first": "{MARKER}"',
        f'{{"first": NaN, "second": "{MARKER}"}}',
        f'{{"first": 1e999, "second": "{MARKER}"}}',
        "[" * 100_000,
    ],
)
async def test_arguments_that_are_no_json_are_answered_without_a_receipt_or_a_value(arguments: str) -> None:
    assert OPENAI_RESPONSES.read([wrote("c1", arguments=arguments)]).unanswered[0].arguments is UNPARSABLE
    run = mount_agent([add], dialect=OPENAI_RESPONSES).mount(run_id="run-1")
    (answer,) = await run.dispatch([ASKED, wrote("c1", arguments=arguments)])
    assert json.loads(answer["output"])["error"]["code"] == "VALIDATION_ERROR"
    assert MARKER not in answer["output"]
    assert len(answer["output"]) < 500


async def test_a_call_runs_and_its_output_is_an_item_that_the_sdk_accepts() -> None:
    run = mount_agent([add], dialect=OPENAI_RESPONSES).mount(run_id="run-1")
    items = [ASKED, sdk_call("c1", arguments='{"first": 1, "second": 2}'), sdk_call("c2", "nope")]
    answers = await run.dispatch(items)
    assert [answer["call_id"] for answer in OUTPUTS.validate_python(answers)] == ["c1", "c2"]
    assert answers[0]["output"] == "3"
    read = OPENAI_RESPONSES.read([*items, *answers])
    assert read.unanswered == ()
    assert [recorded.failed for recorded in read.steps[0].results.values()] == [False, True]


async def test_the_advertised_tools_are_what_the_sdk_declares() -> None:
    step = await mount_agent([add], dialect=OPENAI_RESPONSES).mount(run_id="run-1").prepare_step([])
    (advertised,) = TypeAdapter(list[FunctionToolParam]).validate_python(step.tools)
    assert advertised["name"] == "add"
    assert advertised["strict"] is False  # `second` is optional, which a strict schema has no form for
    assert advertised["parameters"] == {
        "type": "object",
        "properties": {"first": {"type": "integer"}, "second": {"type": "integer", "default": 0}},
        "required": ["first"],
        "additionalProperties": False,
    }


@pytest.mark.rule("CAT-7")
def test_a_name_that_the_provider_cannot_carry_is_refused_at_mount_and_named() -> None:
    long = tool(name="n" * 65)(lambda: None)
    dotted = tool(name="shop.add")(lambda: None)
    with pytest.raises(DialectError) as refused:
        mount_agent([long, dotted, tool(name="f" * 64)(lambda: None)], dialect=OPENAI_RESPONSES)
    assert "n" * 65 in str(refused.value)
    assert "shop.add" in str(refused.value)
    assert "fff" not in str(refused.value)


def presenting(*parts: Part, kind: PartKind) -> Tool:
    def show() -> str:
        """Shows something."""
        return "shown"

    return tool(output=str, presenter=Presenter(kinds=frozenset({kind}), present=lambda _: parts))(show)


@pytest.mark.rule("MNT-6")
def test_audio_is_refused_at_mount() -> None:
    with pytest.raises(DialectError, match="show: its presenter makes audio parts"):
        mount_agent([presenting(kind=PartKind.AUDIO)], dialect=OPENAI_RESPONSES)


@pytest.mark.rule("MNT-6")
def test_text_images_files_and_links_survive_in_order() -> None:
    parts = (
        Text(text="seen"),
        Image(data=b"\x89PNG\x00\xff", media_type="image/png"),
        File(data=b"%PDF-1.4", media_type="application/pdf", name="page.pdf"),
        ResourceLink(uri="file:///a", name="a"),
    )
    written = OPENAI_RESPONSES.answer([CallAnswer(call_id="c1", tool="show", parts=parts, outcome="ok")])
    OUTPUTS.validate_python(written)
    text, image, file, link = written[0]["output"]
    assert text == {"type": "input_text", "text": "seen"}
    assert image["image_url"].startswith("data:image/png;base64,")
    assert b64decode(image["image_url"].partition(",")[2]) == b"\x89PNG\x00\xff"
    assert (file["filename"], b64decode(file["file_data"].partition(",")[2])) == ("page.pdf", b"%PDF-1.4")
    assert json.loads(link["text"])["uri"] == "file:///a"


@pytest.mark.rule("MNT-6")
async def test_a_single_image_is_a_list_of_one_and_no_part_at_all_is_an_empty_text() -> None:
    image = Image(data=b"\x89PNG", media_type="image/png")
    for parts, expected in (((image,), "input_image"), ((), None)):
        run = mount_agent([presenting(*parts, kind=PartKind.IMAGE)], dialect=OPENAI_RESPONSES).mount(run_id="run-1")
        (answer,) = OUTPUTS.validate_python(await run.dispatch([ASKED, wrote("c1", "show")]))
        if expected is None:
            assert answer["output"] == ""
        else:
            assert [part["type"] for part in answer["output"]] == [expected]  # type: ignore[index]


def test_no_answers_are_no_items() -> None:
    assert OPENAI_RESPONSES.answer([]) == []


def test_a_failure_is_told_from_a_result_by_its_form() -> None:
    failed = CallAnswer(call_id="c1", tool="add", parts=failure_parts("REFUSED", "Not today."), outcome="REFUSED")
    assert the_result(wrote("c1"), *OPENAI_RESPONSES.answer([failed])).failed
    assert not the_result(wrote("c1"), result("c1")).failed


async def prepared(**changes: Any) -> PreparedStep:
    step = await mount_agent([add], dialect=OPENAI_RESPONSES).mount(run_id="run-1").prepare_step([])
    return PreparedStep(tools=step.tools, names=step.names, activation=None, changes=StepChanges(**changes))


async def test_a_request_holds_the_whole_transcript_and_the_step_s_tools_and_is_one_the_sdk_accepts() -> None:
    items = [ASKED, {"role": "assistant", "content": "Hello."}]
    made = request(await prepared(), items, model="gpt", temperature=0.5, previous_response_id=None)
    accepted = TypeAdapter(ResponseCreateParamsNonStreaming).validate_python(made)
    assert made["input"] == items
    assert [each["name"] for each in made["tools"]] == ["add"]
    assert accepted["temperature"] == 0.5


@pytest.mark.parametrize("name", ["previous_response_id", "conversation"])
async def test_a_request_refuses_to_keep_the_history_on_the_provider_s_side(name: str) -> None:
    with pytest.raises(TranscriptError, match=f"{name}: .*send the whole transcript"):
        request(await prepared(), [ASKED], **{name: "id_1"})
    with pytest.raises(TranscriptError, match=name):
        request(await prepared(model_settings={name: {"id": "id_1"}}), [ASKED])


async def test_other_tools_of_a_request_stand_behind_the_step_s_own() -> None:
    made = request(await prepared(), [ASKED], tools=[{"type": "web_search"}])
    assert [each.get("name", each["type"]) for each in made["tools"]] == ["add", "web_search"]


@pytest.mark.rule("ACT-7")
async def test_what_the_application_s_own_step_asked_for_is_in_the_request() -> None:
    step = await prepared(
        instructions="Be brief.", messages=[{"role": "user", "content": "Only this"}], model_settings={"temperature": 0}
    )
    made = request(step, [ASKED], model="gpt", temperature=1, instructions="Be long.")
    assert (made["instructions"], made["temperature"], made["model"]) == ("Be brief.", 0, "gpt")
    assert made["input"] == [{"role": "user", "content": "Only this"}]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4)
KINDS = st.sampled_from(
    ["message", "function_call", "function_call_output", "reasoning", "item_reference", "shell_call_output"]
)
KEYS = st.sampled_from(["type", "role", "content", "call_id", "name", "arguments", "output", "id", "text", "namespace"])
JUNK = st.recursive(
    SCALARS | KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
IDS = st.sampled_from(["c1", "c2", ""]) | SCALARS
ITEMS = st.fixed_dictionaries(
    {"type": KINDS | SCALARS},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool"]) | SCALARS,
        "call_id": IDS,
        "name": st.sampled_from(["add"]) | SCALARS,
        "arguments": st.sampled_from(["{}", "{", "NaN"]) | SCALARS,
        "output": JUNK,
        "content": JUNK,
        "namespace": SCALARS,
        "id": IDS,
    },
)


@settings(max_examples=150)
@given(st.lists(ITEMS | JUNK, max_size=5) | JUNK)
def test_whatever_the_items_are_they_give_a_transcript_or_a_transcript_error(items: Any) -> None:
    try:
        transcript = OPENAI_RESPONSES.read(items)
    except TranscriptError:
        return
    assert all(call.id and isinstance(call.name, str) for step in transcript.steps for call in step.calls)
    assert all(step.results.keys() <= {call.id for call in step.calls} for step in transcript.steps)
