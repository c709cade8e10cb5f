"""What the rows of the matrix compare: activations, and what stands in the messages."""

from __future__ import annotations

from tests.recovery.agent import DIALECTS
from tests.recovery.life import SEARCH
from tests.recovery.processes import Home

BASE = (SEARCH, "status", "audit")
"""The base set with the pin."""


def active(*selected: str) -> tuple[str, ...]:
    """What is advertised with these tools selected."""
    return (SEARCH, "status", *selected, "audit")


def heard(home: Home, *, conversation: str = "main", dialect: str = "anthropic") -> dict[str, str]:
    """Call id → the text of its result, as stored."""
    reader, _ = DIALECTS[dialect]
    transcript = reader.read(home.store.messages(conversation))
    return {call_id: result.text or "" for step in transcript.steps for call_id, result in step.results.items()}


def unanswered(home: Home, *, conversation: str = "main", dialect: str = "anthropic") -> list[str]:
    """The names of the stored calls that nothing answers."""
    reader, _ = DIALECTS[dialect]
    return [call.name for call in reader.read(home.store.messages(conversation)).unanswered]
