"""The few neutral events that activation needs, whatever dialect the messages are in.

A transcript is the sequence of steps a dialect found in the messages: for each model request the calls that answer
it, and the results recorded for those calls before the next request. A dialect must produce:

- one `Step` per assistant turn, also for a turn without calls; consecutive assistant messages are one turn;
- a `Result` only for a call of the same step; of two results for one call the first counts;
- arguments as the JSON value the model wrote, or `UNPARSABLE` where it wrote none.

Whatever else the messages hold (prompts, thinking, other content) leaves no trace here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

from surface.errors import TranscriptError


class Unparsable(Enum):
    """The mark of arguments that are not JSON."""

    UNPARSABLE = "unparsable"


UNPARSABLE = Unparsable.UNPARSABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call that a model wrote."""

    id: str
    name: str
    arguments: Any = field(repr=False)
    """A JSON value, or `UNPARSABLE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What is recorded for a call, as far as a receipt could be in it."""

    text: str | None = field(repr=False)
    """The record's text where it holds exactly one, else None."""
    failed: bool = False
    """Whether the record says that the call failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model request: its calls, in the order written, and the results recorded for them."""

    calls: tuple[Call, ...] = ()
    results: Mapping[str, Result] = field(default_factory=lambda: MappingProxyType({}))
    """By call id."""
    passed_over: bool = False
    """Whether something else than results follows the turn: its open calls can be answered no more."""

    @property
    def unanswered(self) -> tuple[Call, ...]:
        """The calls that no result is recorded for."""
        return tuple(call for call in self.calls if call.id not in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Every step so far, oldest first."""

    steps: tuple[Step, ...] = ()

    @property
    def unanswered(self) -> tuple[Call, ...]:
        """The unanswered calls of the last step.

        Raises TranscriptError where another message already follows them: no provider takes a result behind it.
        """
        if not self.steps:
            return ()
        self.require_open()
        return self.steps[-1].unanswered

    def require_open(self) -> None:
        """Raises TranscriptError where the last turn has unanswered calls and something else follows it already."""
        if self.steps and self.steps[-1].passed_over and self.steps[-1].unanswered:
            raise TranscriptError(
                "messages: something follows the last assistant turn before all its calls are answered; resume on the "
                "messages up to that turn, put the answers behind it, and only then what follows"
            )

    def before_last(self) -> Transcript:
        """The transcript as it was when the last step's request was made."""
        return Transcript(steps=self.steps[:-1])


class TranscriptBuilder:
    """Collects what a dialect reads, in message order, and keeps the rules above."""

    def __init__(self) -> None:
        self._closed: list[Step] = []
        """The steps before the last one: nothing that follows can change them."""
        self._calls: dict[str, Call] | None = None  # before the first turn
        self._results: dict[str, Result] = {}
        self._passed_over = False
        self._in_turn = False

    def assistant(self, calls: Iterable[Call]) -> None:
        """An assistant message with its calls; raises TranscriptError where a call id stands twice in one turn."""
        if not self._in_turn or self._calls is None:
            self._closed += self._last()
            self._calls, self._results, self._passed_over = {}, {}, False
            self._in_turn = True
        open_calls = self._calls
        for call in calls:
            if type(call.id) is not str or type(call.name) is not str:
                # A subclass may compare as it likes, and names decide what runs.
                raise TranscriptError("messages: the id and the name of a tool call must be plain text")
            if call.id in open_calls:
                raise TranscriptError("messages: one assistant turn holds two tool calls with the same id")
            open_calls[call.id] = call

    def end_turn(self) -> None:
        """A message that may still answer the turn: it ends the turn and no more."""
        self._in_turn = False

    def result(self, call_id: str, text: str | None, *, failed: bool = False) -> None:
        """A recorded result. One for a call of another step, or a second for the same call, is passed over."""
        self._in_turn = False
        if self._calls is not None and call_id in self._calls:
            self._results.setdefault(call_id, Result(text=text, failed=failed))

    def other(self) -> None:
        """Any message that is neither: it ends an assistant turn, and nobody can answer that turn behind it."""
        self._in_turn = False
        self._passed_over = True

    def build(self) -> Transcript:
        """The transcript so far."""
        return Transcript(steps=(*self._closed, *self._last()))

    def _last(self) -> list[Step]:
        """The last step as it stands, where there is one."""
        if self._calls is None:
            return []
        results = MappingProxyType(dict(self._results))
        return [Step(calls=tuple(self._calls.values()), results=results, passed_over=self._passed_over)]
