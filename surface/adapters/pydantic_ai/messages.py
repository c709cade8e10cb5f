"""The dialect of pydantic-ai's own messages, whatever model stands behind them.

A receipt stands in the hidden part of a tool return (its `metadata`, which pydantic-ai stores and sends to no model);
what the model reads is the receipt's projection. A receipt that is the visible content counts too, so a history that
began in another dialect keeps its selection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import BinaryContent, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.tools import ToolDefinition

from surface.adapters.message_values import arguments_of, text_of
from surface.call import CallAnswer
from surface.canonical import canonical_json
from surface.catalog import ManifestEntry
from surface.content import Audio, File, Image, Json, Part, PartKind, Text
from surface.errors import TranscriptError
from surface.failure import reads_as_failure
from surface.provider_inputs import ANY_INPUT
from surface.transcript import Call, Transcript, TranscriptBuilder

HIDDEN = "toolsurface.receipt"
"""The key of a receipt in the metadata of a tool return."""
_PROMPTS = ("user-prompt", "system-prompt", "retry-feedback")


@dataclass(frozen=True, slots=True)
class PydanticAIMessages:
    """Reads and writes `ModelRequest` and `ModelResponse`; stateless."""

    name = "pydantic-ai"
    tool_name = re.compile(r"[A-Za-z0-9_-]{1,64}")
    """What every provider behind pydantic-ai takes."""
    inputs = ANY_INPUT
    carries = frozenset(PartKind)
    """Files of every kind as `BinaryContent`, inline in the tool return; a resource link as the JSON of its fields."""

    def read(self, messages: Sequence[Any]) -> Transcript:
        """The steps that the messages hold; raises TranscriptError, naming the message."""
        builder = TranscriptBuilder()
        for at, message in enumerate(messages):
            read_message(message, at, builder)
        return builder.build()

    def advertise(self, entries: Iterable[ManifestEntry]) -> list[ToolDefinition]:
        """Tool definitions, in the order of the entries."""
        return [
            ToolDefinition(name=entry.name, description=entry.description, parameters_json_schema=entry.input_schema)
            for entry in entries
        ]

    def answer(self, answers: Sequence[CallAnswer]) -> list[ModelRequest]:
        """One request with a tool return per answer, or nothing for no answers."""
        return [ModelRequest(parts=[tool_return(answer) for answer in answers])] if answers else []


PYDANTIC_AI = PydanticAIMessages()


def tool_return(answer: CallAnswer) -> ToolReturnPart:
    """The record of one answer. A failure is the text of its JSON."""
    content = [_content(part) for part in answer.parts] if answer.receipt is None else [answer.receipt.projection()]
    failed = answer.failed and answer.receipt is None
    return ToolReturnPart(
        tool_name=answer.tool,
        tool_call_id=answer.call_id,
        content=canonical_json(content[0]) if failed else content[0] if len(content) == 1 else content,
        metadata=None if answer.receipt is None else {HIDDEN: answer.receipt.to_json()},
        outcome="failed" if failed else "success",
    )


def read_message(message: Any, at: int, builder: TranscriptBuilder) -> None:
    """Reads the message at this place behind those that the builder has; raises TranscriptError, naming it."""
    if isinstance(message, ModelResponse):
        builder.assistant(
            Call(id=part.tool_call_id, name=part.tool_name, arguments=_arguments(part.args))
            for part in message.parts
            if isinstance(part, ToolCallPart)
        )
    elif isinstance(message, ModelRequest):
        builder.end_turn()
        answers = [part for part in message.parts if _answers(part)]
        for part in answers:
            _read_answer(part, builder)
        # A prompt beside an answer is what a tool said to the model; the other calls of its turn may wait for approval.
        if not answers and any(part.part_kind in (*_PROMPTS, "retry-prompt") for part in message.parts):
            builder.other()
    else:
        raise TranscriptError(f"messages.{at}: needs a ModelRequest or ModelResponse of pydantic-ai")


def _answers(part: Any) -> bool:
    return isinstance(part, ToolReturnPart) or (part.part_kind == "retry-prompt" and part.tool_name is not None)


def _read_answer(part: Any, builder: TranscriptBuilder) -> None:
    if not isinstance(part, ToolReturnPart):
        builder.result(part.tool_call_id, None, failed=True)
        return
    text = receipt_text(part)
    failed = part.outcome != "success" or (text is not None and reads_as_failure(text))
    builder.result(part.tool_call_id, text, failed=failed)


def receipt_text(part: ToolReturnPart) -> str | None:
    """Where a receipt could be: in the hidden part, else in a content that is one text."""
    metadata = part.metadata
    hidden = metadata.get(HIDDEN) if isinstance(metadata, Mapping) else None
    if isinstance(hidden, str):
        return hidden
    return part.content if isinstance(part.content, str) else None


def _arguments(written: Any) -> Any:
    if written is None:
        return {}
    return arguments_of(written) if isinstance(written, str) else written


def _content(part: Part) -> Any:
    match part:
        case Text():
            return part.text
        case Json():
            return part.value
        case File():
            return BinaryContent(data=part.data, media_type=part.media_type, identifier=part.name)
        case Image() | Audio():
            return BinaryContent(data=part.data, media_type=part.media_type)
        case _:
            return text_of(part)
