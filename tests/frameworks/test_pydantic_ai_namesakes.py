"""What cannot stand beside a surface in one agent is refused before a model is asked, naming the tool and the fix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext, Tool, ToolOutput
from pydantic_ai.capabilities import AbstractCapability, Toolset
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import CombinedToolset, FunctionToolset, WrapperToolset
from pydantic_ai.usage import RunUsage

from surface import ConfigurationError
from surface.adapters.pydantic_ai.run import RunToolset
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Desk, close_account, refund

REFUND = ("refund", {"amount": 5})


def search_tools(query: str) -> str:
    """Finds tools."""
    return query


def _given(tool: Any, where: str) -> dict[str, Any]:
    toolset: FunctionToolset[Any] = FunctionToolset([tool])
    return {
        "tools": {"tools": [tool]},
        "toolsets": {"toolsets": [toolset]},
        "wrapped": {"toolsets": [toolset.filtered(lambda _, __: True)]},
        "capability": {"capabilities": [Toolset(toolset)]},
    }[where]


@pytest.mark.parametrize("where", ["tools", "toolsets", "wrapped", "capability"])
@pytest.mark.parametrize("tool", [search_tools, refund], ids=["search", "hidden"])
async def test_a_tool_of_the_agents_own_with_a_name_of_the_surfaces_is_refused_with_the_fix(
    tool: Any, where: str
) -> None:
    bench = Bench(refund, **_given(tool, where))
    told = rf"^surface desk: the agent has a tool of its own called {tool.__name__}, .*another name.*\(search_tool=…\)"
    with pytest.raises(ConfigurationError, match=told):
        await bench.run([REFUND])
    assert (bench.shown, bench.desk.did) == ([], [])


@pytest.mark.parametrize("tool", [search_tools, refund], ids=["search", "hidden"])
async def test_a_tool_that_one_run_brings_is_refused_as_well(tool: Any) -> None:
    bench = Bench(refund)
    with pytest.raises(ConfigurationError, match=rf"called {tool.__name__}"):
        await bench.run([REFUND], toolsets=[FunctionToolset([tool])])
    assert bench.shown == []


@pytest.mark.parametrize("name", ["search_tools", "refund"])
async def test_an_output_with_a_name_of_the_surfaces_is_refused(name: str) -> None:
    bench = Bench(refund, output_type=ToolOutput(int, name=name))
    with pytest.raises(ConfigurationError, match=rf"called {name}, .*another name"):
        await bench.run([REFUND])
    assert bench.shown == []


async def test_an_output_with_a_name_of_its_own_ends_the_run() -> None:
    bench = Bench(refund, output_type=ToolOutput(int, name="total"))
    result = await bench.run([SEARCH], [REFUND], [("total", {"response": 5})])
    assert (result.output, bench.desk.did) == (5, ["refund 5 in call-1-0"])


class Adds(AbstractCapability[Any]):
    """Puts a tool of its own over all that the agent has."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        name = self.name

        class Over(WrapperToolset[Any]):
            async def get_tools(self, ctx: Any) -> Any:
                offered = await super().get_tools(ctx)
                given = next(iter(offered.values()))
                mine = replace(given, toolset=self, tool_def=replace(given.tool_def, name=name))
                return {**offered, name: mine}

        return Over(toolset)


@pytest.mark.parametrize(
    ("name", "told"), [("refund", r"a tool of its own called refund"), ("search_tools", r"^search_tools: is not among")]
)
async def test_a_tool_that_another_capability_puts_over_one_of_the_surfaces_is_refused_before_it_runs(
    name: str, told: str
) -> None:
    bench = Bench(refund)
    bench.agent = Agent(FunctionModel(bench._answer), deps_type=Desk, capabilities=[Adds(name), bench.deferred])
    with pytest.raises(ConfigurationError, match=told):
        await bench.run([REFUND])
    assert bench.desk.did == []


async def test_a_test_that_overrides_the_toolsets_is_told_to_override_the_model_alone() -> None:
    bench = Bench(refund)
    bench.turns = [[SEARCH]]
    with bench.agent.override(toolsets=[]), pytest.raises(ConfigurationError, match=r"override the model alone"):
        await bench.agent.run("Go on.", deps=bench.desk)


async def test_a_prefixed_tool_of_the_agents_own_has_another_name() -> None:
    bench = Bench(refund, toolsets=[FunctionToolset([refund, search_tools]).prefixed("own")])
    await bench.run([SEARCH], [("own_refund", {"amount": 1}), REFUND])
    # Calls of one turn run at once, so either may be noted first.
    assert sorted(bench.desk.did) == ["refund 1 in call-1-0", "refund 5 in call-1-1"]


async def test_two_tools_that_are_both_the_agents_own_are_pydantic_ais_affair() -> None:
    bench = Bench(refund, tools=[close_account], toolsets=[FunctionToolset([close_account])])
    with pytest.raises(UserError, match="close_account"):
        await bench.run([SEARCH])


async def test_a_second_surface_in_one_agent_is_refused_in_one_sentence() -> None:
    bench = Bench(refund, capabilities=[Bench(close_account).deferred])
    with pytest.raises(ConfigurationError, match=r"^capabilities: one agent takes one DeferredTools"):
        await bench.run([SEARCH])
    assert bench.shown == []


async def test_a_tool_that_pydantic_ai_would_defer_is_deferred_by_its_surface_alone() -> None:
    bench = Bench(Tool(refund, defer_loading=True), FunctionToolset([close_account], defer_loading=True))
    await bench.run([SEARCH], [REFUND, ("close_account", {})])
    assert bench.shown == [["search_tools"], *[["search_tools", "refund", "close_account"]] * 2]
    assert sorted(bench.desk.did) == ["close", "refund 5 in call-1-0"]


async def test_a_tool_beside_the_surface_that_pydantic_ai_defers_needs_a_search_of_another_name() -> None:
    deferred = Tool(close_account, defer_loading=True)
    with pytest.raises(ConfigurationError, match=r"^surface desk: close_account beside it .* another search_tool=$"):
        await Bench(refund, tools=[deferred]).run([SEARCH])
    bench = Bench(refund, tools=[deferred], controlled={"search_tool": "find_tools"})
    found = ("search_tools", {"queries": ["close account"]})
    await bench.run([("find_tools", {"query": "all"}), found], [REFUND, ("close_account", {})])
    assert sorted(bench.desk.did) == ["close", "refund 5 in call-1-0"]


async def test_a_toolset_without_its_capability_gates_and_has_pydantic_ai_say_how_to_name_a_second_tool() -> None:
    bench = Bench(refund)
    toolset = bench.deferred.toolset
    bench.agent = Agent(FunctionModel(bench._answer), deps_type=Desk, toolsets=[toolset])
    await bench.run([SEARCH], [REFUND])
    assert bench.desk.did == ["refund 5 in call-1-0"]
    bench.agent = Agent(FunctionModel(bench._answer), deps_type=Desk, toolsets=[toolset], tools=[search_tools])
    told = r"toolsurface-shop.*'search_tools'\. Give one of the two tools another name"
    with pytest.raises(UserError, match=told):
        await bench.run([SEARCH])
    assert toolset.id == "toolsurface-shop"


async def test_a_toolset_that_is_asked_outside_a_run_answers_as_in_one() -> None:
    bench = Bench(refund)
    result = await bench.run([SEARCH], [REFUND])
    asked = result.all_messages()[:4]
    before = RunContext(deps=bench.desk, model=TestModel(), usage=RunUsage(), messages=asked[:3])
    toolset = bench.deferred.toolset
    both = CombinedToolset([toolset, FunctionToolset([search_tools])])
    with pytest.raises(UserError, match="'search_tools'"):
        await both.get_tools(before)
    async with toolset as entered, await toolset.for_run(before) as of_run:
        assert (entered, type(of_run)) == (toolset, RunToolset)
        offered = await toolset.get_tools(before)
        called = replace(before, messages=asked, tool_call_id="call-1-0", tool_name="refund")
        given = await toolset.call_tool("refund", {"amount": 7}, called, offered["refund"])
    assert list(offered) == ["search_tools", "refund"]
    assert given.return_value == "refunded 7"
