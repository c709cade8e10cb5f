"""A server on loopback that plays a model: it answers in Anthropic's form, from a script, and checks nothing.

It streams where it is asked to, which SDKs do on their own for a long answer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class ScriptedApi(HTTPServer):
    """Keeps every request body and answers the next turn, which is a list of content blocks."""

    def __init__(self, turns: Sequence[list[dict[str, Any]]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.turns = turns
        self.requests: list[dict[str, Any]] = []

    @property
    def environment(self) -> dict[str, str]:
        """What makes the Anthropic SDK of a child process talk to this server and nobody else."""
        return {
            "PATH": "/usr/bin:/bin",
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.server_port}",
            "NO_PROXY": "127.0.0.1",
        }


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedApi

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        turn = self.server.turns[len(self.server.requests)]
        self.server.requests.append(body)
        answer = {
            "id": "msg",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": turn,
            "stop_reason": "tool_use" if turn[0]["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        streams = body.get("stream", False)
        data = streamed(answer) if streams else json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        pass


def streamed(answer: dict[str, Any]) -> bytes:
    """The same answer as events, each block in one piece."""
    blocks: list[dict[str, Any]] = answer["content"]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    ]
    for at, block in enumerate(blocks):
        if block["type"] == "tool_use":
            begun, delta = (
                {**block, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        else:
            begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        events += [
            {"type": "content_block_start", "index": at, "content_block": begun},
            {"type": "content_block_delta", "index": at, "delta": delta},
            {"type": "content_block_stop", "index": at},
        ]
    ended = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    events += [{"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()


@contextmanager
def scripted_api(turns: Sequence[list[dict[str, Any]]]) -> Iterator[ScriptedApi]:
    """The server, while the block runs."""
    server = ScriptedApi(turns)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
