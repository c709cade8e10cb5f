"""One life of an agent process: everything the program is told, as one JSON argument."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

SEARCH = "search_tools"
Turn = Sequence[tuple[str, Mapping[str, Any]]] | str
"""What the scripted model says in one turn: calls (name, arguments), or a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What one process does: take up a conversation, resume, take turns, and stop where it is held."""

    turns: Sequence[Turn] = ()
    run_id: str = "run-1"
    closes: str | None = None
    """An earlier run whose unanswered calls are answered in its own name before this run starts."""
    conversation: str = "main"
    inherits: str | None = None
    """A conversation whose answered turns are copied to the front of a new one."""
    surface: str = "desk"
    catalog: str = "first"
    dialect: str = "anthropic"
    signed: bool = True
    prompt: str | None = None
    """A user's message, recorded after the resume and before the first turn."""
    holds: Sequence[str] = ()
    """Points where the process says so and goes no further."""
    run_again: bool | None = None
    """What the application's own callback says of a call that may have run; None: it has no callback."""
    forgets: int = 0
    """Messages at the front that are replaced by one summary before anything else."""

    def to_json(self) -> str:
        """The argument of the program."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Life:
        """The same life again."""
        return cls(**json.loads(text))


def search(query: str) -> tuple[str, Mapping[str, Any]]:
    """A call of the search tool."""
    return SEARCH, {"query": query}


def call(tool: str) -> tuple[str, Mapping[str, Any]]:
    """A direct call of a tool."""
    return tool, {}
