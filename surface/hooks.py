"""What an application may hang around a call, in the order of MNT-2. Every callback may be sync or async.

before_call → validation → fence → lifecycle.before → handler → output validation → lifecycle.after → presenter
→ after_call (always)            on_error: whenever an exception ended the call
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from surface.call import CallContext
from surface.errors import ConfigurationError, ToolSurfaceError

Fence = Callable[[CallContext], bool | Awaitable[bool]]
"""Whether the run still owns its conversation. Asked exactly once per call; False answers FENCED (MNT-4)."""


class FencedError(ToolSurfaceError):
    """The fence said no: what `Hooks.on_error` sees of it."""


class Refused(ToolSurfaceError):  # noqa: N818 - what a lifecycle raises to say no; it is not a mistake
    """Raise it from `Lifecycle.before` to refuse a call; the message is for the model to read."""

    def __init__(self, message: str = "This call was refused.") -> None:
        self.message = message
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """What a service does around each of its operations."""

    before: Callable[[Any, CallContext], Awaitable[None] | None] | None = None
    """Gets the validated input; raises `Refused` to stop the call."""
    after: Callable[[Any, CallContext], Any] | None = None
    """Gets the validated output and returns the one to present."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReport:
    """What `after_call` is told, success or failure."""

    call: CallContext
    outcome: str
    seconds: float
    original_arguments: Any
    """As the model wrote them, or as the framework that owns the loop changed them."""
    effective_arguments: Any
    """As `before_call` left them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Callbacks around every call of a tool; a search is none."""

    before_call: Callable[[Any, CallContext], Any] | None = None
    """Gets the raw arguments and returns the ones to validate (the same, or a replacement)."""
    after_call: Callable[[CallReport], Awaitable[None] | None] | None = None
    """Always called once; its own failure is logged by class name and swallowed."""
    on_error: Callable[[Exception, CallContext], Awaitable[None] | None] | None = None
    """Sees the exception as it was raised, SystemExit and its like too; its own failure is logged by class name and
    swallowed."""


def require_callbacks(hooks: object, fence: object) -> None:
    """Raises ConfigurationError where one of these is given and cannot be called as it has to be."""
    if hooks is not None and not isinstance(hooks, Hooks):
        raise ConfigurationError(f"hooks: needs Hooks(…), not {type(hooks).__name__}")
    if fence is not None and not callable(fence):
        raise ConfigurationError(f"fence: needs a function of the call, not {type(fence).__name__}")
