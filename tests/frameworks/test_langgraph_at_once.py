"""A call that begins a moment after the model wrote it (MNT-9): one look at the store is enough, none too few."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from surface.adapters.langchain.journal import Journal
from tests.frameworks.langchain_agents import Agent, Dies, agent_of, answers, call, dying, last, prune

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
MAIN: Any = {"configurable": {"thread_id": "main"}}


class Looks(InMemorySaver):
    """Notes which checkpoints are asked for by their ids, as LangGraph itself does not while it goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        if wanted := config["configurable"].get("checkpoint_id"):
            self.asked.append(wanted)
        return super().get_tuple(config)


@lc_tool
def pay() -> str:
    """Pays."""
    return "paid"


@BOTH
@pytest.mark.parametrize("create", [create_agent, create_deep_agent])
async def test_a_call_looks_at_the_one_checkpoint_that_the_model_wrote_it_from(
    how: str, create: Callable[..., Any]
) -> None:
    saver = Looks()
    agent = agent_of([pay], always_on=["pay"], create=create, checkpointer=saver)
    messages = await agent.ask([[call("pay")], [call("pay"), call("pay")], "Done."], how)
    assert [each.text for each in answers(messages)] == ["paid"] * 3
    # One for each of the two turns: neither the one at hand nor what is behind either.
    assert len(set(saver.asked)) == 2
    behind = {each.config["configurable"]["checkpoint_id"]: each for each in saver.list(MAIN)}
    assert all(_wrote(behind[each]) for each in saver.asked)


def _wrote(found: CheckpointTuple) -> bool:
    return any(channel == "messages" and "pay" in repr(value) for _, channel, value in found.pending_writes or ())


class Meanwhile(AgentMiddleware[Any, Any, Any]):
    """Lets something happen between what the model says and its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.does: list[Callable[[], Any]] = []

    def after_model(self, state: Any, runtime: Any) -> None:
        while self.does:
            # In a context of its own: within a graph another one would be a part of it.
            with ThreadPoolExecutor() as aside:
                aside.submit(self.does.pop()).result()


def _worker(saver: InMemorySaver, tool: Any) -> tuple[Agent, Meanwhile]:
    meanwhile = Meanwhile()
    return agent_of([tool], after=[meanwhile], always_on=["pay"], checkpointer=saver), meanwhile


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_that_another_worker_took_up_the_moment_it_was_written_does_not_run_again(how: str) -> None:
    ran: list[str] = []

    dies = dying(ran)
    saver = InMemorySaver()
    (heard, meanwhile), (begins, _) = _worker(saver, dies), _worker(saver, dies)

    def takes_up() -> None:
        with suppress(Dies):
            asyncio.run(begins.move(None, how, durability="sync"))

    meanwhile.does.append(takes_up)
    messages = await heard.ask([[call("pay")], "Done."], how, durability="sync")
    assert "INTERRUPTED" in last(messages).text
    assert ran == ["pay"]


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_that_waits_since_another_worker_took_it_up_runs_once_it_has_its_answer(how: str) -> None:
    ran: list[str] = []

    @lc_tool("pay")
    def asks() -> str:
        """Pays."""
        ran.append(interrupt("How much?"))
        return "paid"

    saver = InMemorySaver()
    (heard, meanwhile), (waits, _) = _worker(saver, asks), _worker(saver, asks)
    meanwhile.does.append(lambda: asyncio.run(waits.move(None, how, durability="sync")))
    await heard.ask([[call("pay")], "Done."], how, durability="sync")
    assert last(await heard.move(Command(resume="7"), how)).text == "paid"
    assert ran == ["7"]


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_that_was_heard_is_not_taken_for_a_later_one_of_its_id_that_another_worker_has_begun(
    how: str,
) -> None:
    ran: list[str] = []

    dies = dying(ran)
    saver = InMemorySaver()
    (heard, _), (begins, _) = _worker(saver, dies), _worker(saver, dies)
    *_, asked = await heard.ask([[call("pay")], "Done."], how, interrupt_before=["tools"])
    (written,) = asked.tool_calls
    by_hand = ToolMessage("Not now.", tool_call_id=written["id"])
    heard.graph.update_state(MAIN, {"messages": [by_hand]}, as_node="tools")
    heard.graph.update_state(MAIN, {"messages": [AIMessage("", tool_calls=[written])]}, as_node="model")
    with suppress(Dies):
        await begins.move(None, how, durability="sync")
    assert "INTERRUPTED" in last(await heard.move(None, how)).text
    assert ran == ["pay"]


class HidesTurns(InMemorySaver):
    """Never tells what a model wrote before the next checkpoint holds it."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        written = [] if found is None else found.pending_writes or []
        return found and found._replace(pending_writes=[each for each in written if each[1] != "messages"])


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_whose_turn_is_told_by_the_checkpoint_at_hand_alone_runs_and_its_own_note_is_no_others(
    how: str,
) -> None:
    agent = agent_of([pay], always_on=["pay"], checkpointer=HidesTurns())
    assert last(await agent.ask([[call("pay")], "Done."], how)).text == "paid"


class WritesLate(InMemorySaver):
    """Stores the turn that a model wrote only once the checkpoint that it came from was looked at so often."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        self.looks -= 1
        if not self.looks:
            self.put_writes(config, [("messages", [_turn()])], "model")
        return super().get_tuple(config)


def _turn() -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "pay", "args": {}, "id": "call"}])


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("looks", [1, 3])
@BOTH
async def test_a_call_does_not_begin_before_the_store_tells_its_turn(how: str, looks: int) -> None:
    saver = WritesLate(looks)
    origin: Any = saver.put(_at(""), empty_checkpoint(), {}, {})
    at = _at("", "not-yet")
    journal = Journal(saver=saver, config=at, call_id="call", behind=(at,), origin=origin)
    assert (await journal.abegin() if how == "ainvoke" else journal.begin()) is False
    assert saver.looks == 0
    found = saver.get_tuple(origin)
    assert found is not None
    assert [channel for _, channel, _ in found.pending_writes or ()].count("toolsurface_begun") == 1


@pytest.mark.rule("MNT-9")
@BOTH
async def test_what_had_begun_at_once_is_known_where_all_but_the_newest_checkpoint_are_pruned(how: str) -> None:
    ran: list[str] = []

    dies = dying(ran)
    saver = InMemorySaver()
    (first, _), (later, _) = _worker(saver, dies), _worker(saver, dies)
    with suppress(Dies):
        await first.ask([[call("pay")]], how, durability="sync")
    prune(saver)
    later.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await later.move(None, how)).text
    assert ran == ["pay"]


@BOTH
async def test_a_sub_agent_that_was_found_to_keep_no_checkpoints_is_not_waited_for_again(how: str) -> None:
    looks: list[int] = []
    saver = Looks()

    @lc_tool("pay")
    def pays() -> str:
        """Pays."""
        looks.append(len(saver.asked))
        return "paid"

    inner = agent_of([pays], always_on=["pay"], checkpointer=False)
    inner.model.turns.extend([[call("pay")], [call("pay")], "It is paid."])

    @lc_tool
    def delegate() -> str:
        """Has another agent pay."""
        return str(inner.graph.invoke({"messages": [HumanMessage("Pay.")]})["messages"][-1].text)

    agent = agent_of([delegate], always_on=["delegate"], checkpointer=saver)
    assert last(await agent.ask([[call("delegate")], "Done."], how)).text == "It is paid."
    first, second = looks
    assert second - first == 2


class InOrder(InMemorySaver):
    """Notes what it is asked and told, and stores a checkpoint that it is looked for only the second time."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, str]] = []

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        self.told.append(("look", config["configurable"]["checkpoint_ns"]))
        if found is None:
            self.put(_at(config["configurable"]["checkpoint_ns"]), {**empty_checkpoint(), "id": "turn"}, {}, {})
        return found

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.told.append(("note", config["configurable"]["checkpoint_ns"]))
        super().put_writes(config, writes, task_id, task_path)


def _at(graph: str, checkpoint: str | None = None) -> Any:
    where = {"thread_id": "main", "checkpoint_ns": graph}
    return {"configurable": where if checkpoint is None else {**where, "checkpoint_id": checkpoint}}


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_of_a_sub_agent_does_not_begin_before_the_turns_above_it_are_stored(how: str) -> None:
    saver = InOrder()
    origin: Any = saver.put(_at("inner"), empty_checkpoint(), {}, {})
    saver.put_writes(origin, [("messages", [_turn()])], "model")
    saver.told.clear()
    above, at = _at("", "turn"), _at("inner", "not-yet")
    journal = Journal(saver=saver, config=at, call_id="call", behind=(above, at), origin=origin)
    assert (await journal.abegin() if how == "ainvoke" else journal.begin()) is False
    assert saver.told == [("look", ""), ("look", ""), ("note", "inner"), ("note", "inner"), ("look", "inner")]
