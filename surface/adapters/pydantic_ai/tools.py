"""Tools that are already written for pydantic-ai, as tools of a catalog.

    tools = catalog_tools(refund, Tool(cancel, requires_approval=True), read_only=["look_up"])
    tools = await listed_tools(MCPToolset("https://…"))

They stay pydantic-ai's: schema, injected `RunContext`, validators, hooks, retries, timeouts, approval and streaming are
what they were. The library adds search, activation, gate, fence and evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.tools import Tool as PydanticAITool
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset
from pydantic_ai.usage import RunUsage

from surface.adapters.pydantic_ai.messages import PYDANTIC_AI
from surface.call import CallContext
from surface.errors import ConfigurationError, ToolError
from surface.tool import Tool


class LooseTools(FunctionToolset[Any]):
    """Tools that were given one by one, as an agent's own are: what an agent says of those holds for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTool:
    """The handler of a tool that pydantic-ai runs: where it comes from."""

    toolset: AbstractToolset[Any]

    def __call__(self, _value: Any, _call: CallContext) -> Any:
        """Says that the tool is not there: pydantic-ai runs it wherever its own toolset offers it."""
        raise ToolError("NOT_OFFERED", "This tool is not offered in this step.")


@dataclass(frozen=True, slots=True)
class OwnSchema:
    """The input of such a tool: its schema is read here, its arguments are pydantic-ai's to validate."""

    schema: Mapping[str, Any]

    @property
    def json_schema(self) -> Mapping[str, Any]:
        """As pydantic-ai advertises it."""
        return self.schema

    def validate(self, arguments: Any) -> Any:
        """The arguments themselves."""
        return arguments


def catalog_tools(
    *tools: PydanticAITool[Any] | Callable[..., Any] | FunctionToolset[Any],
    read_only: Collection[str] = (),
    idempotent: Collection[str] = (),
    service: str | None = None,
) -> list[Tool]:
    """Tools for a surface from functions (with or without a `RunContext`), `Tool` objects and function toolsets.

    `read_only` and `idempotent` name those that a restart may run again (MNT-9). Raises ConfigurationError where one of
    these names is none of the tools, two tools have one name, or something else is offered than a tool.
    """
    _require_names(read_only, idempotent)
    written: list[tuple[PydanticAITool[Any], FunctionToolset[Any] | None]] = []
    for each in tools:
        if isinstance(each, FunctionToolset):
            written += [(tool, each) for tool in each.tools.values()]
        elif isinstance(each, PydanticAITool):
            written.append((each, None))
        elif callable(each):
            written.append((PydanticAITool(each), None))
        else:
            raise ConfigurationError(
                f"tools: needs functions, Tool objects or a FunctionToolset, not {type(each).__name__}; "
                "for another toolset: await listed_tools(toolset)"
            )
    twice = sorted(name for name, count in Counter(tool.name for tool, _ in written).items() if count > 1)
    if twice:
        raise ConfigurationError(
            f"tools: more than one is called {', '.join(twice)}; give each a name: Tool(…, name=…)"
        )
    loose = LooseTools([tool for tool, toolset in written if toolset is None])
    made = [_tool(tool.tool_def, toolset or loose, read_only, idempotent, service) for tool, toolset in written]
    return _checked(made, read_only, idempotent)


async def listed_tools(
    toolset: AbstractToolset[Any],
    *,
    deps: Any = None,
    read_only: Collection[str] = (),
    idempotent: Collection[str] = (),
    service: str | None = None,
) -> list[Tool]:
    """The same for any toolset, asked once what it offers; what it does not offer in a step cannot be called in it.

    Unlike a function toolset, it is asked for all its tools in every step, because only it knows which there are.
    Raises ConfigurationError as `catalog_tools` does.
    """
    _require_names(read_only, idempotent)
    given: object = toolset
    if not isinstance(given, AbstractToolset):
        raise ConfigurationError(
            f"toolset: needs a toolset of pydantic-ai, not {type(given).__name__}; for functions and Tool objects: "
            "catalog_tools(…)"
        )
    context = RunContext(deps=deps, model=TestModel(), usage=RunUsage())
    of_run = await toolset.for_run(context)  # one that is made for each run or step has tools only then
    async with of_run:
        offered = await (await of_run.for_run_step(context)).get_tools(context)
    made = [_tool(each.tool_def, toolset, read_only, idempotent, service) for each in offered.values()]
    return _checked(made, read_only, idempotent)


def _tool(
    definition: ToolDefinition,
    toolset: AbstractToolset[Any],
    read_only: Collection[str],
    idempotent: Collection[str],
    service: str | None,
) -> Tool:
    return Tool(
        name=definition.name,
        description=definition.description or "",
        input=OwnSchema(definition.parameters_json_schema),
        handler=OwnTool(toolset=toolset),
        service=service,
        read_only=definition.name in read_only,
        idempotent=definition.name in idempotent,
        framework=PYDANTIC_AI.name,
    )


def _require_names(read_only: object, idempotent: object) -> None:
    for field, names in (("read_only", read_only), ("idempotent", idempotent)):
        if isinstance(names, str | bytes) or not isinstance(names, Collection):
            raise ConfigurationError(f'{field}: needs a list of names, such as ["look_up"], not {type(names).__name__}')


def _checked(made: list[Tool], read_only: Collection[str], idempotent: Collection[str]) -> list[Tool]:
    unknown = sorted({*read_only, *idempotent} - {tool.name for tool in made})
    if unknown:
        raise ConfigurationError(f"read_only, idempotent: none of these tools is called {', '.join(unknown)}")
    return made
