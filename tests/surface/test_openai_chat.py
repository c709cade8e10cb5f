"""The dialect of OpenAI's Chat Completions, held against the SDK's own types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage, ChatCompletionToolMessageParam, ChatCompletionToolParam
from openai.types.chat.chat_completion_message_custom_tool_call import (
    ChatCompletionMessageCustomToolCall,
    Custom,
)
from openai.types.chat.chat_completion_message_function_tool_call import (
    ChatCompletionMessageFunctionToolCall,
    Function,
)
from pydantic import TypeAdapter

from surface import (
    DialectError,
    Json,
    PartKind,
    Presenter,
    ResourceLink,
    Text,
    Tool,
    TranscriptError,
    mount_agent,
    tool,
)
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.call import CallAnswer, Outcome
from surface.catalog import ManifestEntry
from surface.failure import failure_parts
from surface.transcript import UNPARSABLE, Call, Result, Transcript

MARKER = "zyzzyva"


@tool
def add(first: int, second: int = 0) -> int:
    """Adds two numbers."""
    return first + second


def sdk_call(call_id: str, name: str, arguments: str) -> ChatCompletionMessageFunctionToolCall:
    return ChatCompletionMessageFunctionToolCall(
        id=call_id, type="function", function=Function(name=name, arguments=arguments)
    )


def wrote(*calls: tuple[str, str, str]) -> dict[str, Any]:
    written = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": written}


def result(call_id: str, content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def only_step(transcript: Transcript) -> tuple[tuple[Call, ...], dict[str, Result]]:
    (step,) = transcript.steps
    return step.calls, dict(step.results)


def test_a_turn_reads_the_same_from_the_sdk_s_object_from_its_dump_and_from_a_dictionary() -> None:
    message = ChatCompletionMessage(
        role="assistant", content="Let me see.", tool_calls=[sdk_call("c1", "add", '{"first": 1}')]
    )
    plain = wrote(("c1", "add", '{"first": 1}'))
    expected = Transcript(steps=OPENAI_CHAT.read([plain]).steps)
    assert expected.unanswered == (Call(id="c1", name="add", arguments={"first": 1}),)
    assert OPENAI_CHAT.read([message]) == expected
    assert OPENAI_CHAT.read([message.model_dump()]) == expected
    assert OPENAI_CHAT.read([message.model_dump(exclude_unset=True)]) == expected


def test_parallel_calls_of_a_partially_answered_turn_leave_the_others_unanswered_in_the_order_written() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        wrote(("c1", "add", "{}"), ("c2", "add", "{}"), ("c3", "sub", "{}")),
        result("c2"),
    ]
    calls, results = only_step(OPENAI_CHAT.read(messages))
    assert [call.id for call in calls] == ["c1", "c2", "c3"]
    assert results == {"c2": Result(text="done", failed=False)}
    assert [call.id for call in OPENAI_CHAT.read(messages).unanswered] == ["c1", "c3"]


def test_a_text_only_turn_is_a_step_without_calls_and_prompts_leave_no_trace() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "And kind."}]},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": None, "refusal": "No."},
    ]
    assert [step.calls for step in OPENAI_CHAT.read(messages).steps] == [(), ()]


def test_consecutive_assistant_messages_are_one_turn() -> None:
    messages = [{"role": "assistant", "content": "One moment."}, wrote(("c1", "add", "{}")), wrote(("c2", "add", "{}"))]
    calls, _ = only_step(OPENAI_CHAT.read(messages))
    assert [call.id for call in calls] == ["c1", "c2"]


def test_a_call_id_that_a_provider_uses_again_in_a_later_turn_belongs_to_that_turn() -> None:
    messages = [wrote(("call_0", "add", "{}")), result("call_0", "first"), wrote(("call_0", "add", "{}"))]
    assert [call.id for call in OPENAI_CHAT.read(messages).unanswered] == ["call_0"]


def test_one_turn_with_two_calls_of_one_id_is_refused() -> None:
    with pytest.raises(TranscriptError, match="two tool calls with the same id"):
        OPENAI_CHAT.read([wrote(("c1", "add", "{}"), ("c1", "add", "{}"))])


def test_a_call_of_a_custom_tool_is_the_application_s_own_and_passed_over() -> None:
    custom = ChatCompletionMessageCustomToolCall(id="c1", type="custom", custom=Custom(name="python", input="print(1)"))
    message = ChatCompletionMessage(
        role="assistant", content=None, tool_calls=[custom, sdk_call("c2", "add", '{"first": 2}')]
    )
    assert [call.id for call in OPENAI_CHAT.read([message, result("c1")]).unanswered] == ["c2"]


def test_the_text_of_a_result_counts_only_where_it_is_the_only_content() -> None:
    def text_of(content: Any) -> str | None:
        _, results = only_step(OPENAI_CHAT.read([wrote(("c1", "add", "{}")), result("c1", content)]))
        return results["c1"].text

    assert text_of("receipt") == "receipt"
    assert text_of([{"type": "text", "text": "receipt"}]) == "receipt"
    assert text_of([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) is None
    assert text_of([{"type": "image_url", "text": "receipt"}]) is None
    assert text_of(None) is None
    assert text_of([]) is None


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ("Hi", "needs a list"),
        ([42], "messages.0.role"),
        ([{"role": "user", "content": "Hi"}, {"content": "?"}], "messages.1.role"),
        ([{"role": "robot"}], "messages.0.role"),
        ([{"role": "assistant", "tool_calls": "add"}], "messages.0.tool_calls"),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "add"}}]}], "messages.0.tool_calls.0"),
        ([{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function"}]}], "messages.0.tool_calls.0"),
        ([{"role": "tool", "content": "done"}], "messages.0.tool_call_id"),
        ([{"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}], "messages.0.role"),
    ],
)
def test_messages_of_another_form_are_refused_and_the_error_names_the_place(messages: Any, named: str) -> None:
    with pytest.raises(TranscriptError, match=named):
        OPENAI_CHAT.read(messages)


@pytest.mark.parametrize(
    "arguments",
    [
        "{",
        f'{{"first": "{MARKER}"',
        "NaN",
        '{"first": NaN}',
        '{"first": -Infinity}',
        '{"first": 1e999}',
        "9" * 5_000,
        "[" * 100_000,
    ],
)
def test_an_argument_string_that_is_no_json_is_marked(arguments: str) -> None:
    (call,) = OPENAI_CHAT.read([wrote(("c1", "add", arguments))]).unanswered
    assert call.arguments is UNPARSABLE


def test_no_argument_string_is_no_arguments_and_no_string_at_all_is_unparsable() -> None:
    (empty,) = OPENAI_CHAT.read([wrote(("c1", "add", "  "))]).unanswered
    (absent,) = OPENAI_CHAT.read(
        [{"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "add"}}]}]
    ).unanswered
    assert empty.arguments == {}
    assert absent.arguments is UNPARSABLE


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    "arguments",
    [
        f'{{"first": "{MARKER}"',
        f'{{"first": "{MARKER}"}}',
        f'{{"{MARKER}": 1}}',
        f'["{MARKER}"]',
        f'"{MARKER}"',
        "null",
        f'{{"first": NaN, "second": "{MARKER}"}}',
        '{"first": ' + "[" * 900 + "]" * 900 + "}",
    ],
)
async def test_arguments_that_break_the_input_model_are_answered_without_showing_a_value(arguments: str) -> None:
    run = mount_agent([add], dialect=OPENAI_CHAT).mount(run_id="run-1")
    (answer,) = await run.dispatch([wrote(("c1", "add", arguments))])
    assert json.loads(answer["content"])["error"]["code"] == "VALIDATION_ERROR"
    assert MARKER not in answer["content"]
    assert len(answer["content"]) < 500


async def test_a_call_runs_and_its_answer_is_a_tool_message_that_the_sdk_accepts() -> None:
    run = mount_agent([add], dialect=OPENAI_CHAT).mount(run_id="run-1")
    messages = [wrote(("c1", "add", '{"first": 1, "second": 2}'), ("c2", "nope", "{}"))]
    answers = await run.dispatch(messages)
    accepted = TypeAdapter(list[ChatCompletionToolMessageParam]).validate_python(answers)
    assert [answer["tool_call_id"] for answer in accepted] == ["c1", "c2"]
    assert answers[0]["content"] == "3"
    assert OPENAI_CHAT.read([*messages, *answers]).unanswered == ()
    _, results = only_step(OPENAI_CHAT.read([*messages, *answers]))
    assert [results["c1"].failed, results["c2"].failed] == [False, True]


async def test_the_advertised_tools_are_what_the_sdk_declares() -> None:
    step = await mount_agent([add], dialect=OPENAI_CHAT).mount(run_id="run-1").prepare_step([])
    (advertised,) = TypeAdapter(list[ChatCompletionToolParam]).validate_python(step.tools)
    assert advertised["function"]["name"] == "add"
    assert advertised["function"]["parameters"] == {
        "type": "object",
        "properties": {"first": {"type": "integer"}, "second": {"type": "integer", "default": 0}},
        "required": ["first"],
        "additionalProperties": False,
    }


def test_each_list_of_tools_is_the_caller_s_own() -> None:
    entry = ManifestEntry.of("add", "Adds.", {"type": "object", "properties": {}})
    OPENAI_CHAT.advertise([entry])[0]["function"]["parameters"]["properties"]["x"] = 1
    assert OPENAI_CHAT.advertise([entry])[0]["function"]["parameters"]["properties"] == {}


@pytest.mark.rule("CAT-7")
def test_a_name_that_the_provider_cannot_carry_is_refused_at_mount_and_named() -> None:
    long = tool(name="n" * 65)(lambda: None)
    dotted = tool(name="shop.add")(lambda: None)
    fits = tool(name="f" * 64)(lambda: None)
    with pytest.raises(DialectError) as refused:
        mount_agent([long, dotted, fits], dialect=OPENAI_CHAT)
    assert "n" * 65 in str(refused.value)
    assert "shop.add" in str(refused.value)
    assert "fff" not in str(refused.value)


def presenting(*kinds: PartKind) -> Tool:
    def show() -> str:
        """Shows something."""
        return "shown"

    return tool(output=str, presenter=Presenter(kinds=frozenset(kinds), present=lambda _: []))(show)


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize("kind", [PartKind.IMAGE, PartKind.AUDIO, PartKind.FILE])
def test_a_kind_that_a_tool_message_has_no_form_for_is_refused_at_mount(kind: PartKind) -> None:
    with pytest.raises(DialectError, match=f"show: its presenter makes {kind} parts"):
        mount_agent([presenting(kind)], dialect=OPENAI_CHAT)


@pytest.mark.rule("MNT-6")
def test_textual_parts_survive_each_as_a_text_of_its_own() -> None:
    parts = (
        Text(text="seen"),
        Json(value={"b": 1, "a": [None]}),
        ResourceLink(uri="file:///a", name="a", media_type="text/plain"),
    )
    written = OPENAI_CHAT.answer([CallAnswer(call_id="c1", tool="show", parts=parts, outcome="ok")])
    TypeAdapter(list[ChatCompletionToolMessageParam]).validate_python(written)
    texts = [part["text"] for part in written[0]["content"]]
    assert texts[:2] == ["seen", '{"a":[null],"b":1}']
    assert json.loads(texts[2]) == {
        "type": "resource_link",
        "uri": "file:///a",
        "name": "a",
        "media_type": "text/plain",
    }


async def test_a_presenter_that_makes_nothing_gives_an_empty_text_and_no_empty_list() -> None:
    run = mount_agent([presenting(PartKind.TEXT)], dialect=OPENAI_CHAT).mount(run_id="run-1")
    (answer,) = await run.dispatch([wrote(("c1", "show", "{}"))])
    assert answer["content"] == ""


def test_no_answers_are_no_messages() -> None:
    assert OPENAI_CHAT.answer([]) == []


def test_a_failure_is_told_from_a_result_by_its_form() -> None:
    failed = CallAnswer(call_id="c1", tool="add", parts=failure_parts("REFUSED", "Not today."), outcome=Outcome.REFUSED)
    _, results = only_step(OPENAI_CHAT.read([wrote(("c1", "add", "{}")), *OPENAI_CHAT.answer([failed])]))
    assert results["c1"].failed


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4)
ROLES = st.sampled_from(["system", "user", "assistant", "tool", "function", "developer", "robot"])
KEYS = st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "id", "type", "function", "name", "arguments"])
JUNK = st.recursive(
    SCALARS | ROLES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
CALLS = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["c1", "c2", ""]) | SCALARS,
        "function": st.dictionaries(KEYS, SCALARS, max_size=3) | SCALARS,
    },
    optional={"type": st.sampled_from(["function", "custom"]) | SCALARS},
)
MESSAGES = st.fixed_dictionaries(
    {"role": ROLES | SCALARS},
    optional={
        "content": JUNK,
        "tool_calls": st.lists(CALLS | JUNK, max_size=3) | SCALARS,
        "tool_call_id": st.sampled_from(["c1", "c2"]) | SCALARS,
    },
)


@settings(max_examples=150, deadline=None)
@given(st.lists(MESSAGES | JUNK, max_size=5) | JUNK)
def test_whatever_the_messages_are_they_give_a_transcript_or_a_transcript_error(messages: Any) -> None:
    try:
        transcript = OPENAI_CHAT.read(messages)
    except TranscriptError:
        return
    assert all(call.id and isinstance(call.name, str) for step in transcript.steps for call in step.calls)
    assert all(step.results.keys() <= {call.id for call in step.calls} for step in transcript.steps)
