"""The dialect of Anthropic's Messages API.

    run.prepare_step(messages).tools  →  client.messages.create(tools=…)
    response.content                  →  {"role": "assistant", "content": response.content}
    run.dispatch(messages)            →  one user message with a tool_result block per call

Messages may be plain dictionaries or the SDK's own objects. Prompts, thinking and server-side tool blocks are passed
over. Receipts are the text of their tool_result.

Not done here: `defer_loading` and `tool_reference`; the tools list is sent again each step.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surface.call import CallAnswer
from surface.canonical import canonical_json
from surface.catalog import ManifestEntry
from surface.content import Audio, File, Image, Json, Part, PartKind, ResourceLink, Text
from surface.errors import TranscriptError
from surface.transcript import Call, Transcript, TranscriptBuilder

_ROLES = ("user", "assistant", "system")


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """Reads and writes Anthropic Messages; stateless."""

    name = "anthropic-messages"
    tool_name = re.compile(r"[A-Za-z0-9_-]{1,128}")
    carries = frozenset({PartKind.TEXT, PartKind.JSON, PartKind.IMAGE, PartKind.FILE, PartKind.RESOURCE_LINK})
    """Files as document blocks; a resource link as the JSON of its fields. There is no block for audio."""

    def read(self, messages: Sequence[Any]) -> Transcript:
        """The steps that the messages hold; raises TranscriptError, naming the message and what it lacks."""
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            raise TranscriptError("messages: needs a list of Anthropic messages")
        builder = TranscriptBuilder()
        for at, message in enumerate(messages):
            role = _field(message, "role")
            if role not in _ROLES:
                raise TranscriptError(f"messages.{at}.role: needs user or assistant; is this an Anthropic message?")
            blocks = _blocks(_field(message, "content"), f"messages.{at}.content")
            if role == "assistant":
                builder.assistant(_calls(blocks, f"messages.{at}.content"))
            else:
                _read_results(blocks, builder)
        return builder.build()

    def advertise(self, entries: Iterable[ManifestEntry]) -> list[dict[str, Any]]:
        """The `tools` of a request."""
        return [
            {"name": entry.name, "description": entry.description, "input_schema": entry.input_schema}
            for entry in entries
        ]

    def answer(self, answers: Sequence[CallAnswer]) -> list[dict[str, Any]]:
        """One user message with a tool_result block per answer, or nothing for no answers."""
        if not answers:
            return []
        return [
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": answer.call_id,
                        "content": [_block(part) for part in answer.parts],
                        "is_error": answer.failed,
                    }
                    for answer in answers
                ],
            }
        ]


ANTHROPIC_MESSAGES = AnthropicMessages()


def _field(value: Any, name: str) -> Any:
    """A field of a dictionary or of one of the SDK's objects; None where there is none."""
    if isinstance(value, dict):  # nearly always, and much faster to ask than Mapping
        return value.get(name)
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _blocks(content: Any, where: str) -> Sequence[Any]:
    if isinstance(content, str):
        return ()
    if isinstance(content, list) or (isinstance(content, Sequence) and not isinstance(content, bytes)):
        return content
    raise TranscriptError(f"{where}: needs a string or a list of content blocks")


def _calls(blocks: Sequence[Any], where: str) -> list[Call]:
    calls: list[Call] = []
    for at, block in enumerate(blocks):
        if _field(block, "type") != "tool_use":
            continue
        call_id, name = _field(block, "id"), _field(block, "name")
        if not isinstance(call_id, str) or not isinstance(name, str) or not call_id:
            raise TranscriptError(f"{where}.{at}: a tool_use block needs an id and a name")
        calls.append(Call(id=call_id, name=name, arguments=_field(block, "input")))
    return calls


def _read_results(blocks: Sequence[Any], builder: TranscriptBuilder) -> None:
    # A message without a result still ends the assistant's turn.
    builder.other()
    for block in blocks:
        call_id = _field(block, "tool_use_id")
        if _field(block, "type") == "tool_result" and isinstance(call_id, str):
            builder.result(call_id, _only_text(_field(block, "content")), failed=bool(_field(block, "is_error")))


def _only_text(content: Any) -> str | None:
    """The text of a result that holds exactly one text and nothing else."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes) and len(content) == 1:
        text = _field(content[0], "text") if _field(content[0], "type") == "text" else None
        return text if isinstance(text, str) else None
    return None


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return _text(part.text)
        case Json():
            return _text(canonical_json(part.value))
        case Image():
            return {"type": "image", "source": _base64(part.data, part.media_type)}
        case File():
            return _document(part)
        case ResourceLink():
            link = {"type": "resource_link", "uri": part.uri, "name": part.name, "media_type": part.media_type}
            return _text(canonical_json(link))
        case Audio():
            raise TypeError("Anthropic Messages carries no audio; a mount refuses tools that declare it")


def _document(file: File) -> dict[str, Any]:
    if file.media_type.startswith("text/"):
        # The API knows one textual media type; a name says the rest.
        source = {"type": "text", "media_type": "text/plain", "data": file.data.decode("utf-8", "replace")}
    else:
        source = _base64(file.data, file.media_type)
    return {"type": "document", "source": source, "title": file.name}


def _text(text: str) -> dict[str, Any]:
    # The API refuses an empty text block.
    return {"type": "text", "text": text or "(empty)"}


def _base64(data: bytes, media_type: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": media_type, "data": b64encode(data).decode("ascii")}
