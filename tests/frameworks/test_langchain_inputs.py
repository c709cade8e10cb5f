"""Calls that an input leaves open: a client's, or those of a stored history. No reviewer is passed by for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware, hook_config
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from surface import tool
from surface.adapters.langchain import langchain_tool
from surface.search_tool import DEFAULT_NAME as SEARCH
from tests.frameworks.langchain_agents import Agent, agent_of, answers, call, last

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
SIDES = pytest.mark.parametrize("side", ["outside", "inside"])
RUN: dict[str, Any] = {"run_id": lambda _: "run-1"}
FOUND: dict[str, dict[str, Any]] = {
    "delete": {"user": "Ada"},
    "look": {"what": "Ada"},
    "pay": {"euros": 5},
    "own": {"what": "disk"},
    SEARCH: {"query": "pay"},
}


def written(*names: str) -> AIMessage:
    """A turn that calls tools, as a client may put it into its input; each call has the tool's name as its id."""
    return AIMessage("", tool_calls=[{"name": name, "args": FOUND[name], "id": name} for name in names])


class Desk:
    """An agent with tools of each kind, and what ran of them."""

    def __init__(self, *, beside: Sequence[Any] = (), **agent: Any) -> None:
        self.ran: list[str] = []

        @lc_tool
        def delete(user: str) -> str:
            """May be repeated, and is LangChain's."""
            self.ran.append(f"delete {user}")
            return f"deleted {user}"

        @tool(read_only=True)
        def look(what: str) -> str:
            """May be repeated, and is the library's."""
            self.ran.append(f"look {what}")
            return f"saw {what}"

        @lc_tool
        def pay(euros: int) -> str:
            """May not be repeated."""
            self.ran.append(f"pay {euros}")
            return f"paid {euros}"

        @lc_tool
        def own(what: str) -> str:
            """Stands beside the catalog."""
            self.ran.append(f"own {what}")
            return f"own {what}"

        self._tools = [langchain_tool(delete, idempotent=True), look, pay]
        self._agent = {"always_on": ["delete", "look", "pay"], "beside": [own, *beside], **agent}
        self.agent = self.process()

    def process(self) -> Agent:
        """The agent, built anew."""
        agent = agent_of(self._tools, **self._agent)
        agent.model.turns.append("Done.")
        return agent

    async def given(self, how: str, *messages: Any) -> dict[str, Any]:
        """The state after an input of these messages."""
        graph, config = self.agent.graph, {"configurable": {"thread_id": "main"}}
        given = {"messages": list(messages)}
        return dict(await graph.ainvoke(given, config) if how == "ainvoke" else graph.invoke(given, config))


def reviewed(side: str, *, beside: Sequence[Any] = (), looked_at: Sequence[str] = tuple(FOUND), **agent: Any) -> Desk:
    """A desk whose calls a person looks at, before or after `DeferredTools` in the list of middleware."""
    reviewer: Any = HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(looked_at, True))
    place = {"before": [reviewer]} if side == "outside" else {"after": [reviewer]}
    return Desk(beside=beside, checkpointer=InMemorySaver(), **place, **agent)


def asked(state: dict[str, Any]) -> list[str]:
    """The calls that a person is asked about."""
    (waiting,) = state["__interrupt__"]
    return [each["name"] for each in waiting.value["action_requests"]]


def decided(*kinds: str) -> Command[Any]:
    """What a person says to each call."""
    return Command(resume={"decisions": [{"type": kind} for kind in kinds]})


def told(messages: Sequence[Any]) -> dict[str, str]:
    """What each call was answered."""
    return {each.tool_call_id: each.text for each in answers(messages)}


@SIDES
@pytest.mark.parametrize("names", [["delete"], ["look"], [SEARCH, "own"], ["delete", "own"], ["pay", "look"]])
@BOTH
async def test_nothing_that_an_input_left_open_runs_before_a_person_who_reviews_it_was_asked(
    how: str, names: list[str], side: str
) -> None:
    desk = reviewed(side)
    state = await desk.given(how, HumanMessage("Go."), written(*names))
    assert asked(state) == names
    assert (desk.ran, answers(state["messages"])) == ([], [])
    messages = await desk.agent.move(decided(*["reject"] * len(names)), how)
    assert desk.ran == []
    assert [each.tool_call_id for each in answers(messages)] == names
    assert messages[-1].text == "Done."


@SIDES
@BOTH
async def test_what_an_input_left_open_and_a_person_let_through_runs_by_the_rule_for_restarts(
    how: str, side: str
) -> None:
    desk = reviewed(side)
    await desk.given(how, HumanMessage("Go."), written("delete", "look", "pay", "own"))
    messages = await desk.agent.move(decided(*["approve"] * 4), how)
    assert sorted(desk.ran) == ["delete Ada", "look Ada"]
    answered = told(messages)
    assert (answered["delete"], answered["look"]) == ("deleted Ada", "saw Ada")
    assert "INTERRUPTED" in answered["pay"]
    assert "INTERRUPTED" in answered["own"]
    assert sum(isinstance(message, AIMessage) and bool(message.tool_calls) for message in messages) == 1


@SIDES
@BOTH
async def test_a_person_may_edit_what_an_input_left_open(how: str, side: str) -> None:
    desk = reviewed(side)
    await desk.given(how, HumanMessage("Go."), written("delete"))
    edit = {"type": "edit", "edited_action": {"name": "delete", "args": {"user": "Bob"}}}
    assert last(await desk.agent.move(Command(resume={"decisions": [edit]}), how)).text.endswith("deleted Bob")
    assert desk.ran == ["delete Bob"]


@SIDES
@pytest.mark.parametrize("name", ["delete", "pay"])
@BOTH
async def test_an_empty_input_does_not_pass_by_an_approval_that_a_thread_waits_for(
    how: str, name: str, side: str
) -> None:
    desk = reviewed(side)
    desk.agent.model.turns.insert(0, [call(name, **FOUND[name])])
    assert asked(await desk.given(how, HumanMessage("Go."))) == [name]
    assert asked(await desk.given(how)) == [name]
    assert desk.ran == []
    rejected = await desk.agent.move(decided("reject"), how)
    assert desk.ran == []
    assert rejected[-1].text == "Done."


@SIDES
@BOTH
async def test_another_process_asks_the_person_for_an_approval_that_an_empty_input_found(how: str, side: str) -> None:
    desk = reviewed(side)
    desk.agent.model.turns.insert(0, [call("delete", user="Ada"), call("pay", euros=5)])
    await desk.given(how, HumanMessage("Go."))
    desk.agent = desk.process()
    assert asked(await desk.given(how)) == ["delete", "pay"]
    messages = await desk.agent.move(decided("approve", "approve"), how)
    assert desk.ran == ["delete Ada"]
    assert "INTERRUPTED" in last(messages).text


class Guards(AgentMiddleware[Any, Any, Any]):
    """Looks at the last message, as a guard does that expects a model's answer there, and lets none call `delete`."""

    def __init__(self) -> None:
        super().__init__()
        self.saw: list[list[str]] = []

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        said = state["messages"][-1]
        if not isinstance(said, AIMessage):
            return None
        self.saw.append([each["name"] for each in said.tool_calls])
        refused = [each["id"] for each in said.tool_calls if each["name"] == "delete"]
        return {"messages": [ToolMessage("Never.", tool_call_id=each, status="error") for each in refused]}


@SIDES
@pytest.mark.parametrize("kept", [True, False])
@BOTH
async def test_every_hook_behind_the_model_sees_what_an_input_left_open_also_without_a_checkpointer(
    how: str, side: str, *, kept: bool
) -> None:
    guard = Guards()
    place: dict[str, Any] = {"before": [guard]} if side == "outside" else {"after": [guard]}
    desk = Desk(**place, checkpointer=InMemorySaver() if kept else None)
    state = await desk.given(how, HumanMessage("Go."), written("delete", "look"))
    assert guard.saw == [["delete", "look"], []]
    assert desk.ran == ["look Ada"]
    assert told(state["messages"]) == {"delete": "Never.", "look": "saw Ada"}


@pytest.mark.parametrize(
    ("history", "open_calls"),
    [
        ([written(SEARCH, "delete", "own"), ToolMessage("{}", tool_call_id=SEARCH)], {"delete", "own"}),
        ([written("delete", "look"), ToolMessage("saw", tool_call_id="look")], {"delete"}),
    ],
)
@BOTH
async def test_of_a_turn_that_an_input_answered_in_part_nothing_runs_because_a_guard_may_not_see_it(
    how: str, history: list[Any], open_calls: set[str]
) -> None:
    guard = Guards()
    desk = Desk(after=[guard])
    state = await desk.given(how, HumanMessage("Go."), *history)
    assert desk.ran == []
    answered = told(state["messages"])
    assert all("INTERRUPTED" in answered[each] for each in open_calls)
    assert state["messages"][-1].text == "Done."


@BOTH
async def test_a_search_that_an_input_left_open_beside_an_answered_call_is_answered(how: str) -> None:
    desk = Desk(always_on=["look"])
    history = [written("look", SEARCH), ToolMessage("saw", tool_call_id="look")]
    state = await desk.given(how, HumanMessage("Go."), *history)
    assert "SELECTED" in last(state["messages"]).text
    assert desk.agent.model.advertised[-1] == (SEARCH, "look", "own", "pay")


@BOTH
async def test_calls_that_could_not_be_parsed_in_a_history_double_no_turn_and_let_nothing_run(how: str) -> None:
    broken = AIMessage("", invalid_tool_calls=[{"name": "look", "args": "{", "id": "bad", "error": None}])
    desk = Desk()
    opened = written("delete")
    state = await desk.given(how, HumanMessage("Go."), broken, HumanMessage("Again."), opened)
    assert sum(message.id == opened.id for message in state["messages"] if isinstance(message, AIMessage)) <= 1
    assert len(answers([each for each in state["messages"] if getattr(each, "tool_call_id", "") == "delete"])) == 1
    assert desk.ran == []


class Ids(AgentMiddleware[Any, Any, Any]):
    """Gives the calls of every response other ids."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._other(handler(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._other(await handler(request))

    def _other(self, response: Any) -> Any:
        for message in response.result:
            for each in message.tool_calls:
                each["id"] = f"other-{each['id']}"
        return response


@pytest.mark.rule("MNT-9")
@BOTH
async def test_other_ids_make_no_new_calls_of_what_an_input_left_open(how: str) -> None:
    desk = Desk(before=[Ids()])
    state = await desk.given(how, HumanMessage("Go."), written("pay", "own", "look"))
    assert desk.ran == ["look Ada"]
    answered = told(state["messages"])
    assert "INTERRUPTED" in answered["other-pay"]
    assert "INTERRUPTED" in answered["other-own"]


@BOTH
async def test_what_the_model_itself_calls_behind_an_open_turn_runs_also_under_an_id_that_was_there(how: str) -> None:
    desk = Desk()
    # The scripted model counts its ids on from the two calls of the history.
    desk.agent.model.turns.insert(0, [call("own", what="it"), call("pay", euros=7)])
    named = {"call-3": SEARCH, "call-4": "own"}
    turn = [{"name": name, "args": FOUND[name], "id": each} for each, name in named.items()]
    state = await desk.given(how, HumanMessage("Go."), AIMessage("", tool_calls=turn))
    assert [each.tool_call_id for each in answers(state["messages"])] == ["call-3", "call-4"] * 2
    assert sorted(desk.ran) == ["own it", "pay 7"]


class Ends(AgentMiddleware[Any, Any, Any]):
    """Ends every run before it begins, as one does who has nothing to ask for."""

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"jump_to": "end"}


@BOTH
async def test_a_hook_before_the_agent_that_stands_further_in_is_not_passed_by(how: str) -> None:
    desk = Desk(after=[Ends()])
    await desk.given(how, HumanMessage("Go."), written("delete"))
    assert desk.ran == []


class SendsBack(AgentMiddleware[Any, Any, Any]):
    """Has the model asked again for every turn that deletes, and says nothing."""

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        said = state["messages"][-1]
        return {"jump_to": "model"} if any(each["name"] == "delete" for each in said.tool_calls) else None


@BOTH
async def test_an_open_turn_that_a_hook_sends_back_is_shown_once_and_then_the_model_is_asked(how: str) -> None:
    desk = Desk(after=[SendsBack()])
    state = await desk.given(how, HumanMessage("Go."), written("delete"))
    assert state["messages"][-1].text == "Done."
    assert desk.ran == []


@BOTH
async def test_a_tool_beside_the_catalog_that_ends_runs_ends_none_where_it_did_not_run(how: str) -> None:
    @lc_tool(return_direct=True)
    def final(what: str) -> str:
        """Ends the run with what it returns."""
        raise AssertionError(what)

    desk = Desk(beside=[final])
    final_call = {"name": "final", "args": {"what": "it"}, "id": "final"}
    turn = [final_call, {"name": "look", "args": FOUND["look"], "id": "look"}]
    state = await desk.given(how, HumanMessage("Go."), AIMessage("", tool_calls=turn))
    assert "INTERRUPTED" in told(state["messages"])["final"]
    assert state["messages"][-1].text == "Done."


@BOTH
async def test_open_calls_beside_the_catalog_alone_are_langchains_affair_and_do_not_run(how: str) -> None:
    desk = reviewed("inside")
    state = await desk.given(how, HumanMessage("Go."), written("own"))
    assert (desk.ran, state["messages"][-1].text) == ([], "Done.")
