"""A model that says what a script tells it, in a provider's own form.

model = ScriptedModel(AnthropicVoice(), [[ScriptedCall("search_tools", {"query": "…"})], "Done."])
while not model.done:
    step = await run.prepare_step(messages)
    messages += model.reply(step.names)
    messages += await run.dispatch(messages)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from surface.testing.voices import Voice


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One tool call of a turn."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class ScriptedModel:
    """Replays turns: each is a text, or the calls made in parallel."""

    def __init__(self, voice: Voice, turns: Sequence[Sequence[ScriptedCall] | str], *, first_call: int = 1) -> None:
        self._voice = voice
        self._turns = list(turns)
        self._calls = first_call
        self.advertised: list[tuple[str, ...]] = []
        """The names this model was shown, step by step."""

    @property
    def done(self) -> bool:
        """Whether the script has no turn left."""
        return not self._turns

    def reply(self, advertised: Sequence[str]) -> list[Any]:
        """The messages of the next turn. Call ids are ``call-1``, ``call-2`` … in the order written.

        Raises AssertionError where the script is over: the run under test took a step more than it should.
        """
        if self.done:
            raise AssertionError(f"the script is over after {len(self.advertised)} turns; look at `done`")
        self.advertised.append(tuple(advertised))
        turn = self._turns.pop(0)
        if isinstance(turn, str):
            return self._voice.says(turn)
        calls = [(f"call-{self._calls + at}", call.name, dict(call.arguments)) for at, call in enumerate(turn)]
        self._calls += len(calls)
        return self._voice.calls(calls)
