"""A turn that was streamed gives the same transcript as the same turn in one piece.

The providers' own clients accumulate the events; what they would read from the network is written here in the
recorded shape of each API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anthropic
import httpx2
import openai

from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.transcript import UNPARSABLE, Call

CALLS = (
    Call(id="call_1", name="list_invoices", arguments={"overdue": True, "query": "größer"}),
    Call(id="call_2", name="now", arguments={}),
)
QUESTION: dict[str, Any] = {"role": "user", "content": "Which invoices are overdue?"}


def events_of(events: Sequence[Mapping[str, Any]], *, named: bool) -> httpx2.MockTransport:
    """A transport that answers every request with these server-sent events."""
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    if not named:
        lines.append("data: [DONE]\n\n")
    body = "".join(lines).encode("utf-8")
    return httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    )


def pieces(text: str) -> list[str]:
    """The text as a stream brings it, cut in the middle of words and escapes."""
    return [text[at : at + 7] for at in range(0, len(text), 7)]


def anthropic_events(arguments: str) -> list[dict[str, Any]]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "c2ln"}],
        ),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "Let me look."}]),
        (
            {"type": "tool_use", "id": "call_1", "name": "list_invoices", "input": {}},
            [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(arguments)]],
        ),
        (
            {"type": "tool_use", "id": "call_2", "name": "now", "input": {}},
            [{"type": "input_json_delta", "partial_json": ""}],
        ),
    ]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    return [
        *events,
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 40},
        },
        {"type": "message_stop"},
    ]


def chat_events(arguments: str) -> list[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_790_000_000,
            "model": "gpt",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        }

    def begun(index: int, call_id: str, name: str) -> dict[str, Any]:
        function = {"name": name, "arguments": ""}
        return chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})

    def more(index: int, piece: str) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    return [
        chunk({"role": "assistant", "content": None, "refusal": None}),
        begun(0, "call_1", "list_invoices"),
        *(more(0, piece) for piece in pieces(arguments)),
        begun(1, "call_2", "now"),
        more(1, "{}"),
        chunk({}, "tool_calls"),
    ]


def responses_events(arguments: str) -> list[dict[str, Any]]:
    def call(item_id: str, call_id: str, name: str, written: str, status: str) -> dict[str, Any]:
        return {
            "type": "function_call",
            "id": item_id,
            "call_id": call_id,
            "name": name,
            "arguments": written,
            "status": status,
        }

    def response(status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": status,
            "model": "gpt",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
        }

    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    whole = [
        reasoning,
        call("fc_1", "call_1", "list_invoices", arguments, "completed"),
        call("fc_2", "call_2", "now", "{}", "completed"),
    ]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response("in_progress", [])},
        {"type": "response.output_item.added", "output_index": 0, "item": reasoning},
        {"type": "response.output_item.done", "output_index": 0, "item": reasoning},
    ]
    for index, item in enumerate(whole[1:], start=1):
        begun = {**item, "arguments": "", "status": "in_progress"}
        place = {"item_id": item["id"], "output_index": index}
        written = str(item["arguments"])
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events += [
            {"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in pieces(written)
        ]
        events.append(
            {"type": "response.function_call_arguments.done", **place, "name": item["name"], "arguments": written}
        )
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response("completed", whole)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


ARGUMENTS = json.dumps(CALLS[0].arguments)


def test_a_streamed_anthropic_message_reads_as_the_calls_it_holds() -> None:
    transport = events_of(anthropic_events(ARGUMENTS), named=True)
    with (
        anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=transport)) as client,
        client.messages.stream(model="claude", max_tokens=100, messages=[{"role": "user", "content": "Hi"}]) as stream,
    ):
        message = stream.get_final_message()
    streamed = [QUESTION, {"role": "assistant", "content": message.content}]
    assert ANTHROPIC_MESSAGES.read(streamed).unanswered == CALLS
    assert ANTHROPIC_MESSAGES.read([QUESTION, message]) == ANTHROPIC_MESSAGES.read(streamed)
    dumped = [QUESTION, {"role": "assistant", "content": [block.model_dump() for block in message.content]}]
    assert ANTHROPIC_MESSAGES.read(dumped) == ANTHROPIC_MESSAGES.read(streamed)


def test_a_streamed_chat_completion_reads_as_the_calls_it_holds() -> None:
    transport = events_of(chat_events(ARGUMENTS), named=False)
    with (
        openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=transport)) as client,
        client.chat.completions.stream(model="gpt", messages=[{"role": "user", "content": "Hi"}]) as stream,
    ):
        message = stream.get_final_completion().choices[0].message
    assert OPENAI_CHAT.read([QUESTION, message]).unanswered == CALLS
    assert OPENAI_CHAT.read([QUESTION, message.model_dump()]) == OPENAI_CHAT.read([QUESTION, message])


def test_a_streamed_response_reads_as_the_calls_it_holds() -> None:
    events = responses_events(ARGUMENTS)
    with (
        openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=events_of(events, named=True))) as client,
        client.responses.stream(model="gpt", input="Hi") as stream,
    ):
        response = stream.get_final_response()
    in_one_piece = OPENAI_RESPONSES.read([QUESTION, *events[-1]["response"]["output"]])
    assert in_one_piece.unanswered == CALLS
    assert OPENAI_RESPONSES.read([QUESTION, *response.output]) == in_one_piece
    assert OPENAI_RESPONSES.read([QUESTION, *(item.model_dump() for item in response.output)]) == in_one_piece


def test_the_raw_event_that_completes_a_response_holds_the_same_items() -> None:
    with openai.OpenAI(
        api_key="none", http_client=httpx2.Client(transport=events_of(responses_events(ARGUMENTS), named=True))
    ) as client:
        *_, last = client.responses.create(model="gpt", input="Hi", stream=True)
    assert last.type == "response.completed"
    assert OPENAI_RESPONSES.read([QUESTION, *last.response.output]).unanswered == CALLS


def test_arguments_that_a_stream_broke_off_are_unparsable() -> None:
    transport = events_of(chat_events('{"overdue": tr'), named=False)
    with openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=transport)) as client:
        chunks = client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "Hi"}], stream=True)
        state = openai.lib.streaming.chat.ChatCompletionStreamState()
        for chunk in chunks:
            state.handle_chunk(chunk)
    message = state.get_final_completion().choices[0].message
    broken, whole = OPENAI_CHAT.read([QUESTION, message]).unanswered
    assert broken.arguments is UNPARSABLE
    assert whole == CALLS[1]
