"""A tool: one typed operation, and the services that group them.

`@tool` turns a typed function into one; `Tool(...)` takes an explicit input model. A `Service` names its operations
``<service>_<action>`` and shares its scope and lifecycle with them. Nothing is checked here: the catalog lists every
fault of a whole tool set at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surface.content import Presenter
from surface.hooks import Lifecycle
from surface.input_model import InputModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolIdentity:
    """Who a tool is, whatever a provider calls it."""

    service: str | None
    action: str
    scope: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One typed operation."""

    name: str
    """1-128 of ``A-Za-z0-9_.-``; a provider may allow less (CAT-7)."""
    description: str
    input: InputModel
    handler: Callable[..., Any]
    """Called with (validated input, CallContext). Sync handlers run in a worker thread; one that is out of time is
    abandoned and its late result discarded (MNT-5)."""
    output: Any = None
    """The type every output is validated against; None checks nothing."""
    presenter: Presenter | None = None
    """Needs an output type."""
    service: str | None = None
    scope: str | None = None
    action: str | None = None
    """The operation's name within its service; None: the tool's own name."""
    lifecycle: Lifecycle | None = None
    read_only: bool = False
    """Changes nothing: may be run again when a restart finds the call unanswered (MNT-9)."""
    idempotent: bool = False
    """Running it twice with one idempotency key is running it once: may be run again after a restart."""
    timeout: float | None = None
    """Seconds the handler may take; None: as long as it likes."""
    framework: str | None = None
    """The dialect whose framework runs it, and no other mounts it; None: the library runs it, with any dialect."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the function that `@tool` decorated, as before: no validation, fence, lifecycle or hook."""
        return inspect.unwrap(self.handler)(*arguments, **named)

    @property
    def identity(self) -> ToolIdentity:
        """Service, action and scope of this tool."""
        return ToolIdentity(service=self.service, action=self.action or self.name, scope=self.scope)

    @property
    def repeatable(self) -> bool:
        """Whether a restart may run an unanswered call of it again."""
        return self.read_only or self.idempotent


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A named group of operations that share scope and lifecycle."""

    name: str
    tools: Sequence[Tool]
    """The operations; each is named by its action alone, and mounted as ``<service>_<action>``."""
    scope: str | None = None
    lifecycle: Lifecycle | None = None

    def operations(self) -> tuple[Tool, ...]:
        """The contract tools of this service, named and scoped."""
        return tuple(
            replace(
                operation,
                name=f"{self.name}_{operation.name}",
                service=self.name,
                action=operation.name,
                scope=operation.scope or self.scope,
                lifecycle=operation.lifecycle or self.lifecycle,
            )
            for operation in self.tools
        )
