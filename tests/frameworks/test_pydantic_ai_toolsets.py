"""What pydantic-ai asks of a toolset reaches the toolsets behind a surface, and no two tools share a name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import InstructionPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, WrapperToolset
from pydantic_ai.toolsets._dynamic import DynamicToolset  # the oldest release names it nowhere else
from pydantic_ai.usage import RunUsage

from surface import CatalogError, ConfigurationError, Surface, create_deferred_agent_tool_surface
from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredToolset, catalog_tools, listed_tools
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Desk, close_account, refund

DELEGATED = {
    "for_run",
    "for_run_step",
    "get_instructions",
    "get_tools",
    "call_tool",
    "apply",
    "visit_and_replace",
    "__aenter__",
    "__aexit__",
}
"""What pydantic-ai calls on a toolset for the sake of its tools."""
OF_THE_SURFACE = {"id", "label", "tool_name_conflict_hint", "get_tool_for_tool_def"}
"""What the surface's toolset says for itself; the last one asks `get_tools`."""
COMBINATORS = {
    "approval_required",
    "defer_loading",
    "filtered",
    "include_return_schemas",
    "prefixed",
    "prepared",
    "renamed",
    "with_metadata",
}
"""What wraps a toolset in another and asks nothing of it."""


@dataclass
class Witness(WrapperToolset[Desk]):
    """Notes what is asked of it; each run and each step gets another one that notes in the same place."""

    asked: Counter[str] = field(default_factory=Counter)
    text: str = "Refund with care."

    async def for_run(self, ctx: Any) -> Any:
        self.asked["for_run"] += 1
        return Witness(self.wrapped, self.asked, self.text)

    async def for_run_step(self, ctx: Any) -> Any:
        self.asked["for_run_step"] += 1
        return Witness(self.wrapped, self.asked, f"{self.text}!")

    async def get_instructions(self, ctx: Any) -> Any:
        self.asked["get_instructions"] += 1
        return self.text

    async def get_tools(self, ctx: Any) -> Any:
        self.asked["get_tools"] += 1
        return await super().get_tools(ctx)

    async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
        self.asked["call_tool"] += 1
        return await super().call_tool(name, tool_args, ctx, tool)

    async def __aenter__(self) -> Any:
        self.asked["__aenter__"] += 1
        return await super().__aenter__()

    async def __aexit__(self, *args: Any) -> Any:
        self.asked["__aexit__"] += 1
        return await super().__aexit__(*args)

    def apply(self, visitor: Any) -> None:
        self.asked["apply"] += 1
        super().apply(visitor)

    def visit_and_replace(self, visitor: Any) -> Any:
        self.asked["visit_and_replace"] += 1
        return super().visit_and_replace(visitor)


def test_every_public_method_of_a_toolset_is_accounted_for() -> None:
    public = {name for name in vars(AbstractToolset) if not name.startswith("_")} | {"__aenter__", "__aexit__"}
    new = public - DELEGATED - OF_THE_SURFACE - COMBINATORS
    assert not new, f"this release of pydantic-ai asks toolsets for {sorted(new)}: delegate it in pydantic_ai/offers.py"


async def test_everything_that_is_asked_of_a_toolset_reaches_the_toolsets_behind_a_surface() -> None:
    witness = Witness(FunctionToolset([refund]))
    made = await listed_tools(witness)
    witness.asked.clear()
    bench = Bench(close_account, made=made)
    leaves: list[Any] = []
    bench.deferred.toolset.apply(leaves.append)
    bench.deferred.toolset.visit_and_replace(lambda toolset: toolset)
    assert leaves[0] is bench.deferred.toolset
    assert witness.wrapped in leaves
    await bench.run([SEARCH], [("refund", {"amount": 5})])
    assert set(witness.asked) == DELEGATED
    assert witness.asked["for_run_step"] == len(bench.shown)
    assert witness.asked["__aenter__"] == witness.asked["__aexit__"]


@pytest.mark.parametrize("per_run_step", [False, True])
async def test_a_toolset_that_is_made_for_each_run_or_step_is_listed_as_one_of_them(*, per_run_step: bool) -> None:
    witness = Witness(FunctionToolset([refund]))
    toolset = DynamicToolset[Desk](lambda ctx: witness, per_run_step=per_run_step)
    made = await listed_tools(toolset)
    assert [each.name for each in made] == ["refund"]
    assert witness.asked["__aenter__"] == witness.asked["__aexit__"] == 1
    bench = Bench(made=made)
    await bench.run([SEARCH], [("refund", {"amount": 5})])
    assert bench.desk.did == ["refund 5 in call-1-0"]


async def test_entering_the_agent_keeps_the_toolsets_behind_a_surface_open_from_run_to_run() -> None:
    witness = Witness(FunctionToolset([refund]))
    bench = Bench(made=await listed_tools(witness))
    witness.asked.clear()
    async with bench.agent:
        assert (witness.asked["__aenter__"], witness.asked["__aexit__"]) == (1, 0)
        await bench.run([SEARCH])
        await bench.run([SEARCH])
        assert (witness.asked["__aenter__"], witness.asked["__aexit__"]) == (3, 2)
    assert witness.asked["__aexit__"] == 3


async def test_where_one_toolset_cannot_be_entered_those_before_it_are_left_at_once() -> None:
    class Closed(WrapperToolset[Desk]):
        async def __aenter__(self) -> Any:
            raise ConnectionError

    witness, function = Witness(FunctionToolset([close_account])), FunctionToolset([refund])
    made = [*await listed_tools(witness), *catalog_tools(function)]
    bench = Bench(made=made)
    replaced = {id(function): Closed(function)}
    toolset = DeferredToolset(bench.deferred.toolset.controller, "desk", "run-1", replaced=replaced)
    context: RunContext[Any] = RunContext(deps=Desk(), model=TestModel(), usage=RunUsage())
    for opened in (toolset, await toolset.for_run(context)):
        witness.asked.clear()
        with pytest.raises(ConnectionError):
            await opened.__aenter__()
        assert witness.asked["__aexit__"] == witness.asked["__aenter__"] == 1


async def test_the_instructions_of_a_toolset_come_and_go_with_its_tools() -> None:
    witness = Witness(FunctionToolset([refund]))
    bench = Bench(made=await listed_tools(witness))
    result = await bench.run([SEARCH], [("refund", {"amount": 5})])
    told = [getattr(message, "instructions", None) for message in result.all_messages() if message.kind == "request"]
    # Each step has the toolset of that step: one more mark behind its text.
    assert told == [None, "Refund with care.!!", "Refund with care.!!!"]


async def test_instructions_that_are_a_list_are_told_and_those_of_a_toolset_that_offers_nothing_are_not() -> None:
    class Lists(Witness):
        async def get_instructions(self, ctx: Any) -> Any:
            return [self.text, InstructionPart(content="And log it.")]

        async def for_run(self, ctx: Any) -> Any:
            return self

        for_run_step = for_run

        async def get_tools(self, ctx: Any) -> Any:
            return {name: each for name, each in (await super().get_tools(ctx)).items() if name not in gone}

    gone: set[str] = set()
    bench = Bench(made=await listed_tools(Lists(FunctionToolset([refund]), text="Refund with care.")))
    for taken, told in ((set(), ["And log it.", "Refund with care."]), ({"refund"}, [""])):
        gone |= taken
        result = await bench.run([SEARCH])
        assert sorted((result.all_messages()[2].instructions or "").split("\n\n")) == told


async def test_what_a_visitor_puts_in_the_place_of_a_toolset_runs_its_tools() -> None:
    bench = Bench(refund)
    witnesses: list[Witness] = []

    def wrap(toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        if not isinstance(toolset, FunctionToolset):
            return toolset
        witnesses.append(Witness(toolset))
        return witnesses[-1]

    toolset: Any = bench.deferred.toolset.visit_and_replace(wrap)
    bench.deferred.toolset = toolset
    agent = Agent(FunctionModel(bench._answer), deps_type=Desk, capabilities=[bench.deferred])
    bench.turns = [[SEARCH], [("refund", {"amount": 5})]]
    await agent.run("Go on.", deps=bench.desk)
    assert bench.desk.did == ["refund 5 in call-1-0"]
    assert [witness.asked["call_tool"] for witness in witnesses] == [1]


def test_two_tools_of_one_name_are_refused_where_they_are_given() -> None:
    with pytest.raises(ConfigurationError, match=r"more than one is called refund; give each a name"):
        catalog_tools(refund, FunctionToolset([refund]))
    with pytest.raises(ConfigurationError, match=r"more than one is called refund"):
        catalog_tools(refund, refund)
    for tools, told in [
        ([*catalog_tools(refund), *catalog_tools(refund)], "refund"),
        (catalog_tools(FunctionToolset([search_tools])), "search_tools"),
    ]:
        with pytest.raises(CatalogError, match=told):
            create_deferred_agent_tool_surface(
                application="shop", surfaces=[Surface(key="desk", tools=tools)], dialect=PYDANTIC_AI
            )


def search_tools(query: str) -> str:
    """Finds tools."""
    return query
