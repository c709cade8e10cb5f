"""A pydantic-ai agent whose tool needs an approval: one process, one run, stored after each node as the docs say.

    python -m tests.frameworks.approving_agent FOLDER ACT HOLDS [inline]

ACT is ``ask`` (from a prompt), ``approve`` (the stored messages and an approval) or ``resume`` (the stored messages
alone). With ``inline`` a handler in the run approves. It says ``reached``, and last ``ended``: the call ids that still
wait for an approval, and what the tools gave.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults
from pydantic_graph import End

from surface import Surface, create_deferred_agent_tool_surface
from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredTools, catalog_tools
from tests.recovery.agent import PATIENCE, Checkpoint, tell
from tests.recovery.store import Deed, Store

CALL = "call-1"


def agent_of(store: Store, checkpoint: Checkpoint, *, inline: bool) -> Agent[None, Any]:
    """The agent, which every process builds anew; its model calls `wire` once."""

    def wire(ctx: RunContext[None]) -> str:
        """Wires money, with leave."""
        store.note(Deed(what="wire", call=str(ctx.tool_call_id)))
        checkpoint.reach("inside:wire")
        return "wired"

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        called = any(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse(parts=[TextPart("Done.") if called else ToolCallPart("wire", {}, tool_call_id=CALL)])

    def leave(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        return DeferredToolResults(approvals={call.tool_call_id: True for call in requests.approvals})

    controller = create_deferred_agent_tool_surface(
        application="bank",
        surfaces=[Surface(key="desk", tools=catalog_tools(Tool(wire, requires_approval=True)), always_on=["wire"])],
        dialect=PYDANTIC_AI,
    )
    capabilities: list[Any] = [DeferredTools(controller, surface="desk", run_id="run-1")]
    if inline:
        capabilities.append(HandleDeferredToolCalls(handler=leave))
    return Agent(FunctionModel(answer), capabilities=capabilities, output_type=[str, DeferredToolRequests])


async def live(folder: Path, act: str, checkpoint: Checkpoint, *, inline: bool) -> None:
    """One run, from what is stored unless it asks."""
    agent = agent_of(Store(folder / "deeds.db"), checkpoint, inline=inline)
    stored = folder / "messages.json"
    history = None if act == "ask" else ModelMessagesTypeAdapter.validate_json(stored.read_bytes())
    given = DeferredToolResults(approvals={CALL: True}) if act == "approve" else None
    prompt = "Wire it." if act == "ask" else None
    async with agent.iter(prompt, message_history=history, deferred_tool_results=given) as run:
        node = run.next_node
        while not isinstance(node, End):
            node = await run.next(node)
            stored.write_bytes(ModelMessagesTypeAdapter.dump_json(run.all_messages()))
    assert run.result is not None
    output = run.result.output
    parts = [part for message in run.result.all_messages() for part in message.parts]
    tell(
        "ended",
        {
            "waiting": [call.tool_call_id for call in output.approvals] if not isinstance(output, str) else [],
            "gave": [str(part.content) for part in parts if isinstance(part, ToolReturnPart)],
        },
    )


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    asyncio.run(
        live(Path(sys.argv[1]), sys.argv[2], Checkpoint(json.loads(sys.argv[3])), inline="inline" in sys.argv[4:])
    )
