"""Tools of an agent's own that cannot stand beside its surface: refused in one sentence, before a model is asked.

pydantic-ai refuses two tools of one name itself, but only in a step that offers both, and may advise to prefix one of
the two toolsets, which a surface cannot take.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ToolsetTool, WrapperToolset

from surface.adapters.pydantic_ai.offers import CONFLICT_HINT
from surface.adapters.pydantic_ai.run import RunToolset
from surface.adapters.pydantic_ai.withheld import (
    gate_of,
    gates_in,
    left_open,
    lost_search,
    offers_nothing_of_a_surface,
)
from surface.errors import ConfigurationError
from surface.registry import CheckedSurface

_NATIVE_SEARCH = "search_tools"
"""What pydantic-ai calls its own search, which an agent has as soon as one of its tools has `defer_loading`."""


class AllTools(WrapperToolset[Any]):
    """All tools of an agent in one run, but those of its output."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """What a step offers.

        Raises ConfigurationError where a tool cannot stand beside the surface, or the search tool is gone without it.
        """
        gates = gates_in(self.wrapped)
        if len(gates) > 1:
            raise ConfigurationError(
                "capabilities: one agent takes one DeferredTools; put all tools on one surface, or give each "
                "DeferredTools an agent of its own"
            )
        try:
            offered = await self.wrapped.get_tools(ctx)
        except UserError:
            for gate in gates:
                for toolset in _others(self.wrapped):
                    refuse_namesakes(gate.surface, await toolset.get_tools(ctx))
            raise
        for gate in gates:
            refuse_namesakes(gate.surface, beside(offered))
            _refuse_native_search(gate.surface, offered)
            search = gate.surface.search.name
            if search not in offered and not offers_nothing_of_a_surface(offered):
                raise lost_search(search)
            offered |= await left_open(gate, offered, ctx)
        return offered


def refuse_namesakes(surface: CheckedSurface, names: Iterable[str]) -> None:
    """Raises ConfigurationError where one of these names of the agent's own tools is the surface's, too."""
    twice = sorted(name for name in names if name in surface.catalog or name == surface.search.name)
    if twice:
        raise ConfigurationError(
            f"surface {surface.key}: the agent has a tool of its own called {', '.join(twice)}, and so has the "
            f"surface. {CONFLICT_HINT}"
        ) from None


def beside(offered: Mapping[str, ToolsetTool[Any]]) -> list[str]:
    """The names of what is offered and no entry of a surface."""
    return [name for name, tool in offered.items() if gate_of(tool) is None]


def _refuse_native_search(surface: CheckedSurface, offered: Mapping[str, ToolsetTool[Any]]) -> None:
    deferred = sorted(name for name, tool in offered.items() if tool.tool_def.defer_loading)
    if deferred and surface.search.name == _NATIVE_SEARCH:
        raise ConfigurationError(
            f"surface {surface.key}: {', '.join(deferred)} beside it have defer_loading, and pydantic-ai finds those "
            f"by a search of its own that is called {_NATIVE_SEARCH} as well; put them on the surface, or give "
            "create_deferred_agent_tool_surface another search_tool="
        )


def _others(toolset: AbstractToolset[Any]) -> Iterator[AbstractToolset[Any]]:
    """What an agent is put together of beside its surface."""
    if isinstance(toolset, CombinedToolset):
        for each in toolset.toolsets:
            yield from _others(each)
    elif isinstance(toolset, WrapperToolset) and gates_in(toolset):
        yield from _others(toolset.wrapped)
    elif not isinstance(toolset, RunToolset):
        yield toolset
