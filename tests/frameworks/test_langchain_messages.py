"""The dialect of LangChain's messages, held against LangChain's own types."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.utils.function_calling import convert_to_openai_tool

from surface import (
    Json,
    PartKind,
    ResourceLink,
    Surface,
    Text,
    TranscriptError,
    create_deferred_agent_tool_surface,
    tool,
)
from surface.adapters.langchain import LANGCHAIN_MESSAGES
from surface.adapters.langchain.messages import RECEIPT, latest_of, left_open, turn_of
from surface.call import CallAnswer
from surface.content import Audio, File, Image, Part
from surface.failure import failure_parts
from surface.testing import ScriptedRanker
from surface.transcript import Call, Result, Transcript

ASKED = HumanMessage("Please.")


@tool
def add(first: int, second: int = 0) -> int:
    """Adds two numbers."""
    return first + second


CONTROLLER = create_deferred_agent_tool_surface(
    application="test",
    surfaces=[Surface(key="desk", tools=[add])],
    dialect=LANGCHAIN_MESSAGES,
    ranker=ScriptedRanker(answers={"sum": ["add"]}),
)


def wrote(*ids: str | None, name: str = "add", args: dict[str, Any] | None = None) -> AIMessage:
    """What a model wrote: a call for each id."""
    return AIMessage("", tool_calls=[{"name": name, "args": args or {}, "id": each} for each in ids])


def done(call_id: str, content: Any = "done", **more: Any) -> ToolMessage:
    """The record of a call."""
    return ToolMessage(content=content, tool_call_id=call_id, **more)


def ids(messages: list[Any]) -> list[list[str]]:
    """The ids of the calls of each step."""
    return [[call.id for call in step.calls] for step in LANGCHAIN_MESSAGES.read(messages).steps]


def only_result(message: ToolMessage) -> Result:
    """What is read of one record."""
    (step,) = LANGCHAIN_MESSAGES.read([wrote("a"), message]).steps
    return step.results["a"]


def answered(*parts: Part, outcome: str = "ok") -> ToolMessage:
    """The message of an answer without a receipt, as it comes back from a store."""
    made = LANGCHAIN_MESSAGES.answer([CallAnswer(call_id="a", tool="add", parts=parts, outcome=outcome)])
    (message,) = messages_from_dict(json.loads(json.dumps(messages_to_dict(made))))
    assert isinstance(message, ToolMessage)
    assert message == made[0]
    return message


@pytest.mark.rule("ACT-1")
def test_turns_calls_and_results_are_read_and_prompts_leave_no_trace() -> None:
    messages = [
        SystemMessage("Be brief."),
        ASKED,
        wrote("a", "b", args={"first": 1}),
        done("b", "two"),
        done("a", "one", status="error"),
        AIMessage("Well."),
        ASKED,
        wrote("c"),
    ]
    first, said, last = LANGCHAIN_MESSAGES.read(messages).steps
    assert first.calls == tuple(Call(id=each, name="add", arguments={"first": 1}) for each in "ab")
    assert dict(first.results) == {"b": Result(text="two"), "a": Result(text="one", failed=True)}
    assert (first.passed_over, first.unanswered) == (False, ())
    assert (said.calls, said.passed_over) == ((), True)
    assert (last.passed_over, [call.id for call in last.unanswered]) == (False, ["c"])


@pytest.mark.rule("ACT-1")
def test_a_streamed_turn_and_consecutive_messages_of_the_model_are_one_turn() -> None:
    chunk: Any = {"name": "add", "args": '{"first": 1}', "id": "b", "index": 0}
    streamed = AIMessageChunk(content="", tool_call_chunks=[chunk])
    assert ids([ASKED, wrote("a"), streamed, done("a")]) == [["a", "b"]]
    assert [call.arguments for call in LANGCHAIN_MESSAGES.read([streamed]).unanswered] == [{"first": 1}]


def test_what_is_neither_of_a_model_nor_of_a_tool_ends_the_turn_for_good() -> None:
    for other in (ASKED, SystemMessage("Be brief."), FunctionMessage(content="old", name="add")):
        (step,) = LANGCHAIN_MESSAGES.read([wrote("a"), other]).steps
        assert step.passed_over
        with pytest.raises(TranscriptError, match="something follows"):
            _ = LANGCHAIN_MESSAGES.read([wrote("a"), other]).unanswered


def test_no_messages_are_no_steps_and_any_sequence_will_do() -> None:
    assert LANGCHAIN_MESSAGES.read([]) == Transcript()
    assert ids([wrote("a")]) == [[call.id for call in LANGCHAIN_MESSAGES.read((wrote("a"),)).steps[0].calls]]


@pytest.mark.parametrize("given", ["Please.", b"Please.", None, 5, {"messages": []}, iter(()), ASKED])
def test_what_is_no_list_of_messages_is_refused(given: Any) -> None:
    with pytest.raises(TranscriptError, match=r"^messages: needs a list of LangChain messages$"):
        LANGCHAIN_MESSAGES.read(given)


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([ASKED, {"role": "user", "content": "hunter2"}], "messages.1: needs a LangChain message, not a dict"),
        (["hunter2"], "messages.0: needs a LangChain message, not a str"),
        ([ASKED, wrote("a", None)], "messages.1.tool_calls.1: a call needs an id; make your model give one"),
        ([wrote("")], "messages.0.tool_calls.0: a call needs an id; make your model give one"),
        ([wrote("a", "a")], "messages: one assistant turn holds two tool calls with the same id"),
    ],
)
def test_a_message_that_cannot_be_read_is_named_with_what_it_lacks(messages: list[Any], told: str) -> None:
    with pytest.raises(TranscriptError) as refused:
        LANGCHAIN_MESSAGES.read(messages)
    assert str(refused.value) == told


@pytest.mark.rule("RCP-7")
@pytest.mark.parametrize(
    ("content", "artifact", "text"),
    [
        ("visible", {RECEIPT: "hidden"}, "hidden"),
        ([{"type": "image", "base64": ""}], {RECEIPT: "hidden"}, "hidden"),
        ("visible", {RECEIPT: None}, "visible"),
        ("visible", {RECEIPT: {"kind": "no text"}}, "visible"),
        ("visible", {"other": "hidden"}, "visible"),
        ("visible", RECEIPT, "visible"),
        ("visible", [RECEIPT], "visible"),
        ("visible", None, "visible"),
        ([{"type": "text", "text": "one"}], None, "one"),
        (["one"], None, None),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], None, None),
        ([{"type": "reasoning", "text": "one"}], None, None),
        ([], None, None),
    ],
)
def test_a_receipt_is_looked_for_in_the_hidden_part_and_else_in_a_record_of_one_text(
    content: Any, artifact: Any, text: str | None
) -> None:
    assert only_result(done("a", content, artifact=artifact)).text == text


@pytest.mark.rule("RCP-2")
def test_an_artifact_that_only_behaves_like_a_dictionary_is_not_asked_for_a_receipt() -> None:
    class Odd(dict[str, Any]):
        def get(self, *_: Any) -> Any:
            raise AssertionError("was asked")

    assert only_result(done("a", "visible", artifact=Odd({RECEIPT: "hidden"}))).text == "visible"


@pytest.mark.rule("RCP-7", "RCP-6")
async def test_a_search_is_answered_with_a_projection_for_the_model_and_the_whole_receipt_beside_it() -> None:
    run = CONTROLLER.mount(run_id="run-1", surface="desk")
    asked = wrote("a", name="search_tools", args={"query": "sum"})
    (message,) = await run.dispatch([ASKED, asked])
    receipt = json.loads(message.artifact[RECEIPT])
    shown = json.loads(message.content)
    assert list(message.artifact) == [RECEIPT]
    assert (message.name, message.tool_call_id, message.status) == ("search_tools", "a", "success")
    assert (receipt["selected"], receipt["run_id"]) == (["add"], "run-1")
    assert shown["status"] == receipt["status"] == "SELECTED"
    assert not {"digests", "run_id", "provenance"} & shown.keys()
    assert (await run.prepare_step([ASKED, asked, message])).names == ("search_tools", "add")


@pytest.mark.rule("REP-1", "MNT-3")
async def test_a_failure_is_marked_as_one_and_so_is_the_answer_to_an_inactive_call() -> None:
    run = CONTROLLER.mount(run_id="run-1", surface="desk")
    inactive, unknown = await run.dispatch([wrote("a"), wrote("b", name="nobody")])
    assert (inactive.status, json.loads(inactive.content)["status"]) == ("error", "SEARCH_REQUIRED")
    assert RECEIPT in inactive.artifact
    assert (unknown.status, unknown.artifact, unknown.name) == ("error", None, "nobody")
    assert json.loads(unknown.content)["error"]["code"] == "UNKNOWN_TOOL"
    # A record that is told as a failure still repairs the call it is of.
    assert (await run.prepare_step([wrote("a"), inactive])).names == ("search_tools", "add")


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize(
    ("parts", "content"),
    [
        ([], ""),
        ([Text(text="seen")], "seen"),
        ([Json(value={"b": 1, "a": [None]})], '{"a":[null],"b":1}'),
        (
            [ResourceLink(uri="file:///a", name="A")],
            '{"media_type":null,"name":"A","type":"resource_link","uri":"file:///a"}',
        ),
        ([Text(text="one"), Text(text="two")], [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
    ],
)
def test_one_text_is_the_content_and_several_parts_are_blocks(parts: list[Part], content: Any) -> None:
    assert answered(*parts).content == content


@pytest.mark.rule("MNT-6")
def test_every_kind_of_part_is_a_standard_block_of_langchains_in_its_place() -> None:
    assert LANGCHAIN_MESSAGES.carries == frozenset(PartKind)
    parts: list[Part] = [
        Image(data=b"\x89PNG", media_type="image/png"),
        Text(text="Look:"),
        Audio(data=b"RIFF", media_type="audio/wav"),
        File(data=b"%PDF", media_type="application/pdf", name="page.pdf"),
    ]
    message = answered(*parts)
    assert message.content == [
        {"type": "image", "base64": base64.b64encode(b"\x89PNG").decode(), "mime_type": "image/png"},
        {"type": "text", "text": "Look:"},
        {"type": "audio", "base64": base64.b64encode(b"RIFF").decode(), "mime_type": "audio/wav"},
        {
            "type": "file",
            "base64": base64.b64encode(b"%PDF").decode(),
            "mime_type": "application/pdf",
            "filename": "page.pdf",
        },
    ]
    # LangChain reads each as the block that it is, and not as one of no standard.
    assert [block["type"] for block in message.content_blocks] == ["image", "text", "audio", "file"]
    assert [block["type"] for block in answered(parts[0]).content_blocks] == ["image"]


@pytest.mark.rule("MNT-3")
def test_a_failed_answer_is_an_error_of_langchains_and_reads_as_one() -> None:
    message = answered(*failure_parts("REFUSED", "Not today."), outcome="REFUSED")
    assert message.status == "error"
    assert only_result(message) == Result(text='{"error":{"code":"REFUSED","message":"Not today."}}', failed=True)
    assert answered(Text(text="fine")).status == "success"


@pytest.mark.rule("CAT-7")
def test_what_is_advertised_reads_as_the_catalog_says_and_is_not_built_anew() -> None:
    made = CONTROLLER.registry.surface("desk")
    entries = [made.search, made.entry("add")]
    tools = LANGCHAIN_MESSAGES.advertise(entries)
    described = [convert_to_openai_tool(each)["function"] for each in tools]
    assert [each["name"] for each in described] == ["search_tools", "add"]
    assert [each["description"] for each in described] == [entry.description for entry in entries]
    assert [each["parameters"]["properties"].keys() for each in described] == [{"query"}, {"first", "second"}]
    again = LANGCHAIN_MESSAGES.advertise(iter(entries))
    assert all(one is other for one, other in zip(tools, again, strict=True))


@pytest.mark.rule("REP-2")
@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_advertised_runs_nothing_where_the_gate_is_missing(*, is_async: bool) -> None:
    (closed,) = LANGCHAIN_MESSAGES.advertise([CONTROLLER.registry.surface("desk").entry("add")])
    with pytest.raises(RuntimeError, match=r"^tool add runs only behind the gate: add the DeferredTools middleware"):
        _ = asyncio.run(closed.ainvoke({"first": 1})) if is_async else closed.invoke({"first": 1})


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize(
    ("messages", "open_ids"),
    [
        ([], []),
        ([ASKED], []),
        ([wrote("a", "b"), done("a")], ["b"]),
        ([wrote("a"), done("a")], []),
        ([wrote("a"), ASKED], []),
        ([wrote("a"), ASKED, wrote("b")], ["b"]),
        ([wrote("a"), ASKED, AIMessage("Well.")], []),
    ],
)
def test_open_are_the_calls_that_the_messages_end_with(messages: list[Any], open_ids: list[str]) -> None:
    assert [call.id for call in left_open(messages)] == open_ids


@pytest.mark.rule("MNT-9", "REP-2")
def test_an_id_that_served_an_earlier_turn_is_that_of_the_last_message_that_holds_or_answers_it() -> None:
    earlier, answer, later = wrote("a", "b"), done("a"), wrote("b", "c")
    messages = [ASKED, earlier, answer, done("b"), later]
    assert [turn_of(messages, each) for each in "abc"] == [1, 4, 4]
    assert [latest_of(messages, each) for each in "abc"] == [answer, later, later]
    assert latest_of([*messages, done("c")], "b") is later
    assert latest_of(messages, "d") is None


@pytest.mark.parametrize("messages", [[], [ASKED, done("a"), AIMessage("a")], [wrote("b")]])
def test_a_call_that_no_message_holds_belongs_to_no_turn(messages: list[Any]) -> None:
    with pytest.raises(TranscriptError, match=r"^messages: the state holds no AIMessage with the call"):
        turn_of(messages, "a")


def test_what_is_wrong_with_a_turn_is_told_with_its_place_among_all_messages() -> None:
    with pytest.raises(TranscriptError, match=r"^messages\.2\.tool_calls\.1: a call needs an id"):
        turn_of([ASKED, wrote("b"), wrote("a", None)], "a")
