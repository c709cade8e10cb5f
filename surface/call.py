"""One call of a tool: what the handler may know of it, and what came of it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, TypeVar

from surface.content import Part
from surface.receipt import Receipt

T = TypeVar("T")


class Outcome(StrEnum):
    """The library's own outcome codes (MNT-3); an application's `ToolError` brings codes of its own."""

    OK = "ok"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    REFUSED = "REFUSED"
    FENCED = "FENCED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    INTERRUPTED = "INTERRUPTED"
    INTERNAL = "INTERNAL"
    INACTIVE = "INACTIVE"
    UNKNOWN_TOOL = "UNKNOWN_TOOL"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a handler, a hook or a fence is told about its call. No two calls share one (MNT-7)."""

    run_id: str
    surface: str
    call_id: str
    """The provider's id of the call."""
    tool: str
    context: Any = None
    """The application's own domain context, as given to `mount`."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this call, and for no other call (MNT-9): 64 hexadecimal digits."""
        return sha256(json.dumps([self.run_id, self.call_id]).encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """The answer to one call, provider-neutral."""

    call_id: str
    tool: str
    parts: tuple[Part, ...] = field(repr=False)
    outcome: str
    """`Outcome.OK`, another `Outcome`, or the code of the application's `ToolError`."""
    receipt: Receipt | None = None
    """The receipt that the parts hold, for a record with a hidden part for it (RCP-7)."""

    @property
    def failed(self) -> bool:
        """Whether the model should read the parts as a failure."""
        return self.outcome != Outcome.OK


async def settle(value: Awaitable[T] | T) -> T:
    """The value of a callback that may be sync or async."""
    return await value if inspect.isawaitable(value) else value
