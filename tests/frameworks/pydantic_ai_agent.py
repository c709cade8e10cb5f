"""The agent program of the recovery tests on pydantic-ai: one process, one life, messages as JSON in the store.

    python -m tests.frameworks.pydantic_ai_agent DATABASE LIFE

It says what `tests.recovery.agent` says. Messages are stored between two nodes of the run, as an application would:
behind each answer of the model and behind each round of results.
"""

from __future__ import annotations

import asyncio
import faulthandler
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, CallToolsNode, ModelRequestNode
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from surface import create_deferred_agent_tool_surface
from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredTools
from tests.recovery.agent import PATIENCE, PINS, SIGNER, Checkpoint, NotedRanker, tell
from tests.recovery.catalogs import Application
from tests.recovery.life import Life
from tests.recovery.store import Store


class OverError(Exception):
    """The life's turns are over; the run stands before the next request."""


@dataclass
class Living(AbstractCapability[str]):
    """Stores the messages between two nodes, and ends the run where the life ends."""

    store: Store
    checkpoint: Checkpoint
    conversation: str
    turns: list[Any]
    number: int = 0
    messages: list[ModelMessage] = field(default_factory=list)

    async def before_node_run(self, ctx: Any, *, node: Any) -> Any:
        if isinstance(node, ModelRequestNode):
            self.keep([*ctx.messages, node.request])
            self.checkpoint.reach(f"recorded:{self.number}" if self.number else "resumed")
            if not self.turns:
                raise OverError
        elif isinstance(node, CallToolsNode):
            self.keep(ctx.messages)
            self.checkpoint.reach(f"called:{self.number}")
        return node

    def keep(self, messages: Sequence[ModelMessage]) -> None:
        """The messages on disk are these."""
        self.messages = list(messages)
        self.store.replace(self.conversation, ModelMessagesTypeAdapter.dump_python(self.messages, mode="json"))

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """The model: the next turn of the life."""
        tell("advertised", [tool.name for tool in info.function_tools])
        turn = self.turns.pop(0)
        self.number += 1
        if isinstance(turn, str):
            return ModelResponse(parts=[TextPart(turn)])
        written = sum(len(message.tool_calls) for message in messages if isinstance(message, ModelResponse))
        return ModelResponse(
            parts=[
                ToolCallPart(tool_name=name, args=arguments, tool_call_id=f"call-{written + at}")
                for at, (name, arguments) in enumerate(turn, start=1)
            ]
        )


async def live(life: Life, store: Store) -> None:
    """Takes the conversation up, answers what it finds unanswered, then follows the script."""
    checkpoint = Checkpoint(life.holds)
    controller = create_deferred_agent_tool_surface(
        application="recovery",
        surfaces=Application(store, checkpoint.reach).surfaces(life.catalog),
        dialect=PYDANTIC_AI,
        ranker=NotedRanker(store, checkpoint),
        signer=SIGNER if life.signed else None,
    )
    deferred = DeferredTools(controller, surface=life.surface, run_id=lambda ctx: ctx.deps, pins=PINS)
    messages = opened(life, store)

    async def active() -> tuple[str, ...]:
        run = controller.mount(run_id=life.run_id, surface=life.surface, pins=PINS)
        return (await run.prepare_step(messages)).names

    tell("found", await active())
    lives: list[tuple[str, str | None, list[Any]]] = [(life.run_id, life.prompt, list(life.turns))]
    if life.closes is not None:
        lives.insert(0, (life.closes, None, []))
    for run_id, prompt, turns in lives:
        living = Living(store, checkpoint, life.conversation, turns, messages=messages)
        agent = Agent(FunctionModel(living.answer), deps_type=str, capabilities=[deferred, living])
        try:
            done = await agent.run(prompt, message_history=messages or None, deps=run_id)
            living.keep(done.all_messages())
        except OverError:
            pass
        messages = living.messages
    tell("advertised", await active())


def opened(life: Life, store: Store) -> list[ModelMessage]:
    """The stored messages of a life's conversation, after what it inherits and what it forgets."""
    messages = ModelMessagesTypeAdapter.validate_python(store.messages(life.inherits or life.conversation))
    if life.inherits is not None:
        # Whoever starts a run from another's history leaves out the turn that the other is still in.
        while messages and isinstance(messages[-1], ModelResponse) and messages[-1].tool_calls:
            messages.pop()
    if life.forgets:
        summary = ModelRequest(parts=[UserPromptPart("(A summary of what went before.)")])
        messages = [summary, *messages[life.forgets :]]
    return messages


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    asyncio.run(live(Life.from_json(sys.argv[2]), Store(Path(sys.argv[1]))))
