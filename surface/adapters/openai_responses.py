"""The dialect of OpenAI's Responses API.

    run.prepare_step(items)  →  client.responses.create(**request(step, items, model=…))
    response.output          →  items += response.output
    run.dispatch(items)      →  one ``function_call_output`` item per call

The items have to be the whole transcript: with `previous_response_id`, `conversation` or item references the history
stays on the provider's side, where no receipt can be read, so that mode is refused. Calls of the provider's own
tools are passed over; a function called in a namespace is none of a catalog's, which has no namespaces.

Not done here: the API's own client-executed ``tool_search``; the tools list is sent again each step.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surface.adapters.message_values import arguments_of, field, only_text, refuse_anthropic, text_of
from surface.call import CallAnswer
from surface.catalog import ManifestEntry
from surface.content import File, Image, Part, PartKind
from surface.errors import TranscriptError
from surface.failure import reads_as_failure
from surface.prepared_step import PreparedStep
from surface.provider_inputs import OPENAI, with_properties
from surface.transcript import Call, Transcript, TranscriptBuilder

_INPUT_ROLES = ("user", "system", "developer")
_ON_THE_PROVIDERS_SIDE = ("previous_response_id", "conversation")
_WRITTEN_BY_THE_APPLICATION = (
    "additional_tools",
    "apply_patch_call_output",
    "compaction_trigger",
    "computer_call_output",
    "configuration_update",
    "custom_tool_call_output",
    "local_shell_call_output",
    "mcp_approval_response",
)
"""Besides prompts and the outputs of functions: what ends a model's turn."""


@dataclass(frozen=True, slots=True)
class OpenAIResponses:
    """Reads and writes Responses items; stateless."""

    name = "openai-responses"
    tool_name = re.compile(r"[A-Za-z0-9_-]{1,64}")
    inputs = OPENAI
    carries = frozenset({PartKind.TEXT, PartKind.JSON, PartKind.IMAGE, PartKind.FILE, PartKind.RESOURCE_LINK})
    """Images and files as data URLs; there is no form for audio in a function's output."""

    def read(self, messages: Sequence[Any]) -> Transcript:
        """The steps that the items hold; raises TranscriptError, naming the item and what it lacks."""
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            raise TranscriptError("items: needs a list of Responses items")
        builder = TranscriptBuilder()
        known: set[str] = set()
        for at, item in enumerate(messages):
            match field(item, "type") or ("message" if field(item, "role") else None):
                case "function_call":
                    call = _call(item, at)
                    known.add(call.id)
                    builder.assistant([call])
                case "function_call_output":
                    _read_result(item, at, known, builder)
                case "message":
                    _read_message(item, at, builder)
                case str(kind) if kind in _WRITTEN_BY_THE_APPLICATION:
                    builder.end_turn()
                case str(kind) if kind.endswith("_output"):
                    # Of a tool that runs here or at the provider, so it may stand inside a turn: it says nothing.
                    continue
                case str(kind) if kind != "item_reference":
                    # Whatever else there is (reasoning, the provider's own calls) a model wrote in its turn.
                    builder.assistant([])
                case _:
                    raise _unreadable(item, at)
        return builder.build()

    def advertise(self, entries: Iterable[ManifestEntry]) -> list[dict[str, Any]]:
        """The `tools` of a request. Not strict: a catalog's schemas may have optional fields."""
        return [
            {
                "type": "function",
                "name": entry.name,
                "description": entry.description,
                "parameters": with_properties(entry.input_schema),
                "strict": False,
            }
            for entry in entries
        ]

    def answer(self, answers: Sequence[CallAnswer]) -> list[dict[str, Any]]:
        """One ``function_call_output`` item per answer."""
        return [
            {"type": "function_call_output", "call_id": answer.call_id, "output": _output(answer.parts)}
            for answer in answers
        ]


OPENAI_RESPONSES = OpenAIResponses()


def request(step: PreparedStep, items: Sequence[Any], **settings: Any) -> Mapping[str, Any]:
    """The arguments of ``client.responses.create`` for a prepared step.

    What the application's own prepare-step callback asked for wins over `settings`. Other tools in the settings, such
    as the provider's own, stand behind the step's. Raises TranscriptError where the history would stay on the
    provider's side.
    """
    changes = step.changes
    asked = {**settings, **(changes.model_settings or {})}
    for name in _ON_THE_PROVIDERS_SIDE:
        if asked.get(name) is not None:
            raise TranscriptError(
                f"{name}: keeps the history on the provider's side, where no receipt can be read; "
                "leave it out and send the whole transcript as input"
            )
    if changes.instructions is not None:
        asked["instructions"] = changes.instructions
    asked["input"] = list(items if changes.messages is None else changes.messages)
    asked["tools"] = [*step.tools, *(asked.get("tools") or ())]
    return asked


def _unreadable(item: Any, at: int) -> TranscriptError:
    # A reference may leave its type out.
    if isinstance(field(item, "id"), str) and field(item, "type") in ("item_reference", None):
        return TranscriptError(f"items.{at}: an item reference hides history from us; give the item itself")
    return TranscriptError(f"items.{at}.type: needs a type or a role; is this a Responses item?")


def _read_message(item: Any, at: int, builder: TranscriptBuilder) -> None:
    role = field(item, "role")
    refuse_anthropic(field(item, "content"), f"items.{at}.content")
    if role == "assistant" and field(item, "tool_calls") is None:
        builder.assistant([])
    elif role in _INPUT_ROLES:
        builder.other()
    else:
        raise TranscriptError(
            f"items.{at}.role: needs user, system, developer or assistant, without tool_calls; "
            "is this a Chat Completions message?"
        )


def _call(item: Any, at: int) -> Call:
    call_id, name = field(item, "call_id"), field(item, "name")
    if not isinstance(call_id, str) or not isinstance(name, str) or not call_id:
        raise TranscriptError(f"items.{at}: a function_call needs a call_id and a name")
    namespace = field(item, "namespace")
    # No catalog can hold a dot in this dialect, so a call in a namespace is honestly unknown.
    called = f"{namespace}.{name}" if isinstance(namespace, str) and namespace else name
    return Call(id=call_id, name=called, arguments=arguments_of(field(item, "arguments")))


def _read_result(item: Any, at: int, known: set[str], builder: TranscriptBuilder) -> None:
    call_id = field(item, "call_id")
    if not isinstance(call_id, str) or call_id not in known:
        raise TranscriptError(
            f"items.{at}.call_id: no function_call of this id stands before its output; a history kept on the "
            "provider's side (previous_response_id) cannot be read: send the whole transcript"
        )
    text = only_text(field(item, "output"), "input_text")
    builder.result(call_id, text, failed=text is not None and reads_as_failure(text))


def _output(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    if not parts:
        # The API refuses an empty list of parts.
        return ""
    if len(parts) == 1 and not isinstance(parts[0], (Image, File)):
        return text_of(parts[0])
    return [_content(part) for part in parts]


def _content(part: Part) -> dict[str, Any]:
    match part:
        case Image():
            return {"type": "input_image", "image_url": _data_url(part.data, part.media_type), "detail": "auto"}
        case File():
            return {"type": "input_file", "filename": part.name, "file_data": _data_url(part.data, part.media_type)}
        case _:
            return {"type": "input_text", "text": text_of(part)}


def _data_url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode('ascii')}"
