"""What the conformance suite needs of an adapter: open a run, let a scripted model take a step, keep the history.

Whoever brings a framework writes one `Harness`: it drives the framework's real loop with a scripted model in place of
the provider, and reports what the model was shown and what it got back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from surface.content import PartKind
from surface.controller import DeferredAgentToolSurface, create_deferred_agent_tool_surface
from surface.dialect import Dialect
from surface.evidence import Evidence
from surface.limits import Limits
from surface.mounted_run import Pins
from surface.ranking import Ranker
from surface.receipt import ReceiptSigner
from surface.registry import Surface
from surface.testing.scripted_model import ScriptedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The application under test: what `create_deferred_agent_tool_surface` gets, apart from the dialect."""

    surfaces: Sequence[Surface]
    ranker: Ranker | None = None
    """None: the local lexical one."""
    limits: Limits = field(default_factory=Limits)
    signer: ReceiptSigner | None = None
    observer: Callable[[Evidence], None] | None = None
    application: str = "conformance"

    def controller(self, dialect: Dialect) -> DeferredAgentToolSurface:
        """The application, built anew as a new process would."""
        return create_deferred_agent_tool_surface(
            application=self.application,
            surfaces=self.surfaces,
            dialect=dialect,
            limits=self.limits,
            ranker=self.ranker,
            signer=self.signer,
            observer=self.observer,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model got back for one call."""

    call: ScriptedCall
    text: str
    kinds: tuple[PartKind, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step as the model saw it."""

    advertised: tuple[str, ...]
    answers: tuple[Answer, ...]


class Session(Protocol):
    """One run on one surface."""

    async def step(self, calls: Sequence[ScriptedCall]) -> StepRecord:
        """Lets the model take a step with these calls (none: it only looks), and answers them."""
        ...

    async def interrupted_step(self, calls: Sequence[ScriptedCall]) -> None:
        """Lets the model take a step whose calls nobody answers: the process died."""
        ...

    async def resume(self) -> tuple[Answer, ...]:
        """Answers what a restart finds unanswered."""
        ...

    def history(self) -> str:
        """The whole message history as JSON text, as the application would store it."""
        ...


class Harness(Protocol):
    """One adapter."""

    @property
    def carries(self) -> frozenset[PartKind]:
        """The content kinds that this adapter tells apart in a result."""
        ...

    def open(
        self,
        scenario: Scenario,
        *,
        run_id: str,
        surface: str,
        history: str | None = None,
        pins: Pins = (),
        context: Any = None,
    ) -> Session:
        """A run, new or continued from a stored history. Builds the controller anew, as a new process would."""
        ...
