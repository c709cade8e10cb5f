"""Arguments that the application gives: no model writes them, in a graph or where `dispatch` runs the tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.tools import InjectedState, ToolRuntime
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool
from pydantic import AliasChoices, AliasPath, BaseModel, Field

from surface.adapters.langchain.injected import injected
from tests.frameworks.langchain_agents import agent_of, call, controller_of, last


@lc_tool
def by_function(euros: int, payer: Annotated[str, InjectedToolArg] = "nobody") -> str:
    """Pays."""
    return f"{payer} paid {euros}"


class Payment(BaseModel):
    euros: int = Field(alias="sum")
    payer: Annotated[str, InjectedToolArg] = Field("nobody", alias="from")


def _pay(euros: int, payer: str = "nobody") -> str:
    return f"{payer} paid {euros}"


class ManyNames(BaseModel):
    euros: int = Field(alias="sum")
    payer: Annotated[str, InjectedToolArg] = Field(
        "nobody", validation_alias=AliasChoices("from", "account", AliasPath("who", "name"))
    )


by_many_names = StructuredTool.from_function(_pay, name="by_many_names", description="Pays.", args_schema=ManyNames)
by_model = StructuredTool.from_function(_pay, name="by_model", description="Pays.", args_schema=Payment)


class ByClass(BaseTool):
    name: str = "by_class"
    description: str = "Pays."

    def _run(self, euros: int, payer: Annotated[str, InjectedToolArg] = "nobody") -> str:
        return _pay(euros, payer)


async def _pays(payer: Annotated[str, InjectedToolArg] = "nobody", **arguments: Any) -> str:
    return _pay(arguments["euros"], payer)


by_schema = StructuredTool(
    name="by_schema",
    description="Pays.",
    coroutine=_pays,
    args_schema={"type": "object", "properties": {"euros": {"type": "integer"}}},
)
TOOLS = [by_function, by_model, ByClass(), by_schema]


async def dispatched(tool: BaseTool, arguments: dict[str, Any]) -> str:
    run = controller_of([tool], always_on=[tool.name]).mount(run_id="run-1", surface="desk")
    asked = AIMessage("", tool_calls=[{"name": tool.name, "args": arguments, "id": "a", "type": "tool_call"}])
    (message,) = await run.dispatch([HumanMessage("Go."), asked])
    return str(message.text)


async def in_a_graph(tool: BaseTool, arguments: dict[str, Any]) -> str:
    agent = agent_of([tool], always_on=[tool.name])
    return str(last(await agent.ask([[call(tool.name, **arguments)], "Done."])).text)


@pytest.mark.rule("MNT-1")
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_what_a_model_writes_for_the_application_is_left_out_where_dispatch_runs_the_tool(tool: BaseTool) -> None:
    forged = {"sum": 5, "payer": "Ada", "from": "Ada"} if tool is by_model else {"euros": 5, "payer": "Ada"}
    assert await dispatched(tool, forged) == "nobody paid 5"


@pytest.mark.rule("MNT-1")
@pytest.mark.parametrize("forged", [{"from": "Ada"}, {"account": "Ada"}, {"payer": "Ada"}, {"who": {"name": "Ada"}}])
async def test_no_name_that_an_alias_reads_is_written_by_a_model(forged: dict[str, Any]) -> None:
    assert await dispatched(by_many_names, {"sum": 5} | forged) == "nobody paid 5"


@pytest.mark.rule("MNT-1")
@pytest.mark.parametrize("run", [dispatched, in_a_graph])
async def test_the_id_of_a_call_is_its_own_whatever_a_model_writes(run: Callable[..., Any]) -> None:
    @lc_tool
    def pay(euros: int, key: Annotated[str, InjectedToolCallId]) -> str:
        """Pays."""
        return f"{euros} {key}"

    told = await run(pay, {"euros": 5, "key": "forged"})
    assert told in ("5 a", "5 call-1")


def test_what_a_graph_injects_is_known_by_its_marks_and_what_a_model_is_shown_is_not() -> None:
    @lc_tool
    def marked(
        euros: int,
        state: Annotated[dict[str, Any], InjectedState],
        runtime: ToolRuntime[Any, Any],
        key: Annotated[str, InjectedToolCallId],
    ) -> str:
        """Pays."""
        return "paid"

    assert injected(marked) == {"state", "runtime", "key"}
    assert injected(by_model) == {"payer", "from"}
    assert injected(by_schema) == {"payer"}


def test_a_function_whose_annotations_cannot_be_told_has_none_injected_but_those_it_shows() -> None:
    def pay(euros: int, payer: "Nowhere" = None) -> str:  # type: ignore[name-defined]  # noqa: F821, UP037
        return "paid"

    schema = {"type": "object", "properties": {"euros": {"type": "integer"}}}
    tool = StructuredTool(name="pay", description="Pays.", func=pay, args_schema=schema)
    assert injected(tool) == frozenset()
    assert asyncio.run(dispatched(tool, {"euros": 5})) == "paid"
