"""Running a single call of a single tool, through the public mount."""

from __future__ import annotations

from typing import Any

from surface import AgentMount, Hooks, Tool, mount_agent
from surface.call import CallAnswer
from surface.evidence import Observer
from surface.hooks import Fence
from tests.surface.neutral_dialect import NEUTRAL, call, the_answer, turn


def mounted(
    *tools: Tool, hooks: Hooks | None = None, fence: Fence | None = None, observer: Observer | None = None
) -> AgentMount:
    """These tools, mounted without deferral on the neutral dialect."""
    return mount_agent(tools, dialect=NEUTRAL, hooks=hooks, fence=fence, observer=observer)


async def answer_of(
    tool: Tool,
    arguments: Any = None,
    *,
    hooks: Hooks | None = None,
    fence: Fence | None = None,
    observer: Observer | None = None,
    context: Any = None,
) -> CallAnswer:
    """The answer to one call of `tool`."""
    run = mounted(tool, hooks=hooks, fence=fence, observer=observer).mount(run_id="run-1", context=context)
    return the_answer(await run.dispatch([turn(call(tool.name, arguments))]))
