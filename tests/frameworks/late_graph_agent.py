"""An agent whose checkpoints are stored late, by LangGraph's default durability: one process, one life.

    python -m tests.frameworks.late_graph_agent FOLDER LIFE

It says on standard output, one JSON object a line: ``reached`` (a point it is held at until it is killed) and ``ended``
(the last message). Each payment leaves a line in the file ``paid``. The models say what they are told, and to the
answers they say those again.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from surface.adapters.langchain import DeferredTools
from tests.frameworks.langchain_agents import call, controller_of
from tests.frameworks.langchain_harness import ScriptedChatModel
from tests.recovery.agent import PATIENCE, Checkpoint, tell

LATE = 0.15
"""Seconds that each checkpoint takes to be stored: longer than a scripted turn, as where a store is in another town."""
THREAD: dict[str, Any] = {"configurable": {"thread_id": "main"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class LateLife:
    """What one process does."""

    begins: bool
    """Whether it asks; else it takes up what an earlier one left."""
    sync: bool
    helpers: int
    """How many sub-agents pay at once; 0 has the agent itself pay."""
    never: bool = False
    """Whether the checkpoint that holds a turn of the model is not stored in this life; else each is stored late."""
    outermost: bool = False
    """Whether the checkpoints of the outermost graph alone are stored late, as where its state is the largest."""
    holds: Sequence[str] = ()

    def to_json(self) -> str:
        """The argument of the program."""
        return json.dumps(asdict(self))


class LateSaver(SqliteSaver):
    """Takes its time over checkpoints, not over what is pending on them."""

    life: ClassVar[LateLife]

    def put(self, config: Any, checkpoint: Any, *others: Any) -> Any:
        time.sleep(_lateness(self.life, config, checkpoint))
        return super().put(config, checkpoint, *others)


class LateAsyncSaver(AsyncSqliteSaver):
    """The same, for async graphs."""

    life: ClassVar[LateLife]

    async def aput(self, config: Any, checkpoint: Any, *others: Any) -> Any:
        await asyncio.sleep(_lateness(self.life, config, checkpoint))
        return await super().aput(config, checkpoint, *others)


def _lateness(life: LateLife, config: Any, checkpoint: Any) -> float:
    """Seconds until a checkpoint is stored."""
    if life.outermost and config["configurable"]["checkpoint_ns"]:
        return 0
    messages = checkpoint["channel_values"].get("messages") or [None]
    turn = isinstance(messages[-1], AIMessage) and bool(messages[-1].tool_calls)
    return LATE if not life.never else 2 * PATIENCE if turn else 0


class Repeats(ScriptedChatModel):
    """Says what it is told, and once there are answers, what they are."""

    def _say(self, messages: Sequence[BaseMessage]) -> AIMessage:
        answered = [str(message.text) for message in messages if isinstance(message, ToolMessage)]
        return AIMessage("; ".join(answered)) if answered else super()._say(messages)


def graph_of(life: LateLife, folder: Path, saver: Any) -> Any:
    """The agent, built anew as every process does."""
    checkpoint = Checkpoint(life.holds)

    @lc_tool
    def pay(whom: str) -> str:
        """Pays."""
        with (folder / "paid").open("a") as paid:
            paid.write(f"{whom}\n")
        checkpoint.reach(f"inside:{whom}")
        return f"{whom} is paid"

    def deferred() -> DeferredTools:
        return DeferredTools(controller_of([pay], always_on=["pay"]), surface="desk")

    whom = [f"helper-{number}" for number in range(life.helpers)]
    if not whom:
        model = Repeats(turns=[[call("pay", whom="main")]] if life.begins else [])
        return create_agent(model, middleware=[deferred()], checkpointer=saver)
    tasks = [call("task", description=each, subagent_type="payer") for each in whom]
    payer = {
        "name": "payer",
        "description": "Pays.",
        "system_prompt": "Pay.",
        "tools": [],
        "model": Repeats(turns=[[call("pay", whom=each)] for each in whom] if life.begins else []),
        "middleware": [deferred()],
    }
    model = Repeats(turns=[tasks] if life.begins else [])
    made: Any = create_deep_agent
    return made(model=model, middleware=[deferred()], subagents=[payer], checkpointer=saver)


async def main(folder: Path, life: LateLife) -> None:
    """Lives one life."""
    LateSaver.life = LateAsyncSaver.life = life
    path = str(folder / "graph.db")
    given = {"messages": [HumanMessage("Pay.")]} if life.begins else None
    with ExitStack() as stack:
        async with AsyncExitStack() as async_stack:
            if life.sync:
                saver = stack.enter_context(LateSaver.from_conn_string(path))
                ended = graph_of(life, folder, saver).invoke(given, THREAD)
            else:
                late = await async_stack.enter_async_context(LateAsyncSaver.from_conn_string(path))
                ended = await graph_of(life, folder, late).ainvoke(given, THREAD)
    tell("ended", str(ended["messages"][-1].text))


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    asyncio.run(main(Path(sys.argv[1]), LateLife(**json.loads(sys.argv[2]))))
