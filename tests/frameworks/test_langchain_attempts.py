"""What one process knows of a call's attempts, and what it forgets: nothing that has to be right depends on more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt

from surface.adapters.langchain import langchain_tool
from tests.frameworks.langchain_agents import Dies, agent_of, call, last

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
RUN: dict[str, Any] = {"run_id": lambda _: "run-1"}


class Keeps(AgentMiddleware[Any, Any, Any]):
    """Keeps the messages that a model's turn ends, and ends the run there where it is told to."""

    def __init__(self, *, stops: bool) -> None:
        super().__init__()
        self.messages: list[Any] = []
        self._stops = stops

    def after_model(self, state: Any, runtime: Any) -> None:
        if not self.messages and state["messages"][-1].tool_calls:
            self.messages.extend(state["messages"])
            if self._stops:
                raise OSError("stopped")


class Loses(AgentMiddleware[Any, Any, Any]):
    """Fails once behind an answered call, so that its answer never comes to the messages."""

    def __init__(self) -> None:
        super().__init__()
        self._left = ["lost"]

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return self._lost(handler(request))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return self._lost(await handler(request))

    def _lost(self, answered: Any) -> Any:
        if self._left:
            raise OSError(self._left.pop())
        return answered


class Till:
    """A tool that pays, fails as often as it is told to, and notes each time."""

    def __init__(self, *fails: BaseException) -> None:
        self.ran = 0
        left = list(fails)

        @lc_tool
        def pay() -> str:
            """Pays."""
            self.ran += 1
            if left:
                raise left.pop(0)
            return "paid"

        self.pay = pay


@pytest.mark.rule("MNT-9")
@BOTH
async def test_without_a_checkpointer_a_call_whose_answer_was_lost_is_not_run_again_by_who_heard_it(how: str) -> None:
    till, keeps = Till(), Keeps(stops=False)
    agent = agent_of([till.pay], before=[Loses()], after=[keeps], always_on=["pay"], deferred=RUN)
    with pytest.raises(OSError, match="lost"):
        await agent.ask([[call("pay")], "Done."], how)
    assert "INTERRUPTED" in last(await agent.move({"messages": keeps.messages}, how)).text
    assert till.ran == 1


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_that_failed_once_and_then_succeeded_unseen_is_not_run_a_third_time(how: str) -> None:
    till = Till(OSError("no route"))
    agent = agent_of([till.pay], before=[Loses()], always_on=["pay"], checkpointer=InMemorySaver())
    with pytest.raises(OSError, match="no route"):
        await agent.ask([[call("pay")], "Done."], how)
    with pytest.raises(OSError, match="lost"):
        await agent.move(None, how)
    assert "INTERRUPTED" in last(await agent.move(None, how)).text
    assert till.ran == 2


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_worker_that_saw_a_call_wait_does_not_run_again_what_another_worker_has_begun(how: str) -> None:
    ran: list[str] = []
    saver = InMemorySaver()

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append(interrupt("how much?"))
        raise Dies

    waits, begins = (agent_of([pay], always_on=["pay"], checkpointer=saver) for _ in range(2))
    await waits.ask([[call("pay")]], how, durability="sync")
    with suppress(Dies):
        await begins.move(Command(resume="7"), how, durability="sync")
    waits.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await waits.move(None, how, durability="sync")).text
    assert ran == ["7"]


@pytest.mark.rule("MNT-9")
async def test_of_very_many_calls_that_were_heard_those_longest_ago_are_taken_for_begun() -> None:
    till, keeps = Till(), Keeps(stops=True)
    agent = agent_of([till.pay], after=[keeps], always_on=["pay"], deferred=RUN)
    with pytest.raises(OSError, match="stopped"):
        await agent.ask([[call("pay")] * 10_001])
    asked, written = keeps.messages
    for each, told in ((written.tool_calls[0], "INTERRUPTED"), (written.tool_calls[-1], "paid")):
        agent.model.turns.append("Done.")
        alone = written.model_copy(update={"tool_calls": [each]})
        assert told in last(await agent.move({"messages": [asked, alone]})).text
    assert till.ran == 1


class Channels(InMemorySaver):
    """Notes what is written beside the checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.written.extend(channel for channel, _ in writes)
        super().put_writes(config, writes, task_id, task_path)


@pytest.mark.parametrize(("read_only", "notes"), [(True, 0), (False, 2)])
@BOTH
async def test_only_what_may_not_run_twice_is_noted_when_it_begins(how: str, *, read_only: bool, notes: int) -> None:
    till, saver = Till(), Channels()
    agent = agent_of([langchain_tool(till.pay, read_only=read_only)], always_on=["pay"], checkpointer=saver)
    assert last(await agent.ask([[call("pay")], "Done."], how)).text == "paid"
    assert saver.written.count("toolsurface_begun") == notes


class Wraps:
    """A checkpointer of another kind, as far as LangGraph lets one through: nobody knows how it takes a note."""

    def __init__(self, saver: InMemorySaver) -> None:
        self._saver = saver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._saver, name)


@pytest.mark.rule("MNT-9")
@BOTH
async def test_where_no_note_can_be_kept_a_call_that_this_process_did_not_hear_counts_as_begun(how: str) -> None:
    till, saver = Till(), Wraps(InMemorySaver())
    kept: Any = {"config": {"configurable": {"thread_id": "main", CONFIG_KEY_CHECKPOINTER: saver}}}
    first, other = (agent_of([till.pay], always_on=["pay"]) for _ in range(2))
    for agent, ends in ((first, "paid"), (other, "INTERRUPTED")):
        await first.ask([[call("pay")]], how, interrupt_before=["tools"], **kept)
        agent.model.turns.append("Done.")
        assert ends in last(await agent.move(None, how, **kept)).text
    assert till.ran == 1


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_of_the_input_that_may_run_again_and_asks_a_human_goes_on_with_the_answer(how: str) -> None:
    @lc_tool
    def pay() -> str:
        """Pays."""
        return f"paid {interrupt('how much?')}"

    agent = agent_of([pay], always_on=["pay"], checkpointer=InMemorySaver(), options={"on_interrupted": lambda _: True})
    stored = AIMessage("", tool_calls=[{"name": "pay", "args": {}, "id": "stored"}])
    await agent.move({"messages": [HumanMessage("Pay."), stored]}, how)
    agent.model.turns.append("Done.")
    assert last(await agent.move(Command(resume="7"), how)).text == "paid 7"
