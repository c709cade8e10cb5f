"""How a failure reads in a result: ``{"error": {"code", "message", "hint"?}}``, the same in every dialect."""

from __future__ import annotations

from surface.canonical import sendable
from surface.content import Json, Part

_BEGINNING = '{"error":{"code":"'


def failure_parts(code: str, message: str, hint: str | None = None) -> tuple[Part, ...]:
    """The parts that tell a model what failed and what to do."""
    told = {"code": str(code), "message": sendable(message)} | ({} if hint is None else {"hint": sendable(hint)})
    return (Json(value={"error": told}),)


def reads_as_failure(text: str) -> bool:
    """Whether a recorded text is one of ours, for providers whose records have no flag of their own."""
    return text.startswith(_BEGINNING)
