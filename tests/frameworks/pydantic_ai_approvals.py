"""An application on pydantic-ai whose payments somebody has to approve: one process, killed where it is held.

    python -m tests.frameworks.pydantic_ai_approvals FOLDER DECISION HOLDS

Messages are JSON in the store and the journal is a table beside them. DECISION is JSON: null (nobody has decided yet),
true or false. It says, one JSON object a line: ``asks`` (the tools that wait), ``reached``, last ``answers`` (call id →
what the model reads).
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import sqlite3
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from surface import Surface, create_deferred_agent_tool_surface
from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredTools, catalog_tools
from tests.frameworks.pydantic_ai_agent import Living
from tests.recovery.agent import PATIENCE, Checkpoint, NotedRanker, tell
from tests.recovery.life import call, search
from tests.recovery.store import Deed, Store

RUN_ID = "run-1"
TURNS = [[search("money")], [call("charge"), call("look_up")], "Done."]


@dataclass(frozen=True, slots=True)
class Table:
    """A journal of the application's own: names and texts, each on disk before it is told."""

    path: Path

    async def __call__(self, name: str, work: Callable[[], Coroutine[Any, Any, str]]) -> str:
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=30)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("CREATE TABLE IF NOT EXISTS records (name TEXT PRIMARY KEY, text TEXT NOT NULL)")
            for (text,) in connection.execute("SELECT text FROM records WHERE name = ?", [name]):
                return str(text)
            text = await work()
            connection.execute("INSERT INTO records VALUES (?, ?)", [name, text])
            return text


def deferred_tools(folder: Path, store: Store, checkpoint: Checkpoint) -> DeferredTools:
    """The tools of the application, which every process builds anew."""

    def charge(ctx: RunContext[str]) -> str:
        """Charges a card."""
        return done("charge", ctx)

    def look_up(ctx: RunContext[str]) -> str:
        """Looks a customer up."""
        return done("look_up", ctx)

    def done(name: str, ctx: RunContext[str]) -> str:
        store.note(Deed(what=name, call=str(ctx.tool_call_id)))
        checkpoint.reach(f"inside:{name}")
        return f"{name} done"

    tools = catalog_tools(Tool(charge, requires_approval=True), look_up, read_only=["look_up"])
    controller = create_deferred_agent_tool_surface(
        application="recovery",
        surfaces=[Surface(key="desk", tools=tools)],
        dialect=PYDANTIC_AI,
        ranker=NotedRanker(store, checkpoint),
    )
    return DeferredTools(controller, surface="desk", run_id=RUN_ID, journal=Table(folder / "journal.db"))


async def live(folder: Path, decision: bool | None, holds: Sequence[str]) -> None:  # noqa: FBT001 - from the command line
    """Takes the conversation up, with what was decided about it in the meantime."""
    store, checkpoint = Store(folder / "agent.db"), Checkpoint(holds)
    messages = ModelMessagesTypeAdapter.validate_python(store.messages("main"))
    said = sum(isinstance(message, ModelResponse) for message in messages)
    living = Living(store, checkpoint, "main", list(TURNS[said:]), number=said, messages=messages)
    agent = Agent(
        FunctionModel(living.answer),
        deps_type=str,
        capabilities=[deferred_tools(folder, store, checkpoint), living],
        output_type=[str, DeferredToolRequests],
    )
    decided = None if decision is None else DeferredToolResults(approvals={"call-2": decision})
    prompt = None if messages else "Take the money."
    result = await agent.run(prompt, message_history=messages or None, deps=RUN_ID, deferred_tool_results=decided)
    living.keep(result.all_messages())
    if isinstance(result.output, DeferredToolRequests):
        tell("asks", [each.tool_name for each in result.output.approvals])
        checkpoint.reach("asked")
    parts = [part for message in result.all_messages() for part in message.parts if part.part_kind == "tool-return"]
    tell("answers", {part.tool_call_id: str(part.content) for part in parts})


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    asyncio.run(live(Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])))
