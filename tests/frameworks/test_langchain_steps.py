"""What the LangChain adapter remembers of a step between the model's request and the calls that it answers."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from surface import MountedRun, Surface, create_deferred_agent_tool_surface
from surface.adapters.langchain import LANGCHAIN_MESSAGES, DeferredTools, langchain_tool
from surface.adapters.langchain.steps import PreparedSteps
from surface.search_tool import DEFAULT_NAME as SEARCH
from tests.frameworks.langchain_agents import Agent, Turns, agent_of, call, controller_of, last, search
from tests.frameworks.langchain_harness import ScriptedChatModel

CONTEXT = {"user": "Joan"}


@lc_tool
def pay() -> str:
    """Pays."""
    return "paid"


@lc_tool
def look() -> str:
    """Looks."""
    return "seen"


CONTROLLER = controller_of([pay])


def run_of(number: int = 1, *, context: Any = CONTEXT) -> MountedRun:
    """A run of the one surface."""
    return CONTROLLER.mount(run_id=f"run-{number}", surface="desk", context=context)


async def test_a_step_counts_for_the_very_messages_it_was_prepared_from_and_for_no_equal_ones() -> None:
    steps, messages = PreparedSteps(), [HumanMessage("Pay."), HumanMessage("Now.")]
    step = await run_of().prepare_step(messages)
    steps.keep(run_of(), messages, step)
    assert steps.of(run_of(), messages) is step
    assert steps.of(run_of(), list(messages)) is step
    for others in (messages[:1], [*messages, messages[0]], [messages[0].model_copy(), messages[1]], messages[::-1]):
        assert steps.of(run_of(), others) is None


async def test_a_step_counts_for_the_run_and_the_context_it_was_prepared_for() -> None:
    steps, messages = PreparedSteps(), [HumanMessage("Pay.")]
    steps.keep(run_of(), messages, await run_of().prepare_step(messages))
    assert steps.of(run_of(), messages) is not None
    assert steps.of(run_of(2), messages) is None
    assert steps.of(run_of(context=dict(CONTEXT)), messages) is None


async def test_of_many_runs_at_once_those_begun_longest_ago_are_planned_again() -> None:
    steps, messages = PreparedSteps(), [HumanMessage("Pay.")]
    step = await run_of().prepare_step(messages)
    for number in range(65):
        steps.keep(run_of(number), messages, step)
    assert steps.of(run_of(0), messages) is None
    assert all(steps.of(run_of(number), messages) is step for number in range(1, 65))


async def test_a_step_goes_with_its_messages_and_a_newer_one_of_the_run_stays() -> None:
    class Context:
        pass

    steps, older, newer, context = PreparedSteps(), [HumanMessage("Pay.")], [HumanMessage("Now.")], Context()
    run = run_of(context=context)
    step = await run.prepare_step(older)
    gone = ref(context)
    steps.keep(run, older, step)
    steps.keep(run, newer, step)
    del older
    gc.collect()
    assert steps.of(run, newer) is step
    del newer, run, context
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_nothing_of_a_run_stays_behind_when_nobody_holds_its_messages(how: str) -> None:
    class Context:
        pass

    context = Context()
    gone = ref(context)
    agent = agent_of([pay], always_on=["pay"], context_schema=Context)
    messages = await agent.ask([[call("pay")], "Done."], how, context=context)
    assert last(messages).text == "paid"
    del messages, context
    gc.collect()
    assert gone() is None


class Forgets(AgentMiddleware[Any, Any, Any]):
    """Takes every receipt out of the history once the model has called ``pay``."""

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        if not any(each["name"] == "pay" for each in state["messages"][-1].tool_calls):
            return {}
        found = [each for each in state["messages"] if isinstance(each, ToolMessage) and each.artifact]
        return {"messages": [each.model_copy(update={"artifact": None}) for each in found]}


@pytest.mark.rule("REP-2", "ACT-1")
@pytest.mark.parametrize("between", [False, True], ids=["newest", "older"])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_history_that_is_edited_behind_the_model_is_what_the_gate_reads(how: str, *, between: bool) -> None:
    agent = agent_of([pay, look], after=[Forgets()], always_on=["look"])
    # A step that was kept for the newest message alone would not notice the older one.
    turns: Turns = [[search("pay")], *([[call("look")]] if between else []), [call("pay")], "Done."]
    messages = await agent.ask(turns, how)
    assert "pay" in agent.model.advertised[1]
    assert "SEARCH_REQUIRED" in last(messages).text


@pytest.mark.rule("REP-2", "ACT-5")
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_run_that_is_moved_to_another_surface_behind_the_model_runs_nothing_of_the_first(how: str) -> None:
    where = ["front"]

    class Moves(AgentMiddleware[Any, Any, Any]):
        """Decides anew, once the model has answered, where the run belongs."""

        def after_model(self, state: Any, runtime: Any) -> None:
            where[0] = "back"

    native = langchain_tool(pay)
    controller = create_deferred_agent_tool_surface(
        application="test",
        surfaces=[Surface(key="front", tools=[native], always_on=["pay"]), Surface(key="back", tools=[native])],
        dialect=LANGCHAIN_MESSAGES,
    )
    model = ScriptedChatModel(turns=[])
    middleware = [DeferredTools(controller, surface=lambda _: where[0]), Moves()]
    messages = await Agent(create_agent(model, middleware=middleware), model).ask([[call("pay")], "Done."], how)
    assert model.advertised[0] == (SEARCH, "pay")
    assert "SEARCH_REQUIRED" in last(messages).text


@pytest.mark.rule("ACT-7")
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_the_application_is_asked_once_for_each_step_however_many_calls_it_has(how: str) -> None:
    asked: list[str] = []

    def pins(context: Any, transcript: Any) -> list[str]:
        asked.append("pins")
        return ["pay"]

    def prepare(view: Any) -> None:
        asked.append("prepare")

    agent = agent_of([pay], deferred={"pins": pins, "prepare_step": prepare})
    await agent.ask([[call("pay"), call("pay")], "Done."], how)
    assert asked == ["pins", "prepare"] * 2


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_an_agent_that_is_asked_without_a_message_answers_as_without_the_library(how: str) -> None:
    agent = agent_of([pay], always_on=["pay"])
    agent.model.turns.extend([[call("pay")], "Done."])
    assert [each.text for each in await agent.move({"messages": []}, how)] == ["", "paid", "Done."]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_call_that_raised_runs_again_when_the_same_process_goes_on_and_not_in_another(how: str) -> None:
    ran: list[str] = []

    @lc_tool
    def charge() -> str:
        """Charges."""
        ran.append("charge")
        if len(ran) < 3:
            raise OSError("no route")
        return "charged"

    saver = InMemorySaver()
    agent = agent_of([charge], always_on=["charge"], checkpointer=saver)
    with pytest.raises(OSError, match="no route"):
        await agent.ask([[call("charge")], "Done."], how, durability="sync")
    with pytest.raises(OSError, match="no route"):
        await agent.move(None, how, durability="sync")
    other = agent_of([charge], always_on=["charge"], checkpointer=saver)
    other.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await other.move(None, how)).text
    assert ran == ["charge", "charge"]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_call_that_this_process_heard_and_never_began_runs_when_its_messages_come_back(how: str) -> None:
    kept: list[Any] = []

    class Stops(AgentMiddleware[Any, Any, Any]):
        """Ends the run between the model and the tool, once."""

        def after_model(self, state: Any, runtime: Any) -> None:
            if not kept and isinstance(state["messages"][-1], AIMessage):
                kept.extend(state["messages"])
                raise OSError("stopped")

    agent = agent_of([pay], always_on=["pay"], after=[Stops()], deferred={"run_id": lambda _: "run-1"})
    with pytest.raises(OSError, match="stopped"):
        await agent.ask([[call("pay")], "Done."], how)
    assert last(await agent.move({"messages": kept}, how)).text == "paid"
