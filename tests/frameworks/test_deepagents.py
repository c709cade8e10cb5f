"""deepagents: the middleware among its own, and what its sub-agents get."""

from __future__ import annotations

import pytest
from deepagents import create_deep_agent
from langchain.tools import tool as lc_tool

from tests.frameworks.langchain_agents import Turns, agent_of, answers, call, search


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


@pytest.mark.rule("ACT-5")
async def test_a_sub_agent_inherits_no_activation() -> None:
    @lc_tool
    def pay() -> str:
        """Pays."""
        return "paid"

    agent = agent_of([pay], create=create_deep_agent)
    task = call("task", description="Pay.", subagent_type="general-purpose")
    messages = await agent.ask([[search("pay")], [task], [call("pay")], "Nothing to pay with.", "Done."])
    assert "pay" in agent.model.advertised[1]
    assert "pay" not in agent.model.advertised[2]
    assert "paid" not in answers(messages)[-1].text
