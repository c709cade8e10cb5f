"""The gate of the LangChain middleware: what it lets through, and that nothing runs where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, hook_config
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain.tools import tool as lc_tool
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt.tool_node import ToolCallRequest
from pydantic import BaseModel

from surface import ConfigurationError, StepChanges, StepView, Surface, create_deferred_agent_tool_surface
from surface.adapters.langchain import LANGCHAIN_MESSAGES, DeferredTools, langchain_tool
from surface.adapters.langchain.journal import Journal
from surface.search_tool import DEFAULT_NAME as SEARCH
from surface.testing import Harness
from tests.frameworks import broken_langchain as broken
from tests.frameworks.langchain_agents import (
    Agent,
    NamesInTheQuery,
    Renames,
    Turns,
    agent_of,
    answers,
    call,
    last,
    search,
)
from tests.frameworks.langchain_harness import LangChainHarness, ScriptedChatModel
from tests.surface.broken_harnesses import FIRST, HIDDEN, INHERITS, RESTORES, failing

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


def _noting(ran: list[str]) -> tuple[Any, Any]:
    """Two tools, ``look`` and ``pay``, that note when they run."""

    @lc_tool
    def look() -> str:
        """Looks."""
        ran.append("look")
        return "seen"

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    return look, pay


@pytest.mark.rule("REP-2")
@pytest.mark.parametrize("written", ["look", "nobody", SEARCH])
@BOTH
async def test_a_call_that_an_outer_middleware_renamed_runs_nothing_and_says_who_did_it(written: str, how: str) -> None:
    ran: list[str] = []
    look, pay = _noting(ran)
    agent = agent_of([look, pay], before=[Renames(written, "pay")], always_on=["look"])
    with pytest.raises(ConfigurationError, match=r"^middleware: .* made a call of pay out of another name"):
        await agent.ask([[call(written)], "Done."], how)
    assert ran == []


@pytest.mark.rule("ACT-7")
@BOTH
async def test_the_applications_prepare_step_narrows_instructs_and_settles_each_step(how: str) -> None:
    ran: list[str] = []
    look, pay = _noting(ran)
    seen: list[tuple[Any, tuple[str, ...]]] = []

    def prepare(view: StepView) -> StepChanges:
        seen.append((view.context, view.active))
        return StepChanges(active_tools=["look"], instructions="Only look.")

    agent = agent_of([look, pay], deferred={"prepare_step": prepare, "pins": ["look"]})
    turns: Turns = [[search("pay")], [call("pay"), call("look")], "Done."]
    _, refused, looked = answers(await agent.ask(turns, how, context="Ada"))
    assert agent.model.advertised == [(SEARCH, "look")] * 3
    assert '"reason":"narrowed"' in refused.text
    assert looked.text == "seen"
    assert ran == ["look"]
    assert ("Ada", (SEARCH, "pay", "look")) in seen
    assert {context for context, _ in seen} == {"Ada"}
    assert agent.model.instructed == ["Only look."] * 3


@pytest.mark.rule("ACT-7")
@BOTH
async def test_the_applications_prepare_step_says_what_messages_the_model_reads_and_the_graph_keeps_its_own(
    how: str,
) -> None:
    look, _ = _noting([])
    short = [HumanMessage("In short: look."), SystemMessage("Be brief.")]
    agent = agent_of([look], deferred={"prepare_step": lambda _: StepChanges(messages=short)})
    kept = await agent.ask(["Done."], how)
    assert agent.model.instructed == ["Be brief."]
    assert [each.text for each in kept] == ["Please.", "Done."]


@pytest.mark.rule("ACT-7")
@BOTH
async def test_the_applications_prepare_step_adds_settings_and_may_give_a_whole_system_message(how: str) -> None:
    settings: list[Any] = []

    class Settings(AgentMiddleware[Any, Any, Any]):
        """Sets one thing before the step is prepared and sees what comes of it, in either kind of graph."""

        def __init__(self, given: dict[str, Any] | None) -> None:
            super().__init__()
            self._given = given

        @property
        def name(self) -> str:
            return f"settings-{self._given}"

        def _noted(self, request: Any) -> Any:
            if self._given is not None:
                return request.override(model_settings=self._given)
            settings.append((request.model_settings, request.system_message.content))
            return request

        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            return handler(self._noted(request))

        async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            return await handler(self._noted(request))

    told: Any = [{"type": "text", "text": "Only look.", "cache_control": {"type": "ephemeral"}}]
    changes = StepChanges(instructions=SystemMessage(content=told), model_settings={"temperature": 0})
    agent = agent_of(
        [_noting([])[0]],
        before=[Settings({"temperature": 1, "seed": 7})],
        after=[Settings(None)],
        deferred={"prepare_step": lambda _: changes},
    )
    await agent.ask(["Done."], how)
    assert settings == [({"temperature": 0, "seed": 7}, told)]


@BOTH
async def test_a_tool_that_the_agent_has_beside_the_catalog_and_in_it_is_refused(how: str) -> None:
    look, pay = _noting([])
    schema = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
    function = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    for beside in (look, schema, function):
        with pytest.raises(ConfigurationError, match=r"^tools: look stand in the catalog and among the agent's own"):
            await agent_of([look], beside=[beside]).ask(["Done."], how)
    named_as_search = lc_tool(SEARCH, description="Looks elsewhere.")(lambda query: query)
    with pytest.raises(
        ConfigurationError, match=rf"^tools: {SEARCH} is the name of the search tool.*rename.*search_tool="
    ):
        await agent_of([look], beside=[named_as_search]).ask(["Done."], how)
    agent = agent_of([look], beside=[pay])
    await agent.ask(["Done."], how)
    assert agent.model.advertised == [(SEARCH, "pay")]


class Bill(BaseModel):
    """What a run comes to."""

    euros: int


@BOTH
async def test_an_agent_that_ends_with_a_structured_answer_ends_with_it(how: str) -> None:
    ran: list[str] = []
    agent = agent_of([_noting(ran)[1]], response_format=ToolStrategy(Bill))
    turns: Turns = [[search("pay")], [call("pay")], [call("Bill", euros=5)]]
    messages = await agent.ask(turns, how)
    assert agent.model.advertised == [(SEARCH, "Bill"), (SEARCH, "pay", "Bill"), (SEARCH, "pay", "Bill")]
    assert ran == ["pay"]
    assert "euros=5" in messages[-1].text


@dataclass
class Asker:
    """The application's own context of a run."""

    desk: str


@pytest.mark.rule("ACT-5")
@BOTH
async def test_one_middleware_serves_each_run_on_its_own_surface_and_no_selection_crosses(how: str) -> None:
    @lc_tool
    def pay() -> str:
        """Pays."""
        return "paid"

    @lc_tool
    def look() -> str:
        """Looks."""
        return "seen"

    paying, looking = langchain_tool(pay), langchain_tool(look)
    controller = create_deferred_agent_tool_surface(
        application="test",
        surfaces=[Surface(key="front", tools=[paying, looking]), Surface(key="back", tools=[looking])],
        dialect=LANGCHAIN_MESSAGES,
        ranker=NamesInTheQuery(),
    )
    model = ScriptedChatModel(turns=[])
    middleware = DeferredTools(controller, surface=lambda runtime: runtime.context.desk)
    agent = Agent(create_agent(model, middleware=[middleware], context_schema=Asker), model)
    front = await agent.ask([[search("pay look")], [call("pay")], "Done."], how, context=Asker("front"))
    assert answers(front)[-1].text == "paid"
    # The whole history of the front, under a run of the back: nothing of it is active there.
    model.advertised.clear()
    model.turns.extend([[call("look")], [call("pay")], "Done."])
    back = await agent.move({"messages": [*front, HumanMessage("And?")]}, how, context=Asker("back"))
    assert model.advertised[0] == (SEARCH,)
    hidden, unknown = answers(back)[-2:]
    assert "SEARCH_REQUIRED" in hidden.text
    assert "UNKNOWN_TOOL" in unknown.text


class JumpsToTheModel(AgentMiddleware[Any, Any, Any]):
    """Passes over the hooks of the middleware behind it, so that nobody names the run."""

    @hook_config(can_jump_to=["model"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"jump_to": "model"}


@pytest.mark.rule("ACT-2")
@BOTH
async def test_a_receipt_of_a_run_that_nobody_named_activates_nothing_in_another_process(how: str) -> None:
    ran: list[str] = []
    elsewhere, here = (agent_of(_noting(ran), before=[JumpsToTheModel()]) for _ in range(2))
    history = await elsewhere.ask([[search("pay")], [call("pay")], "Done."], how)
    assert ran == ["pay"]
    here.model.turns.extend([[call("pay")], "Done."])
    messages = await here.move({"messages": [*history, HumanMessage("Again.")]}, how)
    assert "did not run" in last(messages).text
    assert ran == ["pay"]


@pytest.mark.rule("ACT-5")
@BOTH
async def test_a_run_that_the_application_names_inherits_nothing_where_the_hook_that_would_is_passed_over(
    how: str,
) -> None:
    ran: list[str] = []
    named = ["run-1"]
    deferred = {"run_id": lambda _: named[-1]}
    agent = agent_of(_noting(ran), before=[JumpsToTheModel()], deferred=deferred, checkpointer=InMemorySaver())
    await agent.ask([[search("pay")], [call("pay")], "Done."], how)
    named.append("run-2")
    assert "did not run" in last(await agent.ask([[call("pay")], "Done."], how)).text
    assert ran == ["pay"]


def test_a_name_that_returns_directly_on_one_surface_alone_is_refused_for_one_agent_and_not_for_two() -> None:
    def answer() -> str:
        """Answers."""
        return "42"

    direct, plain = (langchain_tool(lc_tool(answer, return_direct=ends)) for ends in (True, False))
    controller = create_deferred_agent_tool_surface(
        application="test",
        surfaces=[Surface(key="front", tools=[direct]), Surface(key="back", tools=[plain])],
        dialect=LANGCHAIN_MESSAGES,
    )
    with pytest.raises(ConfigurationError, match=r"^tool answer: returns directly on one surface"):
        DeferredTools(controller, surface=lambda runtime: runtime.context)
    registered = {
        key: [each.name for each in DeferredTools(controller, surface=key).tools] for key in ("front", "back")
    }
    assert registered == {"front": [SEARCH, "answer"], "back": [SEARCH]}


@pytest.mark.rule("REP-3", "REP-4")
async def test_the_name_of_a_tool_that_returns_directly_elsewhere_ends_no_run_where_it_is_unknown() -> None:
    @lc_tool(return_direct=True)
    def answer() -> str:
        """Answers."""
        return "42"

    @lc_tool
    def look() -> str:
        """Looks."""
        return "seen"

    controller = create_deferred_agent_tool_surface(
        application="test",
        surfaces=[
            Surface(key="front", tools=[langchain_tool(answer)]),
            Surface(key="back", tools=[langchain_tool(look)]),
        ],
        dialect=LANGCHAIN_MESSAGES,
    )
    model = ScriptedChatModel(turns=[])
    agent = Agent(create_agent(model, middleware=[DeferredTools(controller, surface=lambda _: "back")]), model)
    messages = await agent.ask([[call("answer")], "Done."])
    assert "UNKNOWN_TOOL" in answers(messages)[-1].text
    assert messages[-1].text == "Done."


@pytest.mark.rule("MNT-9")
async def test_this_langgraph_hands_its_checkpointer_on_under_the_name_it_exports() -> None:
    found: list[Journal | None] = []

    @lc_tool
    def look(runtime: ToolRuntime[Any, Any]) -> str:
        """Looks."""
        found.append(Journal.of(runtime, "call"))
        return "seen"

    saver = InMemorySaver()
    await agent_of([look], checkpointer=saver).ask([[search("look")], [call("look")], "Done."])
    moved = f"langgraph {version('langgraph')} hands its checkpointer on elsewhere: see langchain/journal.py"
    assert [each.saver if each else None for each in found] == [saver], moved


class Ungated(DeferredTools):
    """Advertises, and lets every call through."""

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return handler(request)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return await handler(request)


@pytest.mark.rule("REP-2")
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
@pytest.mark.parametrize("name", ["pay", "end", SEARCH])
async def test_without_the_gate_nothing_of_the_catalog_runs_active_or_not(name: str, how: str) -> None:
    ran: list[str] = []

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    @lc_tool(return_direct=True)
    def end() -> str:
        """Ends."""
        ran.append("end")
        return "ended"

    controller = create_deferred_agent_tool_surface(
        application="test",
        surfaces=[Surface(key="desk", tools=[langchain_tool(pay), langchain_tool(end)], always_on=["pay", "end"])],
        dialect=LANGCHAIN_MESSAGES,
        ranker=NamesInTheQuery(),
    )
    model = ScriptedChatModel(turns=[[search("pay") if name == SEARCH else call(name)], "Done."])
    graph: Any = create_agent(model, middleware=[Ungated(controller, surface="desk")])
    given = {"messages": [HumanMessage("Please.")]}
    told = ""
    try:
        match how:
            case "invoke":
                told = str(graph.invoke(given))
            case "ainvoke":
                told = str(await graph.ainvoke(given))
            case "stream":
                told = str(list(graph.stream(given)))
            case _:
                told = str([each async for each in graph.astream(given)])
    except RuntimeError as closed:
        told = str(closed)
    assert ran == []
    assert ("runs only behind the gate" in told) or ("is not a valid tool" in told)


@pytest.mark.parametrize(
    ("middleware", "laws"),
    [
        (broken.EveryRunIsOne, {INHERITS}),
        (broken.NoGate, {HIDDEN}),
        (broken.LosesTheReceipt, {RESTORES}),
        (broken.RunsTwice, {"test_a_restart_runs_an_unanswered_call_again_only_where_that_is_safe"}),
    ],
)
def test_the_conformance_suite_fails_for_a_broken_middleware(middleware: type[DeferredTools], laws: set[str]) -> None:
    def harness() -> Harness:
        return LangChainHarness("ainvoke", middleware=middleware)

    found = failing(harness)
    assert laws <= found
    assert FIRST not in found
