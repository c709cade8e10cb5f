"""deepagents: the middleware among its own, and what its sub-agents get."""

from __future__ import annotations

import pytest
from deepagents import create_deep_agent
from langchain.tools import tool as lc_tool

from surface.adapters.langchain import DeferredTools
from tests.frameworks.langchain_agents import Turns, agent_of, answers, call, controller_of, search


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.rule("SRC-1", "REP-1", "REP-3", "ACT-8")
async def test_a_deep_agent_keeps_its_own_tools_and_defers_the_catalogs(how: str) -> None:
    @lc_tool
    def pay(euros: int) -> str:
        """Pays."""
        return f"paid {euros}"

    agent = agent_of([pay], create=create_deep_agent)
    turns: Turns = [[call("pay", euros=1), call("nope")], [call("pay", euros=2), call("ls", path="/")], "Done."]
    hidden, unknown, paid, listed = answers(await agent.ask(turns, how))
    assert "SEARCH_REQUIRED" in hidden.text
    assert "UNKNOWN_TOOL" in unknown.text
    assert paid.text == "paid 2"
    assert (listed.name, listed.status) == ("ls", "success")
    first, second = agent.model.advertised[:2]
    assert first[0] == "search_tools"
    assert {"ls", "task"} <= set(first)
    assert "pay" not in first
    assert second == (*first, "pay")


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.rule("ACT-5", "SRC-1")
async def test_a_sub_agent_with_the_same_catalog_starts_with_the_base_set_and_leaves_the_parents_alone(
    how: str,
) -> None:
    @lc_tool
    def pay() -> str:
        """Pays."""
        return "paid"

    agent = agent_of([pay])
    helper = {
        "name": "helper",
        "description": "Helps.",
        "system_prompt": "Help.",
        "model": agent.model,
        "tools": [],
        "middleware": [DeferredTools(controller_of([pay]), surface="desk")],
    }
    parent = agent_of([pay], create=create_deep_agent, subagents=[helper])
    helping = call("task", description="Pay.", subagent_type="helper")
    agent.model.turns.extend([[call("pay")], [search("pay")], [call("pay")], "Paid it."])
    messages = await parent.ask([[search("pay")], [helping], [call("pay")], "Done."], how)
    assert ["pay" in names for names in agent.model.advertised] == [False, True, True, True]
    assert ["pay" in names for names in parent.model.advertised] == [False, True, True, True]
    _, helped, paid = answers(messages)
    assert (helped.text, paid.text) == ("Paid it.", "paid")
