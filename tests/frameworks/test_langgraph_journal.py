"""Calls that had begun (MNT-9): whatever happens to a graph, its middleware or its state, none of them runs twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt

from surface import ConfigurationError
from surface.adapters.langchain import DeferredTools
from surface.adapters.langchain.journal import Journal, is_kept
from surface.search_tool import DEFAULT_NAME as SEARCH
from tests.frameworks.langchain_agents import Dies, agent_of, call, controller_of, dying, last, prune

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
MAIN: dict[str, Any] = {"configurable": {"thread_id": "main"}}


class Loses(AgentMiddleware[Any, Any, Any]):
    """Does something of its own once a call has been answered, so that its answer never comes to the messages."""

    def __init__(self, afterwards: Callable[[], Any]) -> None:
        super().__init__()
        self._afterwards = afterwards

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        answered = handler(request)
        self._afterwards()
        return answered

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        answered = await handler(request)
        self._afterwards()
        return answered


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_worker_that_heard_a_call_does_not_run_again_what_another_worker_has_begun(how: str) -> None:
    ran: list[str] = []
    saver = InMemorySaver()

    pay = dying(ran)

    def worker() -> Any:
        approval = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
        return agent_of([pay], before=[approval], always_on=["pay"], checkpointer=saver)

    heard, begins = worker(), worker()
    await heard.ask([[call("pay")]], how, durability="sync")
    for each in (heard, begins):
        each.model.turns.append("Done.")
    with suppress(Dies):
        await begins.move(Command(resume={"decisions": [{"type": "approve"}]}), how, durability="sync")
    answered = await heard.move(None, how, durability="sync")
    assert ran == ["pay"]
    assert "INTERRUPTED" in last(answered).text


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("thread", [42, UUID(int=7)], ids=["number", "uuid"])
@BOTH
async def test_notes_are_found_of_a_thread_that_is_named_by_a_number_or_a_uuid(how: str, thread: Any) -> None:
    ran: list[str] = []
    saver = InMemorySaver()

    pay = dying(ran)

    def process() -> Any:
        return agent_of([pay], always_on=["pay"], checkpointer=saver)

    named = {"config": {"configurable": {"thread_id": thread}}}
    await process().ask([[call("pay")]], how, interrupt_before=["tools"], **named)
    # It had not begun, and another process can tell.
    with suppress(Dies):
        await process().move(None, how, **named)
    later = process()
    later.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await later.move(None, how, **named)).text
    assert ran == ["pay"]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("asks", [False, True], ids=["raises", "asks"])
@BOTH
async def test_a_call_that_succeeded_and_whose_answer_was_lost_is_not_run_again_by_the_same_process(
    how: str, *, asks: bool
) -> None:
    ran: list[str] = []
    faults = [OSError("the log is full")]

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    def afterwards() -> None:
        if asks:
            interrupt("Is that fine?")
        elif faults:
            raise faults.pop()

    agent = agent_of([pay], before=[Loses(afterwards)], always_on=["pay"], checkpointer=InMemorySaver())
    with suppress(OSError):
        await agent.ask([[call("pay")], "Done."], how)
    assert "INTERRUPTED" in last(await agent.move(Command(resume="yes") if asks else None, how)).text
    assert ran == ["pay"]


def _nothing(_graph: Any) -> dict[str, Any]:
    return MAIN


def _edits(graph: Any) -> dict[str, Any]:
    graph.update_state(MAIN, {"messages": []})
    return MAIN


def _edits_twice_as_model(graph: Any) -> dict[str, Any]:
    for _ in range(2):
        graph.update_state(MAIN, {"messages": []}, as_node="model")
    return MAIN


def _edits_very_often(graph: Any) -> dict[str, Any]:
    for _ in range(101):
        graph.update_state(MAIN, {"messages": []}, as_node="model")
    return MAIN


def _forks(graph: Any) -> dict[str, Any]:
    return dict(graph.get_state(MAIN).config)


def _loses_the_newest(graph: Any) -> dict[str, Any]:
    """As a store does that fails over to a copy which lags behind: the turn is in the pending writes of its parent."""
    saver = graph.checkpointer
    newest = max(saver.storage["main"][""])
    del saver.storage["main"][""][newest]
    saver.writes.pop(("main", "", newest), None)
    return MAIN


def _edits_and_prunes(graph: Any) -> dict[str, Any]:
    graph.update_state(MAIN, {"messages": []}, as_node="model")
    prune(graph.checkpointer)
    return MAIN


EVERY = [_nothing, _edits, _edits_twice_as_model, _edits_very_often, _forks, _loses_the_newest]
CHANGES: list[Any] = [(create, between) for create in (create_agent, create_deep_agent) for between in EVERY]


@pytest.mark.rule("MNT-9")
# A graph of deepagents stores differences alone, so one whose older checkpoints are pruned has lost its messages.
@pytest.mark.parametrize(("create", "between"), [*CHANGES, (create_agent, _edits_and_prunes)])
@BOTH
async def test_a_call_that_had_begun_is_known_behind_whatever_is_done_to_the_state_and_its_checkpoints(
    how: str, create: Callable[..., Any], between: Callable[[Any], dict[str, Any]]
) -> None:
    ran: list[str] = []

    pay = dying(ran)
    saver = InMemorySaver()
    with pytest.raises(Dies):
        await agent_of([pay], always_on=["pay"], create=create, checkpointer=saver).ask(
            [[call("pay")]], how, durability="sync"
        )
    later = agent_of([pay], always_on=["pay"], create=create, checkpointer=saver)
    later.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await later.move(None, how, config=between(later.graph))).text
    assert ran == ["pay"]


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_that_only_waited_runs_where_all_but_the_newest_checkpoint_are_pruned(how: str) -> None:
    ran: list[str] = []
    saver = InMemorySaver()

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    def worker() -> Any:
        approval = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
        return agent_of([pay], before=[approval], always_on=["pay"], checkpointer=saver)

    await worker().ask([[call("pay")]], how, durability="sync")
    prune(saver)
    later = worker()
    later.model.turns.append("Done.")
    assert last(await later.move(Command(resume={"decisions": [{"type": "approve"}]}), how)).text == "paid"
    assert ran == ["pay"]


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_sub_agent_that_keeps_no_checkpoints_runs_its_calls_below_one_that_does(how: str) -> None:
    @lc_tool
    def pay() -> str:
        """Pays."""
        return "paid"

    inner = agent_of([pay], always_on=["pay"], checkpointer=False)
    inner.model.turns.extend([[call("pay")], "It is paid."])

    @lc_tool
    def delegate() -> str:
        """Has another agent pay."""
        return str(inner.graph.invoke({"messages": [HumanMessage("Pay.")]})["messages"][-1].text)

    agent = agent_of([delegate], always_on=["delegate"], checkpointer=InMemorySaver())
    assert last(await agent.ask([[call("delegate")], "Done."], how)).text == "It is paid."


@BOTH
async def test_a_run_that_stores_nothing_before_its_end_does_not_wait_for_it(how: str) -> None:
    asked: list[Any] = []

    class Reads(InMemorySaver):
        """Notes what is asked for."""

        def get_tuple(self, config: Any) -> Any:
            asked.append(config)
            return super().get_tuple(config)

    @lc_tool
    def pay() -> str:
        """Pays."""
        return "paid"

    agent = agent_of([pay], always_on=["pay"], checkpointer=Reads())
    assert last(await agent.ask([[call("pay")], "Done."], how, durability="exit")).text == "paid"
    assert len(asked) < 6


class Forgets(AgentMiddleware[Any, Any, Any]):
    """Hands a call on as a LangGraph would that does not tell a run's durability, for which it has no public name."""

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return handler(self._forgotten(request))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return await handler(self._forgotten(request))

    def _forgotten(self, request: ToolCallRequest) -> ToolCallRequest:
        config = request.runtime.config
        told = {name: value for name, value in config["configurable"].items() if "durability" not in name}
        return replace(request, runtime=replace(request.runtime, config={**config, "configurable": told}))


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@BOTH
async def test_a_langgraph_that_tells_no_durability_has_a_call_wait_for_its_turn_and_then_run_once(
    how: str, durability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr("surface.adapters.langchain.stored._PATIENCE", 0.05)

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    agent = agent_of([pay], before=[Forgets()], always_on=["pay"], checkpointer=InMemorySaver())
    assert last(await agent.ask([[call("pay")], "Done."], how, durability=durability)).text == "paid"
    assert ran == ["pay"]


@pytest.mark.rule("MNT-9", "REP-3")
@pytest.mark.parametrize("begins", [True, False])
@BOTH
async def test_of_a_call_whose_tool_is_gone_the_model_is_told_that_it_may_have_run_where_it_had_begun(
    how: str, *, begins: bool
) -> None:
    ran: list[str] = []
    saver = InMemorySaver()

    def dies() -> str:
        """Pays."""
        ran.append("pay")
        raise Dies

    before, now = (lc_tool(name)(dies) for name in ("pay", "pay_supplier"))
    first = agent_of([before], always_on=["pay"], checkpointer=saver)
    with suppress(Dies):
        await first.ask([[call("pay")]], how, interrupt_before=None if begins else ["tools"])
    later = agent_of([now], always_on=["pay_supplier"], checkpointer=saver)
    later.model.turns.append("Done.")
    told = last(await later.move(None, how)).text
    assert "UNKNOWN_TOOL" in told
    assert ("may have run" in told) is begins
    assert ran == ["pay"] * begins


class Numbers(AgentMiddleware[Any, Any, Any]):
    """Gives calls ids of its own, which nobody below it has seen."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._numbered(handler(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._numbered(await handler(request))

    def _numbered(self, response: Any) -> Any:
        for message in response.result:
            for each in message.tool_calls:
                each["id"] = f"mine-{each['id']}"
        return response


@pytest.mark.rule("MNT-9")
@BOTH
async def test_without_a_checkpointer_only_what_the_input_left_open_may_have_begun_before(how: str) -> None:
    ran: list[str] = []

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    @lc_tool
    def own() -> str:
        """Runs beside the catalog."""
        ran.append("own")
        return "done"

    agent = agent_of([pay], before=[Numbers()], beside=[own], always_on=["pay"])
    assert last(await agent.ask([[call("pay")], "Done."], how)).text == "paid"
    assert ran == ["pay"]
    asked = AIMessage("", tool_calls=[{"name": name, "args": {}, "id": name} for name in ("own", "pay")])
    agent.model.turns.append("Done.")
    stored = [HumanMessage("Pay."), asked, ToolMessage("done", tool_call_id="own")]
    assert "INTERRUPTED" in last(await agent.move({"messages": stored}, how)).text
    agent.model.turns.append("Done.")
    alone = asked.model_copy(update={"tool_calls": asked.tool_calls[:1]})
    assert (await agent.move({"messages": [HumanMessage("Pay."), alone]}, how))[-1].text == "Done."
    assert ran == ["pay"]


class Second(DeferredTools):
    """LangChain itself refuses two of one class."""


@pytest.mark.parametrize("name", ["find_more", SEARCH])
@BOTH
async def test_a_second_middleware_in_one_agent_is_refused_in_one_sentence(how: str, name: str) -> None:
    @lc_tool
    def pay() -> str:
        """Pays."""
        return "paid"

    second = Second(controller_of([pay], search_tool=name), surface="desk")
    with pytest.raises(ConfigurationError, match=r"^middleware: one agent takes one DeferredTools"):
        await agent_of([pay], after=[second]).ask(["Done."], how)


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("told", [None, SimpleNamespace(thread_id=None)], ids=["nothing", "no-thread"])
def test_a_runtime_that_tells_no_thread_has_no_journal_though_somebody_keeps_it(told: Any) -> None:
    runtime = SimpleNamespace(config={"configurable": {CONFIG_KEY_CHECKPOINTER: InMemorySaver()}}, execution_info=told)
    assert is_kept(runtime)
    assert Journal.of(runtime, "call") is None


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("config", [None, {}, {"configurable": {}}])
def test_a_runtime_without_a_checkpointer_is_kept_by_nobody(config: Any) -> None:
    thread = SimpleNamespace(thread_id="main", checkpoint_ns="", checkpoint_id="1")
    runtime = SimpleNamespace(config=config, execution_info=thread)
    assert not is_kept(runtime)
    assert Journal.of(runtime, "call") is None


class TellsNoWrites(InMemorySaver):
    """A checkpointer that says nothing of pending writes, as one may that has none."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        return None if found is None else found._replace(pending_writes=None)


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("saver", [InMemorySaver, TellsNoWrites])
@BOTH
async def test_a_call_begins_where_a_checkpoint_is_not_stored_yet_or_tells_no_writes(
    how: str, saver: type[InMemorySaver], *, stored: bool
) -> None:
    kept = saver()
    where: Any = {"configurable": {"thread_id": "main", "checkpoint_ns": "", "checkpoint_id": "none-yet"}}
    if stored:
        where = kept.put({"configurable": {"thread_id": "main", "checkpoint_ns": ""}}, empty_checkpoint(), {}, {})
    journal = Journal(saver=kept, config=where, call_id="call")
    assert (await journal.abegin() if how == "ainvoke" else journal.begin()) is False
    told = await journal.abegun() if how == "ainvoke" else journal.begun()
    assert told is (stored and saver is InMemorySaver)


def _stored(saver: InMemorySaver, *messages: Any, behind: Any = None) -> Any:
    """One more checkpoint with these messages; its config."""
    return _kept(saver, list(messages), behind=behind)


def _kept(saver: InMemorySaver, value: Any, *, behind: Any = None) -> Any:
    """One more checkpoint with this in its channel of messages; its config."""
    where: Any = behind or {"configurable": {"thread_id": "main", "checkpoint_ns": ""}}
    state: Any = {**empty_checkpoint(), "channel_values": {"messages": value}}
    state["channel_versions"] = versions = {"messages": state["id"]}
    return saver.put(where, state, {}, versions)


def _open() -> AIMessage:
    """A turn that leaves the call open."""
    return AIMessage("", tool_calls=[{"name": "pay", "args": {}, "id": "call"}])


@pytest.mark.rule("MNT-9")
async def test_what_had_begun_is_known_from_a_checkpoint_that_is_not_stored_yet() -> None:
    saver = InMemorySaver()
    Journal(saver=saver, config=_stored(saver, _open()), call_id="call").begin()
    later: Any = {"configurable": {"thread_id": "main", "checkpoint_ns": "", "checkpoint_id": "none-yet"}}
    assert Journal(saver=saver, config=later, call_id="call").begun()
    assert not Journal(saver=saver, config=later, call_id="another").begun()


@pytest.mark.rule("MNT-9")
async def test_what_a_later_turn_began_under_an_id_has_not_begun_where_a_thread_goes_on_from_an_earlier_one() -> None:
    saver = InMemorySaver()
    earlier = _stored(saver, _open())
    answered = _stored(saver, _open(), ToolMessage("paid", tool_call_id="call"), behind=earlier)
    later = _stored(saver, _open(), ToolMessage("paid", tool_call_id="call"), _open(), behind=answered)
    Journal(saver=saver, config=later, call_id="call").begin()
    assert Journal(saver=saver, config=later, call_id="call").begun()
    assert not Journal(saver=saver, config=earlier, call_id="call").begun()


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("alone", [True, False], ids=["a-message", "a-list"])
@pytest.mark.parametrize("value", [None, {"kept": "differences"}])
async def test_where_messages_are_kept_as_differences_an_open_call_is_as_old_as_the_write_of_its_turn(
    value: Any, *, alone: bool
) -> None:
    saver = InMemorySaver()
    earlier = _kept(saver, value)
    Journal(saver=saver, config=earlier, call_id="call").begin()  # of an earlier turn, which gave its call the same id
    asked = _kept(saver, value, behind=earlier)
    saver.put_writes(asked, [("messages", _open() if alone else [_open()])], "model")
    now = _kept(saver, value, behind=asked)
    # Where else the turn may stand says nothing of when it was written.
    saver.put_writes(now, [("kept_elsewhere", _open())], "tools")
    journal = Journal(saver=saver, config=now, call_id="call")
    assert not journal.begun()
    saver.put_writes(asked, [("toolsurface_begun", "another worker")], journal._note_id("toolsurface_begun", 0))
    assert journal.begun()


class SameIds(AgentMiddleware[Any, Any, Any]):
    """Gives every call one id, as some models do from turn to turn."""

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        message = state["messages"][-1]
        calls = [{**each, "id": "same"} for each in message.tool_calls]
        return {"messages": [message.model_copy(update={"tool_calls": calls})]}


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("create", [create_agent, create_deep_agent])
@BOTH
async def test_a_call_runs_though_one_of_the_same_id_began_in_an_earlier_turn(
    how: str, create: Callable[..., Any]
) -> None:
    ran: list[str] = []

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    agent = agent_of([pay], before=[SameIds()], always_on=["pay"], create=create, checkpointer=InMemorySaver())
    messages = await agent.ask([[call("pay")], [call("pay")], "Done."], how)
    assert [each.text for each in messages if isinstance(each, ToolMessage)] == ["paid", "paid"]
    assert ran == ["pay", "pay"]
