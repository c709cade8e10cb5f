"""A run as its steps: what each advertised, what was called in it, what came of that; for the table and the JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from demo.events import Answered, Event, Handled, Prepared, Searched, WrittenCall, Wrote
from demo.facts import Run
from surface import Receipt, parse_receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """One call and what came of it."""

    written: WrittenCall
    outcome: str
    """``ok``, the status of a receipt, or the code of a failure."""
    said: str
    """What the answer tells the model of that, in a sentence; empty for ``ok``."""
    failed: bool
    selected: tuple[str, ...]
    """What its receipt selected."""
    request: dict[str, Any] | None
    """What its handler would send, where it ran to its end."""
    search: Searched | None
    after_restart: bool
    """The process that made the call was killed; the next one answered it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """One step."""

    prepared: Prepared
    calls: Sequence[ShownCall]
    restarted: bool
    """It is the first step of the process that was started again."""


def steps_of(run: Run) -> list[ShownStep]:
    """The steps of a run, in order."""
    return list(_steps(run))


def _steps(run: Run) -> Iterator[ShownStep]:
    firsts = [process.steps(run.script.run_id)[:1] for process in run.processes]
    for process in run.processes:
        events = list(process.events)
        for at, event in enumerate(events):
            if isinstance(event, Prepared) and event.run_id == run.script.run_id:
                yield ShownStep(
                    prepared=event,
                    calls=tuple(_calls(run, _of_step(events[at + 1 :]))),
                    restarted=[event] == firsts[1],
                )


def _of_step(following: Sequence[Event]) -> list[Event]:
    """The events up to the next prepared step."""
    end = next((at for at, event in enumerate(following) if isinstance(event, Prepared)), len(following))
    return list(following[:end])


def _calls(run: Run, events: Sequence[Event]) -> Iterator[ShownCall]:
    search = next((event for event in events if isinstance(event, Searched)), None)
    for written in (call for event in events if isinstance(event, Wrote) for call in event.calls):
        answer = _answer(run, written.id)
        receipt = parse_receipt(answer.text)
        known = receipt if isinstance(receipt, Receipt) else None
        outcome, said = _read(answer, known)
        handled = [event for process in run.processes for event in process.all(Handled) if event.call_id == written.id]
        yield ShownCall(
            written=written,
            outcome=outcome,
            said=said,
            failed=answer.failed,
            selected=() if known is None else known.selected,
            request=handled[-1].request if handled and not answer.failed else None,
            # A script searches at most once in a step, and only a search answers well with a receipt.
            search=search if known is not None and not answer.failed else None,
            after_restart=answer in run.restarted.events and not _wrote(run.restarted.events, written.id),
        )


def _answer(run: Run, call_id: str) -> Answered:
    answers = (event for process in run.processes for event in process.all(Answered) if event.call_id == call_id)
    return next(answers, Answered(call_id=call_id, text="", failed=True))


def _wrote(events: Sequence[Event], call_id: str) -> bool:
    return any(call.id == call_id for event in events if isinstance(event, Wrote) for call in event.calls)


def _read(answer: Answered, receipt: Receipt | None) -> tuple[str, str]:
    """The outcome that an answer tells, and its sentence about it."""
    if receipt is not None:
        return receipt.status, receipt.next
    if not answer.text:
        return "unanswered", ""
    if not answer.failed:
        return "ok", ""
    error = json.loads(answer.text)["error"]
    return error["code"], error["message"]
