"""Reading Anthropic messages: plain dictionaries, the SDK's own objects, and whatever else may come (RCP-3, RCP-7)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.types import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surface import TranscriptError
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.transcript import Result, Transcript
from tests.surface.deferred import Shop
from tests.surface.rankers import proposing

read = ANTHROPIC_MESSAGES.read


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def use(id_: str, name: str = "help", given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": {} if given is None else given}


def result(id_: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def ids(transcript: Transcript) -> list[list[str]]:
    return [[call.id for call in step.calls] for step in transcript.steps]


def sdk_message(*content: dict[str, Any]) -> Message:
    """An assistant message as the SDK hands it out."""
    return Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": list(content),
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


def test_a_conversation_without_calls_holds_a_step_for_each_assistant_turn() -> None:
    transcript = read(
        [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi"},
            user({"type": "text", "text": "?"}),
        ]
    )
    assert ids(transcript) == [[]]
    assert transcript.unanswered == ()


@pytest.mark.rule("MNT-9")
def test_calls_without_results_are_unanswered_in_the_order_written() -> None:
    transcript = read([assistant({"type": "text", "text": "Let me see."}, use("a"), use("b", given={"x": 1}))])
    assert [call.id for call in transcript.unanswered] == ["a", "b"]
    assert transcript.unanswered[1].arguments == {"x": 1}


def test_a_partly_answered_turn_leaves_the_rest_unanswered() -> None:
    transcript = read([assistant(use("a"), use("b"), use("c")), user(result("b"))])
    assert [call.id for call in transcript.unanswered] == ["a", "c"]
    more = read([assistant(use("a"), use("b"), use("c")), user(result("b")), user(result("a"), result("c"))])
    assert more.unanswered == ()


def test_only_the_last_turn_can_be_unanswered() -> None:
    transcript = read(
        [assistant(use("a")), user({"type": "text", "text": "never mind"}), assistant(use("b")), user(result("b"))]
    )
    assert ids(transcript) == [["a"], ["b"]]
    assert transcript.unanswered == ()


def test_consecutive_assistant_messages_are_one_turn() -> None:
    transcript = read([assistant(use("a")), assistant(use("b")), user(result("a")), assistant(use("c"))])
    assert ids(transcript) == [["a", "b"], ["c"]]


def test_a_prompt_between_assistant_messages_makes_two_turns() -> None:
    for between in ({"role": "user", "content": "go on"}, {"role": "system", "content": "remember"}, user()):
        assert ids(read([assistant(use("a")), between, assistant(use("b"))])) == [["a"], ["b"]]


@pytest.mark.rule("RCP-3")
def test_a_result_counts_only_for_a_call_of_its_own_turn_and_only_the_first_of_two() -> None:
    transcript = read(
        [
            assistant(use("a")),
            user(result("a", "first"), result("a", "second"), result("z", "nobody's")),
            assistant(use("b")),
            user(result("a", "late"), result("b", "third")),
        ]
    )
    assert [dict(step.results) for step in transcript.steps] == [
        {"a": Result(text="first")},
        {"b": Result(text="third")},
    ]


@pytest.mark.rule("RCP-7")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a text", "a text"),
        ([{"type": "text", "text": "a text"}], "a text"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], None),
        ([{"type": "image", "source": {}}], None),
        ([{"type": "text", "text": 7}], None),
        ([{"type": "text"}], None),
        ([7], None),
        ([], None),
        (None, None),
        (7, None),
        (b"bytes", None),
        ({"type": "text", "text": "a text"}, None),
    ],
    ids=repr,
)
def test_a_result_has_a_text_only_where_it_holds_exactly_one(content: Any, text: str | None) -> None:
    (step,) = read([assistant(use("a")), user(result("a", content))]).steps
    assert step.results["a"].text == text


def test_a_result_says_whether_the_call_failed() -> None:
    (step,) = read([assistant(use("a"), use("b")), user(result("a", is_error=True), result("b", is_error=False))]).steps
    assert (step.results["a"].failed, step.results["b"].failed) == (True, False)


SERVER_SIDE = [
    {"type": "thinking", "thinking": "hmm", "signature": "s"},
    {"type": "redacted_thinking", "data": "d"},
    {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
    {"type": "mcp_tool_use", "id": "mcp", "name": "help", "server_name": "s", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "mcp", "content": [], "is_error": False},
    {"type": "code_execution_tool_result", "tool_use_id": "srv", "content": {}},
    {"type": "container_upload", "file_id": "f"},
    {"type": "a block of next year"},
]


@pytest.mark.parametrize("block", SERVER_SIDE, ids=lambda block: block["type"])
def test_what_the_server_did_itself_is_passed_over(block: dict[str, Any]) -> None:
    transcript = read([assistant(block, use("a"), block), user(result("a"), block)])
    assert ids(transcript) == [["a"]]
    assert dict(transcript.steps[0].results) == {"a": Result(text="done")}


@pytest.mark.rule("RCP-3")
def test_a_servers_tool_result_is_no_result_of_a_call_with_the_same_id() -> None:
    server_result = {"type": "web_search_tool_result", "tool_use_id": "a", "content": "a receipt"}
    transcript = read([assistant(use("a")), user(server_result)])
    assert [call.id for call in transcript.unanswered] == ["a"]


def test_the_sdks_own_messages_read_like_the_dictionaries_they_stand_for() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hmm", "signature": "s"},
        {"type": "text", "text": "Let me see.", "citations": None},
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "a", "name": "help", "input": {"x": [1]}, "caller": {"type": "direct"}},
    ]
    message = sdk_message(*blocks)
    as_objects = read([message, user(result("a"))])
    assert as_objects == read([{"role": "assistant", "content": message.content}, user(result("a"))])
    assert as_objects == read([message.model_dump(), user(result("a"))])
    assert as_objects.steps[0].calls[0].arguments == {"x": [1]}


@pytest.mark.rule("REP-2")
async def test_a_run_goes_on_over_a_history_of_the_sdks_objects() -> None:
    shop = Shop()
    run = shop.application(dialect=ANTHROPIC_MESSAGES, ranker=proposing("invoices_list")).mount(
        run_id="run-1", surface="reader"
    )
    messages: list[Any] = [{"role": "user", "content": "Which invoices are late?"}]
    for id_, name in (("s", "search_tools"), ("c", "invoices_list")):
        block = {
            "type": "tool_use",
            "id": id_,
            "name": name,
            "input": {"query": "invoices"},
            "caller": {"type": "direct"},
        }
        messages.append(sdk_message(block))
        messages += await run.dispatch(messages)
    assert shop.handled == ["invoices_list"]


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ("hello", "messages: needs a list"),
        (b"hello", "messages: needs a list"),
        (None, "messages: needs a list"),
        (7, "messages: needs a list"),
        ({"role": "user"}, "messages: needs a list"),
        ([7], r"messages\.0\.role"),
        ([{}], r"messages\.0\.role"),
        ([{"role": "tool", "content": ""}], r"messages\.0\.role"),
        ([{"role": ["user"], "content": ""}], r"messages\.0\.role"),
        ([{"role": "user", "content": "a"}, {"role": "user"}], r"messages\.1\.content"),
        ([{"role": "user", "content": 7}], r"messages\.0\.content"),
        ([{"role": "user", "content": {"type": "text"}}], r"messages\.0\.content"),
        ([assistant({"type": "text"}, {"type": "tool_use"})], r"messages\.0\.content\.1"),
        ([assistant({**use("a"), "id": ""})], r"messages\.0\.content\.0"),
        ([assistant({**use("a"), "id": 7})], r"messages\.0\.content\.0"),
        ([assistant({**use("a"), "name": None})], r"messages\.0\.content\.0"),
        ([assistant(use("a"), use("a"))], "two tool calls with the same id"),
    ],
    ids=repr,
)
def test_what_is_no_anthropic_message_is_refused_and_the_place_is_named(messages: Any, message: str) -> None:
    with pytest.raises(TranscriptError, match=message):
        read(messages)


def test_a_refusal_shows_nothing_of_what_was_refused() -> None:
    for messages in (
        [{"role": "hunter2", "content": "hunter2"}],
        [{"role": "user", "content": {"hunter2": "hunter2"}}],
        [assistant({"type": "tool_use", "id": None, "name": "hunter2", "input": "hunter2"})],
        [assistant(use("hunter2"), use("hunter2"))],
        ["hunter2"],
        "hunter2",
    ):
        with pytest.raises(TranscriptError) as raised:
            read(messages)
        assert "hunter2" not in str(raised.value)


words = st.sampled_from(
    "role content type id name input tool_use_id is_error text user assistant system tool_use tool_result help".split()
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=3) | words | st.text(max_size=4)
junk = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(words, inner, max_size=4)
        | st.dictionaries(words.filter(str.isidentifier), inner, max_size=4).map(
            lambda fields: SimpleNamespace(**fields)
        )
    ),
    max_leaves=10,
)
blocks = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["tool_use", "tool_result", "text"]) | junk,
        "id": st.sampled_from(["a", "b"]) | junk,
        "name": st.just("help") | junk,
        "input": junk,
        "tool_use_id": st.sampled_from(["a", "b"]) | junk,
        "content": junk,
        "is_error": junk,
    },
)
near_messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system"]),
            "content": st.lists(blocks | junk, max_size=3) | junk,
        }
    )
    | junk,
    max_size=4,
)


@given(messages=near_messages | junk)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_messages_are_a_transcript_or_a_transcript_error(messages: Any) -> None:
    try:
        transcript = read(messages)
    except TranscriptError:
        return
    for step in transcript.steps:
        assert {*step.results} <= {call.id for call in step.calls}
