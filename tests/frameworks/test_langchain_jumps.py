"""Hooks that jump: what of a turn is answered already stays answered, and the model is asked where it has to be."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware.types import AgentMiddleware, hook_config
from langchain.tools import tool as lc_tool
from langchain_core.messages import HumanMessage, ToolMessage

from surface.adapters.langchain.messages import left_open
from tests.frameworks.langchain_agents import agent_of, answers, call
from tests.frameworks.test_langchain_inputs import Desk, written

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


class HoldsBack(AgentMiddleware[Any, Any, Any]):
    """Answers the first call of every turn itself, and has all of its calls made."""

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        calls = state["messages"][-1].tool_calls
        held = [ToolMessage("held back", tool_call_id=each["id"]) for each in calls[:1]]
        return {"messages": held, "jump_to": "tools"} if calls else None


@pytest.mark.rule("MNT-9", "REP-2")
@pytest.mark.parametrize("beside", [False, True])
@BOTH
async def test_a_call_that_a_hook_answered_is_not_made_where_it_jumps_to_the_tools(how: str, *, beside: bool) -> None:
    ran: list[int] = []

    @lc_tool
    def pay(euros: int) -> str:
        """Pays."""
        ran.append(euros)
        return f"paid {euros}"

    @lc_tool
    def look() -> str:
        """Looks."""
        return "saw"

    tools = {"tools": [look], "beside": [pay]} if beside else {"tools": [pay], "always_on": ["pay"]}
    agent = agent_of(after=[HoldsBack()], **tools)
    messages = await agent.ask([[call("pay", euros=1), call("pay", euros=2)], "Done."], how)
    assert ran == [2]
    assert [each.text for each in answers(messages)] == ["held back", "paid 2"]


class Closes(AgentMiddleware[Any, Any, Any]):
    """Answers what an input left open before the model is asked, and has what the model then calls asked anew, once."""

    def __init__(self) -> None:
        super().__init__()
        self.sent_back = False

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if self.sent_back:
            return None
        return {"messages": [ToolMessage("closed", tool_call_id=each.id) for each in left_open(state["messages"])]}

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if self.sent_back:
            return None
        self.sent_back = True
        return {"jump_to": "model"}


@BOTH
async def test_where_a_hook_closed_what_an_input_left_open_no_turn_of_the_models_is_taken_for_the_inputs(
    how: str,
) -> None:
    desk = Desk(after=[Closes()])
    desk.agent.model.turns.insert(0, [call("pay", euros=5)])
    state = await desk.given(how, HumanMessage("Go."), written("look"))
    assert state["messages"][-1].text == "Done."
    assert desk.agent.model.turns == []
    assert desk.ran == []
