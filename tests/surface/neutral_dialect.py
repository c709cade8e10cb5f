"""A dialect whose messages are the neutral values themselves.

It carries every content kind and every name a catalog may hold, so a test sees what the library answered before any
provider's form is put over it. It also proves that the port is not shaped by one provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from surface.call import CallAnswer
from surface.canonical import canonical_json
from surface.catalog import ManifestEntry
from surface.content import Json, PartKind, Text
from surface.errors import TranscriptError
from surface.provider_inputs import ANY_INPUT
from surface.transcript import Call, Transcript, TranscriptBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One assistant turn."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The recorded answers to calls."""

    answers: tuple[CallAnswer, ...]


@dataclass(frozen=True, slots=True)
class NeutralDialect:
    """Reads and writes `Turn` and `Answered`; advertises the entries themselves."""

    name = "neutral"
    tool_name = re.compile(r"[A-Za-z0-9_.-]{1,128}")
    inputs = ANY_INPUT
    carries = frozenset(PartKind)

    def read(self, messages: Sequence[Any]) -> Transcript:
        builder = TranscriptBuilder()
        for message in messages:
            match message:
                case Turn():
                    builder.assistant(message.calls)
                case Answered():
                    for answer in message.answers:
                        builder.result(answer.call_id, _text(answer), failed=answer.failed)
                case str():
                    builder.other()
                case _:
                    raise TranscriptError("messages: needs turns, answers and prompts")
        return builder.build()

    def advertise(self, entries: Iterable[ManifestEntry]) -> list[Any]:
        return list(entries)

    def answer(self, answers: Sequence[CallAnswer]) -> list[Any]:
        return [Answered(answers=tuple(answers))] if answers else []


NEUTRAL = NeutralDialect()


def turn(*calls: Call) -> Turn:
    """One assistant turn with these calls."""
    return Turn(calls=calls)


def call(name: str, arguments: Any = None, *, id: str = "call-1") -> Call:  # noqa: A002 - the field's own name
    """One call; without arguments it takes none."""
    return Call(id=id, name=name, arguments={} if arguments is None else arguments)


def answers_in(messages: Sequence[Any]) -> list[CallAnswer]:
    """Every answer that a dispatch gave, in order."""
    return [answer for message in messages for answer in message.answers]


def the_answer(messages: Sequence[Any]) -> CallAnswer:
    """The one answer that a dispatch gave."""
    (answer,) = answers_in(messages)
    return answer


def error_in(answer: CallAnswer) -> dict[str, str]:
    """What a failed answer tells the model: code, message and, where there is one, hint."""
    (part,) = answer.parts
    assert isinstance(part, Json)
    assert answer.failed
    error: dict[str, str] = part.value["error"]
    return error


def text_in(answer: CallAnswer) -> str:
    """The one text of an answer."""
    (part,) = answer.parts
    assert isinstance(part, Text)
    return part.text


def _text(answer: CallAnswer) -> str | None:
    match answer.parts:
        case (Text(text=text),):
            return text
        case (Json(value=value),):
            return canonical_json(value)
        case _:
            return None
