"""What the demo has observed: plain values, collected while the story runs and judged afterwards in `demo.points`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from demo.events import Answered, Event, Handled, Prepared, Searched
from demo.script import Script
from surface import Receipt, parse_receipt
from surface.canonical import canonical_bytes

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The catalog file, as the application wrote it."""

    services: int
    tools: Mapping[str, Mapping[str, int]]
    """By surface and name: the canonical schema bytes of the tool."""

    @classmethod
    def of(cls, catalog: Mapping[str, Any]) -> Exported:
        """The facts of a parsed catalog file."""
        tools: dict[str, dict[str, int]] = {}
        services: set[str] = set()
        for key, surface in catalog["surfaces"].items():
            tools[key] = {}
            for tool in surface["tools"]:
                entry = {field: tool[field] for field in ("name", "description", "input_schema")}
                tools[key][tool["name"]] = len(canonical_bytes(entry))
                services.add(tool["service"])
        return cls(services=len(services), tools=tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """What the deploy said."""

    release: str
    unchanged: bool
    """The very same index was there already."""
    embedded: int
    versions: Mapping[str, str]
    """The index version of each surface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One agent process, from its start to its end."""

    events: Sequence[Event]
    exit_status: int
    """Negative: the signal that ended it."""
    messages: Sequence[Mapping[str, Any]]
    """The transcript on disk when it had ended."""

    def all(self, kind: type[E]) -> list[E]:
        """Its events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def steps(self, run_id: str) -> list[Prepared]:
        """The steps it prepared for a run."""
        return [step for step in self.all(Prepared) if step.run_id == run_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: a process that was killed, and another that was started on its transcript."""

    script: Script
    killed: Process
    restarted: Process

    def answers(self, wish: str) -> list[Answered]:
        """The recorded results of a call, from both processes."""
        call_id = self.script.call_id(wish)
        return [answer for process in self.processes for answer in process.all(Answered) if answer.call_id == call_id]

    def text(self, wish: str) -> str:
        """The one result of a call; empty where it is not one."""
        answers = self.answers(wish)
        return answers[0].text if len(answers) == 1 else ""

    def receipt(self, wish: str) -> Receipt | None:
        """The receipt in the result of a call."""
        parsed = parse_receipt(self.text(wish))
        return parsed if isinstance(parsed, Receipt) else None

    @property
    def processes(self) -> tuple[Process, Process]:
        """In order of time."""
        return self.killed, self.restarted

    @property
    def steps(self) -> list[Prepared]:
        """The steps of the run, in order."""
        return [step for process in self.processes for step in process.steps(self.script.run_id)]

    @property
    def searches(self) -> list[Searched]:
        """Every search that was answered, in order."""
        return [search for process in self.processes for search in process.all(Searched)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything the story came to."""

    exported: Exported
    deployed: Deployed
    served: Mapping[str, str]
    """The index version of each surface, as the selector said it serves."""
    audit: Run
    cleanup: Run
    address_closed: bool
    """Nobody took connections at the selector's address after it was stopped."""
    seconds: Mapping[str, float]
    """By stage, and the whole as ``total``."""

    @property
    def runs(self) -> tuple[Run, Run]:
        """In order of time."""
        return self.audit, self.cleanup


def handled(process: Process, call_id: str) -> list[Handled]:
    """The handler runs of a call in one process."""
    return [event for event in process.all(Handled) if event.call_id == call_id]
