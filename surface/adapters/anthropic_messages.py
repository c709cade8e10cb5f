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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from surface.adapters.message_values import field, only_text, text_of
from surface.call import CallAnswer
from surface.canonical import canonical_json
from surface.catalog import ManifestEntry
from surface.content import Audio, File, Image, Part, PartKind
from surface.errors import TranscriptError
from surface.provider_inputs import ANTHROPIC
from surface.transcript import Call, Transcript, TranscriptBuilder

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_ROLES = ("user", "assistant", "system")


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """Reads and writes Anthropic Messages; stateless."""

    name = "anthropic-messages"
    tool_name = re.compile(r"[A-Za-z0-9_-]{1,128}")
    inputs = ANTHROPIC
    carries = frozenset({PartKind.TEXT, PartKind.JSON, PartKind.IMAGE, PartKind.FILE, PartKind.RESOURCE_LINK})
    """Files as document blocks; a resource link as the JSON of its fields. There is no block for audio."""

    def read(self, messages: Sequence[Any]) -> Transcript:
        """The steps that the messages hold; raises TranscriptError, naming the message and what it lacks."""
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            raise TranscriptError("messages: needs a list of Anthropic messages")
        builder = TranscriptBuilder()
        for at, message in enumerate(messages):
            role = field(message, "role")
            if role not in _ROLES:
                raise TranscriptError(f"messages.{at}.role: needs user or assistant; is this an Anthropic message?")
            content = field(message, "content")
            # A beta's system message may hold something else than content.
            blocks = () if role == "system" else _blocks(content, f"messages.{at}.content")
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


def _blocks(content: Any, where: str) -> Sequence[Any]:
    if isinstance(content, str):
        return ()
    if isinstance(content, list) or (isinstance(content, Sequence) and not isinstance(content, bytes)):
        return content
    raise TranscriptError(f"{where}: needs a string or a list of content blocks")


def _calls(blocks: Sequence[Any], where: str) -> list[Call]:
    calls: list[Call] = []
    for at, block in enumerate(blocks):
        if field(block, "type") != "tool_use":
            continue
        call_id, name = field(block, "id"), field(block, "name")
        if not isinstance(call_id, str) or not isinstance(name, str) or not call_id:
            raise TranscriptError(f"{where}.{at}: a tool_use block needs an id and a name")
        calls.append(Call(id=call_id, name=name, arguments=field(block, "input")))
    return calls


def _read_results(blocks: Sequence[Any], builder: TranscriptBuilder) -> None:
    # A message without a result still ends the assistant's turn.
    builder.end_turn()
    others = not blocks
    for block in blocks:
        kind, call_id = field(block, "type"), field(block, "tool_use_id")
        if kind == "tool_result" and isinstance(call_id, str):
            builder.result(call_id, only_text(field(block, "content"), "text"), failed=bool(field(block, "is_error")))
        elif not (isinstance(kind, str) and kind.endswith("tool_result")):
            # A result of the provider's own tools says nothing here; whatever else there is comes after the turn.
            others = True
    if others:
        builder.other()


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Image(media_type=media_type) if media_type in _IMAGES:
            return {"type": "image", "source": _base64(part.data, media_type)}
        case File(media_type="application/pdf"):
            return {"type": "document", "source": _base64(part.data, part.media_type), "title": part.name}
        case Image() | File():
            return _as_text(part)
        case Audio():
            raise TypeError("Anthropic Messages carries no audio; a mount refuses tools that declare it")
        case _:
            return _text(text_of(part))


def _as_text(part: Image | File) -> dict[str, Any]:
    """What the API has no block for: a file's text as a document where it is one, else a note of what it is.

    A block that the API refuses would stand in the history for good, and the run could never go on.
    """
    name = part.name if isinstance(part, File) else None
    try:
        text = part.data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if isinstance(part, File) and text.strip():
        source = {"type": "text", "media_type": "text/plain", "data": text}
        return {"type": "document", "source": source, "title": name}
    note = {"type": str(part.kind), "name": name, "media_type": part.media_type, "bytes": len(part.data)}
    return _text(canonical_json({**note, "note": "cannot be shown here"}))


def _text(text: str) -> dict[str, Any]:
    # The API refuses a text block without anything to read.
    return {"type": "text", "text": text if text.strip() else "(empty)"}


def _base64(data: bytes, media_type: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": media_type, "data": b64encode(data).decode("ascii")}
