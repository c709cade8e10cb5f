"""A step from which the agent took every tool of its surface, as a `PrepareTools` that returns nothing does.

Such a step advertises none of them, and an answer in words is taken as it is. A call comes to the gate nevertheless, as
it does in every other step, and does not run. The search tool alone cannot be taken away: the tools of the others would
be there to be found, and nothing to find them with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ToolsetTool

from surface.adapters.pydantic_ai.run import RunToolset
from surface.errors import ConfigurationError


class _Withheld(AbstractToolset[Any]):
    """Brings a call to the gate, past whatever stands around it."""

    def __init__(self, gate: RunToolset) -> None:
        self.gate = gate

    @property
    def id(self) -> str:
        """That of the gate."""
        return self.gate.id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """One entry, for any name."""
        entry = replace(self.gate.withheld(ctx), toolset=self)
        return {entry.tool_def.name: entry}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """What the gate answers."""
        return await self.gate.call_tool(name, tool_args, ctx, tool)


async def withheld_entry(gate: RunToolset, ctx: RunContext[Any]) -> ToolsetTool[Any]:
    """What brings a call of a name that is not offered to the gate, whatever name a copy of it is given."""
    # All tools of an agent stand in a CombinedToolset, which calls entries of its own making alone.
    (entry,) = (await CombinedToolset([_Withheld(gate)]).get_tools(ctx)).values()
    return entry


async def left_open(
    gate: RunToolset, offered: Mapping[str, ToolsetTool[Any]], ctx: RunContext[Any]
) -> dict[str, ToolsetTool[Any]]:
    """Entries for the open calls that a restart found of tools that the agent took away: they may have run (MNT-9)."""
    names = [name for name in gate.left_open(ctx) if name not in offered]
    if not names:
        return {}
    entry = await withheld_entry(gate, ctx)
    return {name: under_the_name(entry, name) for name in names}


def under_the_name(entry: ToolsetTool[Any], name: str) -> ToolsetTool[Any]:
    """An entry that stands for the calls of a name."""
    return replace(entry, tool_def=replace(entry.tool_def, name=name))


def gate_of(entry: ToolsetTool[Any]) -> RunToolset | None:
    """The gate that answers the calls of an entry; None for a tool of the agent's own or one that was renamed."""
    toolset = entry.toolset
    if isinstance(toolset, _Withheld):
        return toolset.gate
    return toolset if isinstance(toolset, RunToolset) else None


def gates_in(toolset: AbstractToolset[Any]) -> list[RunToolset]:
    """The surfaces of one run among its tools."""
    found: list[AbstractToolset[Any]] = []
    toolset.apply(found.append)
    return [each for each in found if isinstance(each, RunToolset)]


def offers_nothing_of_a_surface(offered: Mapping[str, ToolsetTool[Any]]) -> bool:
    """Whether none of these tools comes from a surface, not under another name either."""
    return not any(gates_in(each.toolset) for each in offered.values())


def lost_search(search_tool: str) -> ConfigurationError:
    """The refusal of a step that lost its search tool."""
    return ConfigurationError(
        f"{search_tool}: is not among the tools of this step; do not rename, prefix or override it, and filter it only "
        "together with every other tool of the surface (in a test override the model alone: agent.override(model=…))"
    )
