"""How a provider's model writes: the other half of a dialect, for tests only.

A voice writes what a user and a model would send, as the plain dictionaries that the provider's API takes, and reads
what a result message shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from surface.content import PartKind

WrittenCall = tuple[str, str, Mapping[str, Any]]
"""Call id, tool name, arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a result shows for one call."""

    call_id: str
    text: str
    """All text of the result."""
    kinds: tuple[PartKind, ...]
    """Text, image and file parts in order, as the provider's form tells them apart."""


class Voice(Protocol):
    """Writes as a user and as a model; reads results."""

    def asks(self, text: str) -> list[Any]:
        """The messages of a user's request."""
        ...

    def says(self, text: str) -> list[Any]:
        """The messages of a turn without calls."""
        ...

    def calls(self, calls: Sequence[WrittenCall]) -> list[Any]:
        """The messages of a turn with these calls, in parallel."""
        ...

    def heard(self, messages: Sequence[Any]) -> list[Heard]:
        """What these result messages show, in order."""
        ...


class AnthropicVoice:
    """Anthropic Messages."""

    def asks(self, text: str) -> list[Any]:
        return [{"role": "user", "content": text}]

    def says(self, text: str) -> list[Any]:
        return [{"role": "assistant", "content": [{"type": "text", "text": text}]}]

    def calls(self, calls: Sequence[WrittenCall]) -> list[Any]:
        blocks = [{"type": "tool_use", "id": id_, "name": name, "input": dict(args)} for id_, name, args in calls]
        return [{"role": "assistant", "content": blocks}]

    def heard(self, messages: Sequence[Any]) -> list[Heard]:
        kinds = {"text": PartKind.TEXT, "image": PartKind.IMAGE, "document": PartKind.FILE}
        return [
            Heard(
                call_id=block["tool_use_id"],
                text="".join(part["text"] for part in block["content"] if part["type"] == "text"),
                kinds=tuple(kinds[part["type"]] for part in block["content"]),
            )
            for message in messages
            for block in message["content"]
        ]


class OpenAIChatVoice:
    """OpenAI Chat Completions."""

    def asks(self, text: str) -> list[Any]:
        return [{"role": "user", "content": text}]

    def says(self, text: str) -> list[Any]:
        return [{"role": "assistant", "content": text}]

    def calls(self, calls: Sequence[WrittenCall]) -> list[Any]:
        written = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(dict(args))}}
            for id_, name, args in calls
        ]
        return [{"role": "assistant", "content": None, "tool_calls": written}]

    def heard(self, messages: Sequence[Any]) -> list[Heard]:
        return [_heard(message["tool_call_id"], message["content"]) for message in messages]


class OpenAIResponsesVoice:
    """OpenAI Responses."""

    def asks(self, text: str) -> list[Any]:
        return [{"role": "user", "content": text}]

    def says(self, text: str) -> list[Any]:
        return [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]

    def calls(self, calls: Sequence[WrittenCall]) -> list[Any]:
        return [
            {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(dict(args))}
            for id_, name, args in calls
        ]

    def heard(self, messages: Sequence[Any]) -> list[Heard]:
        return [_heard(item["call_id"], item["output"]) for item in messages]


def _heard(call_id: str, content: str | Sequence[Mapping[str, Any]]) -> Heard:
    """What OpenAI's two APIs show: a text, or parts whose type ends in text, image or file."""
    if isinstance(content, str):
        return Heard(call_id=call_id, text=content, kinds=(PartKind.TEXT,))
    return Heard(
        call_id=call_id,
        text="".join(part.get("text", "") for part in content),
        kinds=tuple(PartKind(part["type"].removeprefix("input_")) for part in content),
    )
