"""The agent program of the recovery tests: one process, one life.

    python -m tests.recovery.agent DATABASE LIFE

It says on standard output, one JSON object a line: ``found`` (the activation of the stored messages, before anything
else), ``advertised`` (the names of each step, and of the step that would follow), and ``reached`` (a point it is held
at, where it then stays until it is killed or its standard input ends).
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surface import (
    DeferredAgentToolSurface,
    MountedRun,
    RankReply,
    RankRequest,
    ReceiptSigner,
    SigningKey,
    create_deferred_agent_tool_surface,
)
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.dialect import Dialect
from surface.testing import (
    AnthropicVoice,
    OpenAIChatVoice,
    OpenAIResponsesVoice,
    ScriptedCall,
    ScriptedModel,
    ScriptedRanker,
    Voice,
)
from tests.recovery.catalogs import Application
from tests.recovery.life import Life
from tests.recovery.store import RANKING, Deed, Store

PATIENCE = 60
"""Seconds after which a process ends itself, so that no failure of a test leaves one behind."""
SIGNER = ReceiptSigner([SigningKey(id="2026-01", secret=b"the secret of the recovery tests")])
PINS = ("audit",)
DIALECTS: dict[str, tuple[Dialect, Voice]] = {
    "anthropic": (ANTHROPIC_MESSAGES, AnthropicVoice()),
    "openai-chat": (OPENAI_CHAT, OpenAIChatVoice()),
    "openai-responses": (OPENAI_RESPONSES, OpenAIResponsesVoice()),
}
ANSWERS = {
    "money": ["charge", "top_up", "look_up"],
    "invoices": ["invoice"],
    "refunds": ["refund", "look_up"],
}


def tell(event: str, value: Any) -> None:
    """One line for whoever watches, in one piece: handlers in several threads may say theirs at once."""
    sys.stdout.write(json.dumps({event: value}) + "\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The points this process is held at."""

    holds: Sequence[str]

    def reach(self, point: str) -> None:
        """Returns at once, or says that the point is reached and stays."""
        if point in self.holds:
            tell("reached", point)
            os.read(sys.stdin.fileno(), 1)


@dataclass(frozen=True, slots=True)
class NotedRanker:
    """A scripted ranker that leaves a deed each time it is asked."""

    store: Store
    checkpoint: Checkpoint
    id: str = "noted"

    async def rank(self, request: RankRequest) -> RankReply:
        self.store.note(Deed(what=RANKING))
        self.checkpoint.reach("ranking")
        return await ScriptedRanker(answers=ANSWERS).rank(request)


@dataclass(slots=True)
class Agent:
    """The loop around a mounted run, committing message by message."""

    life: Life
    store: Store
    checkpoint: Checkpoint
    dialect: Dialect
    voice: Voice
    messages: list[Any]

    async def live(self) -> None:
        """Takes the conversation up, answers what it finds unanswered, then follows the script."""
        controller = self._controller()
        if self.life.closes is not None:
            earlier = controller.mount(run_id=self.life.closes, surface=self.life.surface, pins=PINS)
            self._record(await earlier.resume(self.messages), "closed")
        run = controller.mount(run_id=self.life.run_id, surface=self.life.surface, pins=PINS)
        tell("found", (await run.prepare_step(self.messages)).names)
        self._record(await run.resume(self.messages), "resumed")
        if self.life.prompt is not None:
            self._record(self.voice.asks(self.life.prompt), "asked")
        written = sum(len(step.calls) for step in self.dialect.read(self.messages).steps)
        turns = [
            turn if isinstance(turn, str) else [ScriptedCall(name, arguments) for name, arguments in turn]
            for turn in self.life.turns
        ]
        model = ScriptedModel(self.voice, turns, first_call=written + 1)
        for number in range(1, len(turns) + 1):
            await self._turn(run, model, number)
        tell("advertised", (await run.prepare_step(self.messages)).names)

    async def _turn(self, run: MountedRun, model: ScriptedModel, number: int) -> None:
        step = await run.prepare_step(self.messages)
        tell("advertised", step.names)
        self._record(model.reply(step.names), f"called:{number}")
        answers = await run.dispatch(self.messages)
        self.checkpoint.reach(f"answered:{number}")
        self._record(answers, f"recorded:{number}")

    def _record(self, messages: Sequence[Any], point: str) -> None:
        """Commits each message by itself; `point:1` is reached after the first, `point` after the last."""
        for at, message in enumerate(messages, start=1):
            self.store.append(self.life.conversation, message)
            self.messages.append(message)
            self.checkpoint.reach(f"{point}:{at}")
        self.checkpoint.reach(point)

    def _controller(self) -> DeferredAgentToolSurface:
        again = self.life.run_again
        return create_deferred_agent_tool_surface(
            application="recovery",
            surfaces=Application(self.store, self.checkpoint.reach).surfaces(self.life.catalog),
            dialect=self.dialect,
            ranker=NotedRanker(self.store, self.checkpoint),
            signer=SIGNER if self.life.signed else None,
            on_interrupted=None if again is None else lambda _call: again,
        )


def opened(life: Life, store: Store, dialect: Dialect, voice: Voice) -> list[Any]:
    """The stored messages of a life's conversation, after what it inherits and what it forgets."""
    messages = store.messages(life.conversation)
    if life.inherits is not None:
        # Whoever starts a run from another's history leaves out the turn that the other is still in.
        messages = store.messages(life.inherits)
        while dialect.read(messages).unanswered:
            messages.pop()
        store.replace(life.conversation, messages)
    if life.forgets:
        messages = [*voice.asks("(A summary of what went before.)"), *messages[life.forgets :]]
        store.replace(life.conversation, messages)
    return messages


def main(database: str, argument: str) -> None:
    """Lives one life."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    life, store = Life.from_json(argument), Store(Path(database))
    dialect, voice = DIALECTS[life.dialect]
    checkpoint = Checkpoint(life.holds)
    agent = Agent(life, store, checkpoint, dialect, voice, opened(life, store, dialect, voice))
    checkpoint.reach("opened")
    asyncio.run(agent.live())


if __name__ == "__main__":
    main(*sys.argv[1:])
