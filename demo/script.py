"""A scripted model: its turns are written down beforehand, everything around it is real.

Rules kept here:

1. Which turn comes next follows from the messages alone, so a restarted process goes on where the transcript ends.
2. A turn wants calls. Each has its choices in order of preference; the model takes the first that its step advertises,
   as a model would, or the first of all where none is.
3. The id of a call is made of the names of the script and the call: the same in every run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One call that the model wants to make."""

    name: str
    """What the call is for; unique in its script."""
    choices: Sequence[tuple[str, Mapping[str, Any]]]
    """Tools with arguments, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the model answers to one request."""

    says: str
    wishes: Sequence[Wish] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One run of the demo: who asks for what, and every turn of the model."""

    name: str
    run_id: str
    surface: str
    desk: str
    asks: str
    """The person's message."""
    turns: Sequence[Turn]

    def call_id(self, wish: str) -> str:
        """The id of the call that a wish becomes."""
        return f"toolu_{self.name}_{wish}"

    def query(self, wish: str) -> str:
        """The words of the search that a wish is."""
        found: str = next(
            each.choices[0][1]["query"] for turn in self.turns for each in turn.wishes if each.name == wish
        )
        return found

    def opening(self) -> dict[str, Any]:
        """The first message."""
        return {"role": "user", "content": self.asks}

    def step(self, messages: Sequence[Mapping[str, Any]]) -> int:
        """The number of the step that these messages ask for, from 1."""
        return 1 + len([message for message in messages if message["role"] == "assistant"])

    def answer(self, messages: Sequence[Mapping[str, Any]], advertised: Collection[str]) -> dict[str, Any]:
        """The model's next message, as Anthropic's API would answer; IndexError after the last turn."""
        turn = self.turns[self.step(messages) - 1]
        calls = [
            {"type": "tool_use", "id": self.call_id(wish.name), "name": tool, "input": dict(arguments)}
            for wish in turn.wishes
            for tool, arguments in [_chosen(wish, advertised)]
        ]
        return {"role": "assistant", "content": [{"type": "text", "text": turn.says}, *calls]}


def _chosen(wish: Wish, advertised: Collection[str]) -> tuple[str, Mapping[str, Any]]:
    return next((choice for choice in wish.choices if choice[0] in advertised), wish.choices[0])
