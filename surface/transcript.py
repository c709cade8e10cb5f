"""The few neutral events that activation needs, whatever dialect the messages are in.

A transcript is the sequence of steps a dialect found in the messages: for each model request the calls that answer
it, and the results recorded for those calls before the next request. A dialect must produce:

- one `Step` per assistant turn, also for a turn without calls; consecutive assistant messages are one turn;
- a `Result` only for a call of the same step; of two results for one call the first counts;
- no call in a step that is over whose id is missing or not its own: nothing tells which result answers it;
- arguments as the JSON value the model wrote, or `UNPARSABLE` where it wrote none.

Whatever else the messages hold (prompts, thinking, other content) leaves no trace here.
"""

from __future__ import annotations

from collections import Counter
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
        self._awaited: Counter[str] = Counter()
        """By call id: how many calls no result has come for."""
        self._repeated: set[str] = set()
        """The ids that several calls of the turn have."""
        self._fault: str | None = None
        self._passed_over = False
        self._in_turn = False

    def assistant(self, calls: Iterable[Call], *, fault: str | None = None) -> None:
        """An assistant message with its calls; raises TranscriptError where an id or a name is no plain text.

        `fault` tells of a call that the message holds besides and that nothing can answer.
        """
        if not self._in_turn or self._calls is None:
            self._closed += self._last()
            self._calls, self._results, self._passed_over = {}, {}, False
            self._awaited, self._repeated, self._fault = Counter(), set(), None
            self._in_turn = True
        self._fault = self._fault or fault
        open_calls = self._calls
        for call in calls:
            if type(call.id) is not str or type(call.name) is not str:
                # A subclass may compare as it likes, and names decide what runs.
                raise TranscriptError("messages: the id and the name of a tool call must be plain text")
            if call.id in open_calls:
                self._repeated.add(call.id)
            self._awaited[call.id] += 1
            open_calls[call.id] = call

    def end_turn(self) -> None:
        """A message that may still answer the turn: it ends the turn and no more."""
        self._in_turn = False

    def result(self, call_id: str, text: str | None, *, failed: bool = False) -> None:
        """A recorded result. One for a call of another step, or a second for the same call, is passed over."""
        self._in_turn = False
        if self._calls is not None and call_id in self._calls:
            self._awaited[call_id] -= 1
            self._results.setdefault(call_id, Result(text=text, failed=failed))

    def other(self) -> None:
        """Any message that is neither: it ends an assistant turn, and nobody can answer that turn behind it."""
        self._in_turn = False
        self._passed_over = True

    def build(self) -> Transcript:
        """The transcript so far.

        Raises TranscriptError where the last turn can still be answered and holds a call that nothing tells from
        another: two with one id, or what a `fault` tells of. In a turn that is over such calls count for nothing.
        """
        if not self._passed_over and self._fault is not None:
            raise TranscriptError(self._fault)
        if not self._passed_over and any(self._awaited[each] > 0 for each in self._repeated):
            raise TranscriptError("messages: one assistant turn holds two tool calls with the same id")
        return Transcript(steps=(*self._closed, *self._last()))

    def _last(self) -> list[Step]:
        """The last step as it stands, where there is one."""
        if self._calls is None:
            return []
        calls = tuple(call for call in self._calls.values() if call.id not in self._repeated)
        results = {call_id: result for call_id, result in self._results.items() if call_id not in self._repeated}
        return [Step(calls=calls, results=MappingProxyType(results), passed_over=self._passed_over)]
