"""The agent program of the recovery tests on LangGraph: one process, one life, the graph's state in SQLite.

    python -m tests.frameworks.langgraph_agent FOLDER LIFE

It says on standard output, one JSON object a line: ``found`` (what the stored state makes active), ``advertised`` (the
names of each step), ``reached`` (a point it is held at until it is killed), ``answers`` (call id → text, at the end).
The run ids are the middleware's own, kept in the graph's state.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import InjectedToolCallId
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt

from surface import Surface, Tool, create_deferred_agent_tool_surface
from surface.adapters.langchain import LANGCHAIN_MESSAGES, DeferredTools, langchain_tool
from surface.testing import ScriptedCall
from tests.frameworks.langchain_harness import ScriptedChatModel
from tests.recovery.agent import PATIENCE, PINS, SIGNER, Checkpoint, NotedRanker, tell
from tests.recovery.catalogs import Application
from tests.recovery.store import Deed, Store

APPROVE: Mapping[str, Any] = {"decisions": [{"type": "approve"}]}
Turn = Sequence[tuple[str, Mapping[str, Any]]] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLife:
    """What one process does with one thread."""

    turns: Sequence[Turn] = ()
    prompt: str | None = None
    """A new input, and so a new run; None resumes the graph where it stands."""
    approves: bool = False
    """Resumes with the approval that the graph waits for."""
    asks_for: Sequence[str] = ()
    """Tools that a human has to approve."""
    interrupts: Sequence[str] = ()
    """Tools of LangChain's own that ask a human themselves, inside."""
    thread: str = "main"
    inherits: str | None = None
    """Another thread, whose messages stand before the prompt."""
    surface: str = "desk"
    catalog: str = "first"
    native: bool = False
    """Whether the tools are LangChain's own."""
    sync: bool = False
    forgets: bool = False
    """Whether all messages are replaced by a summary before anything else."""
    holds: Sequence[str] = ()

    def to_json(self) -> str:
        """The argument of the program."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Process:
    """The graph of one life."""

    life: GraphLife
    graph: Any
    middleware: DeferredTools
    model: ScriptedChatModel
    checkpoint: Checkpoint
    config: Mapping[str, Any]

    async def live(self) -> None:
        """Takes the thread up and follows the script, one step of the agent at a time."""
        if self.life.forgets:
            await self._update([RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("(A summary.)")])
        tell("found", await self._found())
        given: Any = None
        if self.life.prompt is not None:
            given = {"messages": [*await self._inherited(), HumanMessage(self.life.prompt)]}
        if self.life.approves:
            given = Command(resume=APPROVE)
        # Up to the next model request, which answers what was left open.
        if given is not None or (await self._state()).next != ("model",):
            await self._move(given, before="model")
        self.checkpoint.reach("resumed")
        for number, turn in enumerate(self.life.turns, start=1):
            said = turn if isinstance(turn, str) else [ScriptedCall(name, arguments) for name, arguments in turn]
            self.model.turns.append(said)
            if f"called:{number}" in self.life.holds:
                await self._move(None, before="tools")
                tell("advertised", self.model.advertised[-1])
                self.checkpoint.reach(f"called:{number}")
            await self._move(None, before="model")
            tell("advertised", self.model.advertised[-1])
            self.checkpoint.reach(f"recorded:{number}")
        messages = (await self._state()).values["messages"]
        tell("answers", {each.tool_call_id: each.text for each in messages if isinstance(each, ToolMessage)})

    async def _found(self) -> Sequence[str]:
        values = (await self._state()).values
        run = self.middleware._mount(values, SimpleNamespace(context=None))
        return (await run.prepare_step(values.get("messages", []))).names

    async def _inherited(self) -> Sequence[Any]:
        if self.life.inherits is None:
            return ()
        messages: Sequence[Any] = (await self._state(_thread(self.life.inherits))).values["messages"]
        return messages

    async def _state(self, config: Mapping[str, Any] | None = None) -> Any:
        config = config or self.config
        return self.graph.get_state(config) if self.life.sync else await self.graph.aget_state(config)

    async def _update(self, messages: Sequence[Any]) -> None:
        if self.life.sync:
            self.graph.update_state(self.config, {"messages": messages}, as_node="tools")
        else:
            await self.graph.aupdate_state(self.config, {"messages": messages}, as_node="tools")

    async def _move(self, given: Any, *, before: str) -> None:
        if self.life.sync:
            self.graph.invoke(given, self.config, interrupt_before=[before], durability="sync")
        else:
            await self.graph.ainvoke(given, self.config, interrupt_before=[before], durability="sync")


def _thread(name: str) -> Mapping[str, Any]:
    return {"configurable": {"thread_id": name}}


def langchains_own(tool: Tool, store: Store, checkpoint: Checkpoint, *, asks: bool) -> Tool:
    """The same tool, as LangChain's."""

    def run(call_id: Annotated[str, InjectedToolCallId]) -> str:
        if asks:
            interrupt("Sure?")
        store.note(Deed(what=tool.name, call=call_id))
        checkpoint.reach(f"inside:{tool.name}")
        return f"{tool.name} done"

    native = StructuredTool.from_function(run, name=tool.name, description=tool.description)
    return langchain_tool(native, read_only=tool.read_only, idempotent=tool.idempotent)


def process_of(life: GraphLife, folder: Path, saver: Any) -> Process:
    """The agent, built anew as every process does."""
    store, checkpoint = Store(folder / "deeds.db"), Checkpoint(life.holds)
    surfaces: list[Surface] = Application(store, checkpoint.reach).surfaces(life.catalog)
    if life.native:
        surfaces = [
            replace(
                each,
                tools=[
                    langchains_own(made, store, checkpoint, asks=made.name in life.interrupts)
                    for made in each.tools
                    if isinstance(made, Tool)
                ],
            )
            for each in surfaces
        ]
    controller = create_deferred_agent_tool_surface(
        application="recovery",
        surfaces=surfaces,
        dialect=LANGCHAIN_MESSAGES,
        ranker=NotedRanker(store, checkpoint),
        signer=SIGNER,
    )
    deferred = DeferredTools(controller, surface=life.surface, pins=PINS)
    approval = [HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(life.asks_for, True))] if life.asks_for else []
    model = ScriptedChatModel(turns=[])
    middleware: list[Any] = [deferred, *approval]
    graph = create_agent(model, middleware=middleware, checkpointer=saver)
    return Process(life, graph, deferred, model, checkpoint, _thread(life.thread))


async def main(folder: Path, life: GraphLife) -> None:
    """Lives one life."""
    path = str(folder / "graph.db")
    with ExitStack() as stack:
        async with AsyncExitStack() as async_stack:
            saver: Any = (
                stack.enter_context(SqliteSaver.from_conn_string(path))
                if life.sync
                else await async_stack.enter_async_context(AsyncSqliteSaver.from_conn_string(path))
            )
            await process_of(life, folder, saver).live()


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    asyncio.run(main(Path(sys.argv[1]), GraphLife(**json.loads(sys.argv[2]))))
