"""What a step offers to pydantic-ai: entries that the library answers, and tools that stay in their own toolsets."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import InstructionPart
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool

from surface.adapters.pydantic_ai.tools import LooseTools, OwnTool
from surface.registry import CheckedSurface

Replaced = Mapping[int, AbstractToolset[Any]]
"""By the `id` of a toolset that tools were listed from: what stands for it."""
CONFLICT_HINT = (
    "Give one of the two tools another name, or leave it out of the surface; a surface cannot be prefixed. "
    "The search tool gets its name from create_deferred_agent_tool_surface(search_tool=…)."
)
"""What pydantic-ai adds to its refusal of two tools with one name."""
NOT_OFFERED = ""
"""The `GatedTool.entry` of a step that offers no tool of the surface: the name of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEntry:
    """A tool as its own toolset offers it in a step."""

    home: AbstractToolset[Any]
    """The toolset to call it through: the outermost, whatever that wraps."""
    tool: ToolsetTool[Any]

    @property
    def asks(self) -> bool:
        """Whether pydantic-ai asks for an approval before each call of it."""
        return self.tool.tool_def.kind == "unapproved"


@dataclass(kw_only=True)
class GatedTool(ToolsetTool[Any]):
    """One entry of the toolset; an entry whose name is not `entry` is the gate's for a name that is not offered."""

    entry: str
    own: OwnEntry | None = None
    """The same tool in its own toolset, where pydantic-ai runs it."""

    @property
    def asks(self) -> bool:
        """Whether it is one that needs an approval before each call."""
        return self.own is not None and self.own.asks


def own_toolsets(surface: CheckedSurface) -> list[AbstractToolset[Any]]:
    """The toolsets that a surface's tools come from, each once."""
    handlers = [made.tool.handler for made in surface.catalog.tools.values()]
    return list({id(each.toolset): each.toolset for each in handlers if isinstance(each, OwnTool)}.values())


def own_entry(own: OwnEntry, *, name: str, gate: AbstractToolset[Any], unasked: bool = False) -> GatedTool:
    """The tool as its own toolset describes it, called through the gate.

    It is the surface that defers it: with `defer_loading` pydantic-ai would hide it again behind a search of its own.
    `unasked`: its calls come to the gate without an approval, which asks for one where it lets a call through.
    """
    found, described = own.tool, own.tool.tool_def
    if unasked and own.asks:
        described = replace(described, kind="function")
    return GatedTool(
        toolset=gate,
        tool_def=replace(described, defer_loading=False) if described.defer_loading else described,
        max_retries=found.max_retries,
        args_validator=found.args_validator,
        args_validator_func=found.args_validator_func,
        entry=name,
        own=own,
    )


class OwnToolsets:
    """The toolsets behind one surface, for one run. Everything that pydantic-ai asks of a toolset reaches them."""

    def __init__(self, surface: CheckedSurface, toolsets: Replaced) -> None:
        self._surface = surface
        self._toolsets = dict(toolsets)
        self._offering: list[int] = []
        self._entered = AsyncExitStack()

    @classmethod
    async def for_run(cls, surface: CheckedSurface, replaced: Replaced, ctx: RunContext[Any]) -> OwnToolsets:
        """Each as it wants to be for this run."""
        found = standing([surface], replaced)
        return cls(surface, {key: _timed(await each.for_run(ctx), ctx) for key, each in found.items()})

    async def enter(self) -> None:
        """Enters them all."""
        self._entered = await entered(self._toolsets.values())

    async def leave(self) -> None:
        """Leaves them all."""
        await self._entered.aclose()

    async def next_step(self, ctx: RunContext[Any]) -> None:
        """Each as it wants to be for this step."""
        for key, toolset in self._toolsets.items():
            self._toolsets[key] = await toolset.for_run_step(ctx)

    async def instructions(self, ctx: RunContext[Any]) -> list[str | InstructionPart]:
        """What those say of their tools that offer one in this step; the others stay as hidden as their tools."""
        said: list[str | InstructionPart] = []
        for key in self._offering:
            told = await self._toolsets[key].get_instructions(ctx)
            said += [told] if isinstance(told, str | InstructionPart) else told or []
        return said

    def owns(self, name: str) -> bool:
        """Whether one of these toolsets runs a tool."""
        return self._owner(name) is not None

    async def offer(self, names: Sequence[str], ctx: RunContext[Any]) -> dict[str, OwnEntry]:
        """Those of the tools that their own toolset offers in this step."""
        wanted: dict[int, list[str]] = {}
        for name in names:
            owner = self._owner(name)
            if owner is not None:
                wanted.setdefault(owner, []).append(name)
        tools: dict[str, OwnEntry] = {}
        for owner, some in wanted.items():
            home = _only(self._toolsets[owner], some)
            offered = await home.get_tools(ctx)
            tools |= {name: OwnEntry(home=home, tool=offered[name]) for name in some if name in offered}
        self._offering = [owner for owner, some in wanted.items() if any(name in tools for name in some)]
        return tools

    def _owner(self, name: str) -> int | None:
        made = self._surface.catalog.tools.get(name)
        return id(made.tool.handler.toolset) if made and isinstance(made.tool.handler, OwnTool) else None


def standing(surfaces: Iterable[CheckedSurface], replaced: Replaced) -> dict[int, AbstractToolset[Any]]:
    """The toolsets behind some surfaces, by the `id` of the one that tools were listed from."""
    own = {id(each): each for surface in surfaces for each in own_toolsets(surface)}
    return {key: replaced.get(key, each) for key, each in own.items()}


async def entered(toolsets: Iterable[AbstractToolset[Any]]) -> AsyncExitStack:
    """What leaves these toolsets again; where one cannot be entered, those before it are left at once."""
    async with AsyncExitStack() as entering:
        for toolset in toolsets:
            await entering.enter_async_context(toolset)
        return entering.pop_all()


def _timed(toolset: AbstractToolset[Any], ctx: RunContext[Any]) -> AbstractToolset[Any]:
    """Tools given one by one, with the timeout that the agent (`tool_timeout=`) has for tools of its own."""
    if ctx.agent is None or type(toolset) is not LooseTools:
        return toolset
    own = (each for each in ctx.agent.toolsets if isinstance(each, FunctionToolset) and each.id == "<agent>")
    timed = copy.copy(toolset)
    timed.timeout = next((each.timeout for each in own), None)
    return timed


def _only(toolset: AbstractToolset[Any], names: Iterable[str]) -> AbstractToolset[Any]:
    """A function toolset of these tools alone: preparing hundreds for a step that offers three would take too long."""
    if not isinstance(toolset, FunctionToolset) or type(toolset) not in (FunctionToolset, LooseTools):
        return toolset
    few = copy.copy(toolset)
    few.tools = {name: toolset.tools[name] for name in names if name in toolset.tools}
    return few
