"""The dialect of pydantic-ai's messages, held against pydantic-ai's own types."""

from __future__ import annotations

import json
import warnings
from types import MappingProxyType
from typing import Any

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

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
from surface.adapters.pydantic_ai import PYDANTIC_AI
from surface.adapters.pydantic_ai.messages import HIDDEN
from surface.call import CallAnswer
from surface.content import Audio, File, Image, Part
from surface.failure import failure_parts
from surface.testing import ScriptedRanker
from surface.transcript import UNPARSABLE, Call, Result, Transcript
from tests.frameworks.test_pydantic_ai_reading import retried

PROMPT = ModelRequest(parts=[UserPromptPart("Please.")])


@tool
def add(first: int, second: int = 0) -> int:
    """Adds two numbers."""
    return first + second


CONTROLLER = create_deferred_agent_tool_surface(
    application="test",
    surfaces=[Surface(key="desk", tools=[add])],
    dialect=PYDANTIC_AI,
    ranker=ScriptedRanker(answers={"sum": ["add"]}),
)


def wrote(*ids: str, name: str = "add", args: Any = None) -> ModelResponse:
    """What a model wrote: a text, and a call for each id."""
    return ModelResponse(parts=[TextPart("Well."), *(ToolCallPart(name, args, tool_call_id=each) for each in ids)])


def done(*ids: str, content: Any = "done", **more: Any) -> ModelRequest:
    """The record of calls."""
    return ModelRequest(parts=[ToolReturnPart("add", content, tool_call_id=each, **more) for each in ids])


def only_result(message: ModelRequest) -> Result:
    """What is read of one record."""
    (step,) = PYDANTIC_AI.read([wrote("a"), message]).steps
    return step.results["a"]


def refusal(of: str | None) -> RetryPromptPart:
    """What older releases made where they refused a call, or an output."""
    with warnings.catch_warnings(action="ignore"):  # newer releases make no such part any more, and read it
        return RetryPromptPart(content="no", tool_name=of, tool_call_id="a")


def answered(*parts: Part, outcome: str = "ok") -> Any:
    """The record of an answer without a receipt, as it comes back from a store."""
    made = PYDANTIC_AI.answer([CallAnswer(call_id="a", tool="add", parts=parts, outcome=outcome)])
    (message,) = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([*made]))
    (part,) = message.parts
    assert isinstance(part, ToolReturnPart)
    return part


@pytest.mark.rule("ACT-1")
def test_turns_calls_and_results_are_read_and_prompts_leave_no_trace() -> None:
    messages = [
        ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("Please.")]),
        ModelResponse(parts=[ThinkingPart("Hm."), *wrote("a", "b", args={"first": 1}).parts]),
        done("b", content="two"),
        done("a", content="one", outcome="failed"),
        ModelResponse(parts=[TextPart("Well.")]),
        PROMPT,
        wrote("c"),
    ]
    first, said, last = PYDANTIC_AI.read(messages).steps
    assert first.calls == tuple(Call(id=each, name="add", arguments={"first": 1}) for each in "ab")
    assert dict(first.results) == {"b": Result(text="two"), "a": Result(text="one", failed=True)}
    assert (first.passed_over, first.unanswered) == (False, ())
    assert (said.calls, said.passed_over) == ((), True)
    assert (last.passed_over, [call.id for call in last.unanswered]) == (False, ["c"])
    assert PYDANTIC_AI.read([]) == Transcript()


@pytest.mark.rule("ACT-1")
@pytest.mark.parametrize(
    ("part", "passes_over"),
    [
        (UserPromptPart("And?"), True),
        (SystemPromptPart("Be brief."), True),
        (retried(None), True),
        (retried("a"), False),
        (refusal(None), True),
        (refusal("add"), False),
        (ToolReturnPart("add", "done", tool_call_id="a"), False),
        # Nor by an answer of another turn.
        (ToolReturnPart("add", "done", tool_call_id="other"), False),
    ],
)
def test_a_turn_is_passed_over_by_a_prompt_and_by_no_answer(part: Any, *, passes_over: bool) -> None:
    (step,) = PYDANTIC_AI.read([wrote("a", "b"), ModelRequest(parts=[part])]).steps
    assert step.passed_over is passes_over


@pytest.mark.rule("ACT-1")
def test_a_request_that_says_nothing_ends_the_turn_and_leaves_its_calls_open() -> None:
    first, second = PYDANTIC_AI.read([wrote("a"), ModelRequest(parts=[]), wrote("b")]).steps
    assert ([call.id for call in first.unanswered], first.passed_over) == (["a"], False)
    assert [call.id for call in second.calls] == ["b"]
    # Two responses in a row are one turn.
    (both,) = PYDANTIC_AI.read([wrote("a"), wrote("b")]).steps
    assert [call.id for call in both.calls] == ["a", "b"]


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (
            [PROMPT, {"kind": "request", "parts": "hunter2"}],
            "messages.1: needs a ModelRequest or ModelResponse of pydantic-ai",
        ),
        (["hunter2"], "messages.0: needs a ModelRequest or ModelResponse of pydantic-ai"),
        ([wrote("a", "a")], "messages: one assistant turn holds two tool calls with the same id"),
    ],
)
def test_a_message_that_cannot_be_read_is_named_with_what_it_lacks(messages: list[Any], told: str) -> None:
    with pytest.raises(TranscriptError) as refused:
        PYDANTIC_AI.read(messages)
    assert str(refused.value) == told


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, {}),
        ("", {}),
        ("  ", {}),
        ('{"first": 1}', {"first": 1}),
        ({"first": 1}, {"first": 1}),
        ("[1]", [1]),
        ("null", None),
        ('{"first": ', UNPARSABLE),
        ('{"first": NaN}', UNPARSABLE),
    ],
)
def test_arguments_are_the_value_that_the_model_wrote_as_text_or_as_an_object(written: Any, read: Any) -> None:
    ((call,),) = (step.calls for step in PYDANTIC_AI.read([wrote("a", args=written)]).steps)
    assert call.arguments == read


@pytest.mark.rule("RCP-7")
@pytest.mark.parametrize(
    ("content", "metadata", "text"),
    [
        ("visible", {HIDDEN: "hidden"}, "hidden"),
        ({"a": 1}, {HIDDEN: "hidden", "other": 1}, "hidden"),
        ("visible", MappingProxyType({HIDDEN: "hidden"}), "hidden"),
        ("visible", {HIDDEN: None}, "visible"),
        ("visible", {HIDDEN: {"kind": "no text"}}, "visible"),
        ("visible", {"other": "hidden"}, "visible"),
        ("visible", [HIDDEN], "visible"),
        ("visible", None, "visible"),
        ({"a": 1}, None, None),
        (["one"], None, None),
    ],
)
def test_a_receipt_is_looked_for_in_the_hidden_part_and_else_in_a_record_of_one_text(
    content: Any, metadata: Any, text: str | None
) -> None:
    assert only_result(done("a", content=content, metadata=metadata)).text == text


@pytest.mark.rule("ACT-1", "MNT-3")
@pytest.mark.parametrize(
    ("record", "failed"),
    [
        (done("a"), False),
        (done("a", outcome="failed"), True),
        (done("a", outcome="denied"), True),
        # A history that began in another dialect has no mark, and the text of a failure.
        (done("a", content='{"error":{"code":"REFUSED","message":"No."}}'), True),
        (done("a", content={"error": {"code": "REFUSED"}}), False),
        (ModelRequest(parts=[retried("a")]), True),
    ],
)
def test_a_record_says_whether_its_call_failed(record: ModelRequest, *, failed: bool) -> None:
    assert only_result(record).failed is failed


@pytest.mark.rule("RCP-3")
def test_a_refusal_of_an_older_release_is_a_failure_and_holds_no_receipt_whatever_it_says() -> None:
    assert only_result(ModelRequest(parts=[refusal("add")])) == Result(text=None, failed=True)


@pytest.mark.rule("RCP-7", "RCP-6")
async def test_a_search_is_answered_with_a_projection_for_the_model_and_the_whole_receipt_beside_it() -> None:
    run = CONTROLLER.mount(run_id="run-1", surface="desk")
    asked = wrote("a", name="search_tools", args={"query": "sum"})
    (message,) = await run.dispatch([PROMPT, asked])
    (part,) = message.parts
    receipt = json.loads(part.metadata[HIDDEN])
    assert list(part.metadata) == [HIDDEN]
    assert (part.tool_name, part.tool_call_id, part.outcome) == ("search_tools", "a", "success")
    assert (receipt["selected"], receipt["run_id"]) == (["add"], "run-1")
    assert part.content["status"] == receipt["status"] == "SELECTED"
    assert not {"digests", "run_id", "provenance"} & part.content.keys()
    stored = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([PROMPT, asked, message]))
    assert (await run.prepare_step(stored)).names == ("search_tools", "add")


@pytest.mark.rule("REP-1", "REP-3", "MNT-3")
async def test_inactive_and_unknown_calls_are_told_apart_in_one_request() -> None:
    run = CONTROLLER.mount(run_id="run-1", surface="desk")
    asked = ModelResponse(parts=[*wrote("a").parts, *wrote("b", name="nobody").parts])
    (message,) = await run.dispatch([asked])
    inactive, unknown = message.parts
    assert (inactive.outcome, inactive.content["status"]) == ("success", "SEARCH_REQUIRED")
    assert HIDDEN in inactive.metadata
    assert (unknown.outcome, unknown.metadata, unknown.tool_name) == ("failed", None, "nobody")
    assert json.loads(unknown.content)["error"]["code"] == "UNKNOWN_TOOL"
    assert (await run.prepare_step([asked, message])).names == ("search_tools", "add")
    assert PYDANTIC_AI.answer([]) == []


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize(
    ("parts", "content"),
    [
        ([], []),
        ([Text(text="seen")], "seen"),
        ([Json(value={"b": 1, "a": [None]})], {"b": 1, "a": [None]}),
        (
            [ResourceLink(uri="file:///a", name="A")],
            '{"media_type":null,"name":"A","type":"resource_link","uri":"file:///a"}',
        ),
        ([Text(text="one"), Json(value=2)], ["one", 2]),
    ],
)
def test_one_part_is_the_content_and_several_are_a_list(parts: list[Part], content: Any) -> None:
    assert answered(*parts).content == content


@pytest.mark.rule("MNT-6")
def test_every_kind_of_part_survives_in_its_place() -> None:
    assert PYDANTIC_AI.carries == frozenset(PartKind)
    part = answered(
        Image(data=b"\x89PNG", media_type="image/png"),
        Text(text="Look:"),
        Audio(data=b"RIFF", media_type="audio/wav"),
        File(data=b"%PDF", media_type="application/pdf", name="page.pdf"),
    )
    picture, text, sound, file = part.content
    assert text == "Look:"
    assert all(isinstance(each, BinaryContent) for each in (picture, sound, file))
    assert [(each.data, each.media_type) for each in (picture, sound, file)] == [
        (b"\x89PNG", "image/png"),
        (b"RIFF", "audio/wav"),
        (b"%PDF", "application/pdf"),
    ]
    assert file.identifier == "page.pdf"
    # What has no name of its own gets pydantic-ai's.
    assert picture.identifier == BinaryContent(data=b"\x89PNG", media_type="image/png").identifier
    assert answered(Image(data=b"\x89PNG", media_type="image/png")).content.media_type == "image/png"


@pytest.mark.rule("MNT-3")
def test_a_failed_answer_is_marked_and_its_content_is_the_text_of_its_json() -> None:
    part = answered(*failure_parts("REFUSED", "Not today."), outcome="REFUSED")
    assert (part.outcome, part.content) == ("failed", '{"error":{"code":"REFUSED","message":"Not today."}}')
    assert answered(Text(text="fine")).outcome == "success"


@pytest.mark.rule("CAT-7")
def test_what_is_advertised_reads_as_the_catalog_says_in_its_order() -> None:
    made = CONTROLLER.registry.surface("desk")
    entries = [made.entry("add"), made.search]
    assert PYDANTIC_AI.advertise(iter(entries)) == [
        ToolDefinition(name=each.name, description=each.description, parameters_json_schema=each.input_schema)
        for each in entries
    ]
