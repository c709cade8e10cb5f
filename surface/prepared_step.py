"""What a step is prepared from and what comes of it (ACT-7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from surface.activation import Activation
from surface.errors import ConfigurationError
from surface.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """What an application's own prepare-step callback is told."""

    context: Any
    """The application's domain context, as given to `mount`."""
    transcript: Transcript
    active: tuple[str, ...]
    """What the step would advertise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChanges:
    """What an application's own prepare-step callback may change. None leaves a thing as it is."""

    instructions: Any = None
    messages: Sequence[Any] | None = None
    model_settings: Mapping[str, Any] | None = None
    active_tools: Collection[str] | None = None
    """Narrows the selection and the pins to these names; it can neither widen the step nor take the base away."""

    def __post_init__(self) -> None:
        if isinstance(self.active_tools, str):
            raise ConfigurationError("active_tools: needs a collection of names, not one string")

    def lets_through(self, name: str) -> bool:
        """Whether the application admits a tool of the selection or the pins."""
        return self.active_tools is None or name in self.active_tools


PrepareStep = Callable[[StepView], StepChanges | Awaitable[StepChanges | None] | None]
"""Called for every prepared step and again when its calls are answered, so it must depend on its argument alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStep:
    """One step, ready to send."""

    tools: list[Any]
    """What to advertise, in the form of the dialect."""
    names: tuple[str, ...]
    """The names advertised, in order."""
    activation: Activation | None
    """Why these; None for a mount without deferral."""
    changes: StepChanges
    """What the application's own callback asked for, to be passed on with the request."""
    present: Mapping[str, int] = field(default_factory=dict)
    """What of it no selection brings, with its schema bytes: search tool, always-on tools, pins."""
