"""The messages of one run, read once: a step reads only what came behind the step before it.

What was read counts as long as it is what it was: a message that was replaced, or a part whose call, receipt or outcome
was edited in place, has everything read anew. Nothing here outlives the run, and nothing in it decides anything.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.tools import ToolDefinition

from surface.adapters.pydantic_ai.messages import PYDANTIC_AI, read_message, receipt_text
from surface.call import CallAnswer
from surface.catalog import ManifestEntry
from surface.transcript import Call, Transcript, TranscriptBuilder


class Reading:
    """Messages as they stood when they were read; another content is another `Reading`."""


class RunMessages:
    """The dialect `PYDANTIC_AI` for the messages of one run."""

    name = PYDANTIC_AI.name
    tool_name = PYDANTIC_AI.tool_name
    inputs = PYDANTIC_AI.inputs
    carries = PYDANTIC_AI.carries

    def __init__(self) -> None:
        self._forget()
        self._definitions: dict[str, ToolDefinition] = {}

    def _forget(self) -> None:
        self._seen: list[tuple[Any, ...]] = []
        self._read: tuple[Any, ...] | None = None
        self._builder = TranscriptBuilder()
        self._reading = Reading()

    def reading(self, messages: Sequence[Any]) -> Reading:
        """The same object as long as the messages are what they were; raises TranscriptError as `read` does."""
        shown = [_content(message) for message in messages]
        known = len(self._seen)
        if shown[:known] != self._seen:
            self._forget()
            known = 0
        if len(shown) > known:
            try:
                for at in range(known, len(shown)):
                    read_message(messages[at], at, self._builder)
            except BaseException:
                self._forget()
                raise
            self._reading = Reading()
            self._seen = shown
        self._read = tuple(messages)
        return self._reading

    def read(self, messages: Sequence[Any]) -> Transcript:
        """The steps that the messages hold; raises TranscriptError, naming the message.

        Where these very messages were read a moment ago, by `reading`, they are not looked at again.
        """
        just_read = (
            self._read is not None and len(messages) == len(self._read) and all(map(operator.is_, messages, self._read))
        )
        if not just_read:
            self.reading(messages)
        self._read = None
        return self._builder.build()

    def left_open(self, messages: Sequence[Any]) -> tuple[Call, ...]:
        """The calls of the last turn that can still be answered; none where something else follows the turn."""
        self.reading(messages)
        steps = self._builder.build().steps
        return () if not steps or steps[-1].passed_over else steps[-1].unanswered

    def advertise(self, entries: Iterable[ManifestEntry]) -> list[ToolDefinition]:
        """Tool definitions, in the order of the entries; each is made once."""
        made = []
        for entry in entries:
            if entry.name not in self._definitions:
                (self._definitions[entry.name],) = PYDANTIC_AI.advertise([entry])
            made.append(self._definitions[entry.name])
        return made

    def answer(self, answers: Sequence[CallAnswer]) -> list[Any]:
        """As `PYDANTIC_AI` does."""
        return list(PYDANTIC_AI.answer(answers))


class CallNumbers:
    """Which of the run's calls of one id each is, from 1; a call that a history processor dropped still counts."""

    def __init__(self) -> None:
        self._given: dict[str, dict[tuple[int, str], int]] = {}

    def number(self, messages: Sequence[ModelMessage], call_id: str, *, step: int) -> int:
        """The number of the last call of this id, the same as often as this step asks."""
        given = self._given.setdefault(call_id, {})
        turn = (step, written_at(messages, call_id))
        if turn not in given:
            shown = sum(1 for _ in _holding(messages, call_id))
            given[turn] = max(shown, 1 + max(given.values(), default=0))
        return given[turn]


def written_at(messages: Sequence[ModelMessage], call_id: str) -> str:
    """When the model wrote the last call of this id, as text: what tells it from a later one, in whatever is left."""
    return next((message.timestamp.isoformat() for message in _holding(reversed(messages), call_id)), "")


def _holding(messages: Iterable[ModelMessage], call_id: str) -> Iterator[ModelResponse]:
    for message in messages:
        if isinstance(message, ModelResponse) and any(call.tool_call_id == call_id for call in message.tool_calls):
            yield message


def _content(message: Any) -> tuple[Any, ...]:
    """What of a message is read, by the objects that hold it: comparing the same objects costs next to nothing."""
    shown: list[Any] = [type(message)]
    for part in getattr(message, "parts", ()):
        if isinstance(part, ToolReturnPart):
            shown += (part.tool_call_id, receipt_text(part), part.outcome)
        elif isinstance(part, ToolCallPart):
            shown += (part.tool_call_id, part.tool_name, part.args)
        elif part.part_kind == "retry-prompt":  # what older releases answer a refused call with
            shown += (part.tool_call_id, part.tool_name)
        shown.append(type(part))
    return tuple(shown)
