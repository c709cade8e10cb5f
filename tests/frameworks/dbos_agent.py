"""A pydantic-ai run as a DBOS workflow on SQLite: one process, started again after it was killed.

    python -m tests.frameworks.dbos_agent FOLDER HOLDS

The first process begins the workflow, a later one finds it in the database and takes it up. Both say on standard
output, one JSON object a line, what `tests.recovery.agent` says too: ``advertised``, ``reached``, last ``answers``.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from surface import create_deferred_agent_tool_surface
from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredTools
from tests.recovery.agent import PATIENCE, PINS, Checkpoint, NotedRanker, tell
from tests.recovery.catalogs import Application
from tests.recovery.life import call, search
from tests.recovery.store import Deed, Store

TURNS = [[search("money")], [call("charge"), call("top_up"), call("look_up")]]
MODEL = "(model)"
RUN_ID = "run-1"


async def recorded(name: str, work: Callable[[], Coroutine[Any, Any, str]]) -> str:
    """A piece of work as a step of the workflow."""
    return await DBOS.run_step_async({"name": name}, work)


def agent_of(store: Store, checkpoint: Checkpoint) -> Agent[None, str]:
    """The agent, which every process builds anew."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        store.note(Deed(what=MODEL))
        tell("advertised", [tool.name for tool in info.function_tools])
        number = sum(isinstance(message, ModelResponse) for message in messages)
        if number == len(TURNS):
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(
            parts=[
                ToolCallPart(tool_name=name, args=dict(arguments), tool_call_id=f"call-{number}-{at}")
                for at, (name, arguments) in enumerate(TURNS[number])
            ]
        )

    controller = create_deferred_agent_tool_surface(
        application="recovery",
        surfaces=Application(store, checkpoint.reach).surfaces("first"),
        dialect=PYDANTIC_AI,
        ranker=NotedRanker(store, checkpoint),
    )
    deferred = DeferredTools(
        controller,
        surface="desk",
        run_id=RUN_ID,
        pins=PINS,
        journal=recorded,
    )
    return Agent(FunctionModel(answer), name="durable", capabilities=[deferred, DBOSDurability()])


async def live(folder: Path, holds: Sequence[str]) -> None:
    """Begins the workflow where there is none yet, and sees it through."""
    store = Store(folder / "agent.db")
    agent = agent_of(store, Checkpoint(holds))

    @DBOS.workflow(name="serve")
    async def serve(prompt: str) -> list[str]:
        result = await agent.run(prompt)
        parts = [part for message in result.all_messages() for part in message.parts]
        return [json.dumps(part.content) for part in parts if isinstance(part, ToolReturnPart)]

    config: DBOSConfig = {
        "name": "recovery",
        "system_database_url": f"sqlite:///{folder / 'dbos.sqlite'}",
        "application_version": "1",
        "log_level": "ERROR",
    }
    DBOS(config=config)
    began = (folder / "dbos.sqlite").exists()
    DBOS.launch()
    try:
        handle: Any
        if began:
            handle = await DBOS.retrieve_workflow_async(RUN_ID)
        else:
            with SetWorkflowID(RUN_ID):
                handle = await DBOS.start_workflow_async(serve, "Take the money.")
        tell("answers", await handle.get_result())
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    asyncio.run(live(Path(sys.argv[1]), json.loads(sys.argv[2])))
