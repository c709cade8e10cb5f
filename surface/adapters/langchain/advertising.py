"""What one model request of a LangChain agent shows: the active tools of the catalog beside the agent's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool

from surface.adapters.langchain.messages import ClosedTool
from surface.adapters.langchain.steps import PreparedSteps
from surface.adapters.langchain.tools import native_tool
from surface.catalog_rules import shown
from surface.errors import ConfigurationError
from surface.mounted_run import MountedRun
from surface.prepared_step import PreparedStep, StepChanges


async def advertised(run: MountedRun, request: ModelRequest[Any], steps: PreparedSteps) -> ModelRequest[Any]:
    """The request with the tools of its step, which is kept for the gate; raises what `prepare_step` raises."""
    messages = request.state["messages"]
    _refuse_outputs(run, request.response_format)
    step = await run.prepare_step(messages)
    steps.keep(run, messages, step)
    return _changed(request.override(tools=_arranged(step, run, request.tools)), step.changes)


def refuse_another(offered: Sequence[Any], middleware: str) -> None:
    """Raises ConfigurationError where another DeferredTools has registered or advertised tools in the same agent."""
    if any(isinstance(each, ClosedTool) and each.registered_by != middleware for each in offered):
        raise ConfigurationError(
            "middleware: one agent takes one DeferredTools; put all tools on one surface of one controller, or give "
            "each DeferredTools a sub-agent of its own"
        )


def _refuse_outputs(run: MountedRun, output: Any) -> None:
    """Raises ConfigurationError where a call that ends the run with a structured answer has a name of the surface's."""
    if output is None or isinstance(output, ProviderStrategy):
        return
    # A plain schema and an AutoStrategy become tools, or keep calls of those names from every tool all the same.
    schema = output.schema if isinstance(output, AutoStrategy) else output
    strategy = output if isinstance(output, ToolStrategy) else ToolStrategy(schema)
    named = [spec.name for spec in strategy.schema_specs]
    clashing = sorted(name for name in named if name in run.surface.catalog or name == run.surface.search.name)
    if clashing:
        raise ConfigurationError(
            f"response_format: {', '.join(map(shown, clashing))} would end the run with a structured answer and is a "
            "tool of the surface, too; give one of the two another name"
        )


def _arranged(step: PreparedStep, run: MountedRun, offered: Sequence[Any]) -> list[Any]:
    """The base, the agent's other tools, then what changes from step to step: the beginning stays the same (ACT-8)."""
    tools = run.surface.catalog.tools
    active = [
        (name in run.surface.base, (native_tool(tools[name]) if name in tools else None) or closed)
        for name, closed in zip(step.names, step.tools, strict=True)
    ]
    others = [each for each in offered if not isinstance(each, ClosedTool)]
    named = {name for each in others if (name := _name_of(each)) is not None}
    search = run.surface.search.name
    if search in named:
        raise ConfigurationError(
            f"tools: {shown(search)} is the name of the search tool and of a tool of the agent's own; rename that "
            "one, or give create_deferred_agent_tool_surface another search_tool="
        )
    clashing = sorted(named.intersection(tools))
    if clashing:
        raise ConfigurationError(
            f"tools: {', '.join(map(shown, clashing))} stand in the catalog and among the agent's own tools, which run "
            "without the gate; leave them out of one of the two"
        )
    return [
        *(tool for of_base, tool in active if of_base),
        *others,
        *(tool for of_base, tool in active if not of_base),
    ]


def _name_of(offered: Any) -> str | None:
    if isinstance(offered, BaseTool):
        return offered.name
    function = offered.get("function", offered) if isinstance(offered, dict) else {}
    return function.get("name") if isinstance(function, dict) else None


def _changed(request: ModelRequest[Any], changes: StepChanges) -> ModelRequest[Any]:
    """The request with what the application's own prepare-step asked for (ACT-7)."""
    if changes.instructions is not None:
        told = changes.instructions
        message = told if isinstance(told, SystemMessage) else SystemMessage(told)
        request = request.override(system_message=message)
    if changes.messages is not None:
        request = request.override(messages=list(changes.messages))
    if changes.model_settings is not None:
        request = request.override(model_settings={**request.model_settings, **changes.model_settings})
    return request
