"""The dialect of LangChain's messages.

    run.prepare_step(messages).tools  →  model.bind_tools(…)
    the AIMessage                     →  appended as it is
    run.dispatch(messages)            →  one `ToolMessage` per call

A receipt travels in the artifact of its `ToolMessage`, which is stored and never sent to a model; the visible content
is its projection (RCP-7). What is advertised fails closed: it runs behind `DeferredTools` or `dispatch`, never alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn, TypeGuard

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool

from surface.adapters.message_values import only_text, text_of
from surface.call import CallAnswer
from surface.canonical import canonical_json
from surface.catalog import ManifestEntry
from surface.content import Audio, File, Image, Part, PartKind
from surface.errors import TranscriptError
from surface.provider_inputs import ANY_INPUT
from surface.transcript import UNPARSABLE, Call, Transcript, TranscriptBuilder

RECEIPT = "toolsurface_receipt"
"""The artifact's one key: the receipt as its canonical JSON text."""


class ClosedTool(BaseTool):
    """A tool as a model reads of it, with nothing behind it."""

    registered_by: str = ""
    """The middleware that registered it with an agent."""

    def _run(self, /, **_arguments: Any) -> NoReturn:
        raise RuntimeError(
            f"tool {self.name} runs only behind the gate: add the DeferredTools middleware, and have no reviewer or "
            "middleware make a call of it out of another one"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LangChainMessages:
    """Reads and writes LangChain messages; stateless."""

    name = "langchain"
    carries = frozenset(PartKind)
    inputs = ANY_INPUT
    tool_name: re.Pattern[str] = field(default=re.compile(r"[A-Za-z0-9_-]{1,64}"))
    """What every provider behind LangChain can carry; give your own provider's pattern where it carries more."""

    def read(self, messages: Sequence[Any]) -> Transcript:
        """The steps that the messages hold; raises TranscriptError, naming the message and what it lacks."""
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            raise TranscriptError("messages: needs a list of LangChain messages")
        return _read(messages, unparsable=True)

    def advertise(self, entries: Iterable[ManifestEntry]) -> list[BaseTool]:
        """The tools to bind to the model, in the order of the entries."""
        return [closed_tool(entry) for entry in entries]

    def answer(self, answers: Sequence[CallAnswer]) -> list[ToolMessage]:
        """One `ToolMessage` per answer."""
        return [
            ToolMessage(
                content=_content(answer.parts)
                if answer.receipt is None
                else canonical_json(answer.receipt.projection()),
                artifact=None if answer.receipt is None else {RECEIPT: answer.receipt.to_json()},
                tool_call_id=answer.call_id,
                name=answer.tool,
                status="error" if answer.failed else "success",
            )
            for answer in answers
        ]


LANGCHAIN_MESSAGES = LangChainMessages()


@lru_cache(maxsize=4_096)
def closed_tool(entry: ManifestEntry) -> ClosedTool:
    """The tool that advertises an entry; the same object for the same entry, so that nothing is rebuilt every step."""
    return ClosedTool(name=entry.name, description=entry.description, args_schema=entry.input_schema)


def left_open(messages: Sequence[Any]) -> list[Call]:
    """The calls that the messages end with, unanswered; not those that LangChain could not parse and answers itself."""
    step = _read(messages, unparsable=False).steps[-1:]
    return [] if not step or step[0].passed_over else list(step[0].unanswered)


def latest_of(messages: Sequence[Any], call_id: str | None) -> AIMessage | ToolMessage | None:
    """The last message that holds the call or answers it; an id may have served an earlier turn."""
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            return message
        if holds(message, call_id):
            return message
    return None


def turn_of(messages: Sequence[Any], call_id: str | None) -> int:
    """Where the last message stands that holds the call; raises TranscriptError where there is none."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if holds(message, call_id):
            if (fault := _fault(message, at)) is not None:
                raise TranscriptError(fault)  # with its place among all messages
            return at
    raise TranscriptError("messages: the state holds no AIMessage with the call that is to be answered")


def holds(message: Any, call_id: str | None) -> TypeGuard[AIMessage]:
    """Whether a model wrote the call in this message."""
    return isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls)


def _read(messages: Sequence[Any], *, unparsable: bool) -> Transcript:
    """The transcript; `unparsable`: also the calls whose arguments LangChain could not parse."""
    builder = TranscriptBuilder()
    broken = _unparsable(messages) if unparsable else {}
    for at, message in enumerate(messages):
        if isinstance(message, AIMessage):
            builder.assistant([*_calls(message), *broken.get(at, ())], fault=_fault(message, at))
        elif isinstance(message, ToolMessage):
            builder.result(message.tool_call_id, _receipt_text(message), failed=message.status == "error")
        elif isinstance(message, BaseMessage):
            builder.other()
        else:
            raise TranscriptError(f"messages.{at}: needs a LangChain message, not a {type(message).__name__}")
    return builder.build()


def _unparsable(messages: Sequence[Any]) -> dict[int, list[Call]]:
    """By message: its calls whose arguments are no JSON, those that are answered or can still be.

    LangChain's own agents answer them when they ask the model next, so a history may hold some that nobody answered.
    """
    broken = {at: each.invalid_tool_calls for at, each in enumerate(messages) if isinstance(each, AIMessage)}
    broken = {at: calls for at, calls in broken.items() if calls}
    if not broken:
        return {}
    answered = {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}
    passed = max((at for at, each in enumerate(messages) if not isinstance(each, AIMessage | ToolMessage)), default=-1)
    return {
        at: [
            Call(id=each["id"], name=each["name"] or "", arguments=UNPARSABLE)
            for each in calls
            if each["id"] and (at > passed or each["id"] in answered)
        ]
        for at, calls in broken.items()
    }


def _calls(message: AIMessage) -> list[Call]:
    """The calls of a message that can be answered."""
    return [Call(id=call["id"], name=call["name"], arguments=call["args"]) for call in message.tool_calls if call["id"]]


def _fault(message: AIMessage, at: int) -> str | None:
    """What is wrong with a call that cannot be."""
    for number, call in enumerate(message.tool_calls):
        if not call["id"]:
            return f"messages.{at}.tool_calls.{number}: a call needs an id; make your model give one"
    return None


def _receipt_text(message: ToolMessage) -> str | None:
    """The receipt in the record's hidden part, or else the record's one text."""
    artifact = message.artifact
    hidden = artifact.get(RECEIPT) if type(artifact) is dict else None
    return hidden if isinstance(hidden, str) else only_text(message.content, "text")


def _content(parts: Sequence[Part]) -> str | list[str | dict[Any, Any]]:
    texts = [text_of(part) for part in parts if not isinstance(part, Image | Audio | File)]
    return "".join(texts) if len(texts) == len(parts) < 2 else [_block(part) for part in parts]


def _block(part: Part) -> dict[Any, Any]:
    """A standard content block, which LangChain turns into each provider's own form."""
    match part:
        case Image() | Audio() | File():
            named = {"filename": part.name} if isinstance(part, File) else {}
            data = base64.b64encode(part.data).decode("ascii")
            return {"type": str(part.kind), "base64": data, "mime_type": part.media_type, **named}
        case _:
            return {"type": "text", "text": text_of(part)}
