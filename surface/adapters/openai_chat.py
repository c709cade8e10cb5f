"""The dialect of OpenAI's Chat Completions API.

    run.prepare_step(messages).tools  →  client.chat.completions.create(tools=…)
    completion.choices[0].message     →  appended as it is, a dictionary or the SDK's object
    run.dispatch(messages)            →  one ``tool`` message per call

A tool message carries text only, so a tool whose presenter makes images, audio or files is refused at mount. Calls of
custom (free-form) tools are the application's own and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from surface.adapters.message_values import arguments_of, field, only_text, refuse_anthropic, text_of
from surface.call import CallAnswer
from surface.catalog import ManifestEntry
from surface.content import PartKind
from surface.errors import TranscriptError
from surface.failure import reads_as_failure
from surface.provider_inputs import OPENAI, with_properties
from surface.transcript import Call, Transcript, TranscriptBuilder

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """Reads and writes Chat Completions messages; stateless."""

    name = "openai-chat"
    tool_name = re.compile(r"[A-Za-z0-9_-]{1,64}")
    inputs = OPENAI
    carries = frozenset({PartKind.TEXT, PartKind.JSON, PartKind.RESOURCE_LINK})

    def read(self, messages: Sequence[Any]) -> Transcript:
        """The steps that the messages hold; raises TranscriptError, naming the message and what it lacks."""
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            raise TranscriptError("messages: needs a list of Chat Completions messages")
        builder = TranscriptBuilder()
        for at, message in enumerate(messages):
            role = field(message, "role")
            if role not in _ROLES:
                raise TranscriptError(f"messages.{at}.role: needs one of {', '.join(_ROLES)}")
            refuse_anthropic(field(message, "content"), f"messages.{at}.content")
            if role == "assistant":
                builder.assistant(_calls(field(message, "tool_calls"), f"messages.{at}.tool_calls"))
            elif role == "tool":
                _read_result(message, at, builder)
            else:
                builder.other()
        return builder.build()

    def advertise(self, entries: Iterable[ManifestEntry]) -> list[dict[str, Any]]:
        """The `tools` of a request."""
        return [
            {
                "type": "function",
                "function": {
                    "name": entry.name,
                    "description": entry.description,
                    "parameters": with_properties(entry.input_schema),
                },
            }
            for entry in entries
        ]

    def answer(self, answers: Sequence[CallAnswer]) -> list[dict[str, Any]]:
        """One ``tool`` message per answer."""
        return [
            {
                "role": "tool",
                "tool_call_id": answer.call_id,
                "content": _content([text_of(part) for part in answer.parts]),
            }
            for answer in answers
        ]


OPENAI_CHAT = OpenAIChat()


def _calls(tool_calls: Any, where: str) -> list[Call]:
    if tool_calls is None:
        return []
    if not isinstance(tool_calls, Sequence) or isinstance(tool_calls, (str, bytes)):
        raise TranscriptError(f"{where}: needs a list of tool calls")
    calls: list[Call] = []
    for at, call in enumerate(tool_calls):
        if field(call, "type") not in ("function", None):
            continue
        function = field(call, "function")
        call_id, name = field(call, "id"), field(function, "name")
        if not isinstance(call_id, str) or not isinstance(name, str) or not call_id:
            raise TranscriptError(f"{where}.{at}: a function call needs an id and a name")
        calls.append(Call(id=call_id, name=name, arguments=arguments_of(field(function, "arguments"))))
    return calls


def _read_result(message: Any, at: int, builder: TranscriptBuilder) -> None:
    call_id = field(message, "tool_call_id")
    if not isinstance(call_id, str):
        raise TranscriptError(f"messages.{at}.tool_call_id: a tool message needs the id of the call it answers")
    text = only_text(field(message, "content"), "text")
    builder.result(call_id, text, failed=text is not None and reads_as_failure(text))


def _content(texts: list[str]) -> str | list[dict[str, Any]]:
    # The API refuses an empty list of parts.
    return "".join(texts) if len(texts) < 2 else [{"type": "text", "text": text} for text in texts]
