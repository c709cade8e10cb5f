"""What a middleware answers without its tools, what it begins anew, and what it passes on as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain.tools import ToolRuntime
from langchain.tools import tool as lc_tool
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import create_model

from surface import ConfigurationError, Evidence, tool
from surface.adapters.langchain import langchain_tool
from surface.search_tool import DEFAULT_NAME as SEARCH
from tests.frameworks.langchain_agents import agent_of, answers, call, last, search
from tests.frameworks.test_langgraph_journal import Loses

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
KINDS = pytest.mark.parametrize("native", [True, False], ids=["langchains", "librarys"])


class Till:
    """Two tools, one of which may not run twice, and what ran of them."""

    def __init__(self, *fails: BaseException, native: bool = True) -> None:
        self.ran: list[str] = []
        left = list(fails)

        def look() -> str:
            """Looks."""
            self.ran.append("look")
            return "seen"

        def pay() -> str:
            """Pays."""
            self.ran.append("pay")
            if left:
                raise left.pop(0)
            return "paid"

        self.look: Any = lc_tool(look) if native else tool(read_only=True)(look)
        self.pay: Any = lc_tool(pay) if native else tool(pay)
        self.tools = [langchain_tool(self.look, read_only=True) if native else self.look, self.pay]


def full() -> None:
    """Raises where an answered call should be noted down."""
    raise OSError("the log is full")


@pytest.mark.rule("MNT-9")
@KINDS
@BOTH
async def test_a_call_that_had_begun_in_another_process_is_interrupted_also_where_its_tool_is_not_active_now(
    how: str, *, native: bool
) -> None:
    for always_on in (["pay"], []):
        till, saver = Till(native=native), InMemorySaver()
        first = agent_of(till.tools, before=[Loses(full)], always_on=["pay"], checkpointer=saver)
        with pytest.raises(OSError, match="full"):
            await first.ask([[call("pay")]], how)
        later = agent_of(till.tools, always_on=always_on, checkpointer=saver)
        later.model.turns.append("Done.")
        assert "INTERRUPTED" in last(await later.move(None, how)).text
        assert till.ran == ["pay"]


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_call_that_a_reviewer_made_another_and_that_had_begun_is_interrupted_where_that_is_not_active_now(
    how: str,
) -> None:
    till, saver = Till(), InMemorySaver()

    def process(*always_on: str, before: Any = ()) -> Any:
        reviewer: Any = HumanInTheLoopMiddleware(interrupt_on={"look": True})
        return agent_of(till.tools, before=before, after=[reviewer], always_on=always_on, checkpointer=saver)

    first, later = process("look", "pay", before=[Loses(full)]), process("look")
    await first.ask([[call("look")]], how)
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {}}}
    with pytest.raises(OSError, match="full"):
        await first.move(Command(resume={"decisions": [edit]}), how)
    later.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await later.move(None, how)).text
    assert till.ran == ["pay"]


@pytest.mark.rule("MNT-9", "REP-1")
@BOTH
async def test_a_call_that_had_not_begun_is_told_to_search_where_its_tool_is_not_active_now(how: str) -> None:
    till, saver = Till(), InMemorySaver()
    first = agent_of(till.tools, always_on=["pay"], checkpointer=saver)
    await first.ask([[call("pay")]], how, interrupt_before=["tools"])
    later = agent_of(till.tools, checkpointer=saver)
    later.model.turns.append("Done.")
    assert "SEARCH_REQUIRED" in last(await later.move(None, how)).text
    assert till.ran == []


@pytest.mark.rule("MNT-9", "REP-1")
@BOTH
async def test_a_call_that_raised_here_and_whose_tool_is_not_active_any_more_is_told_to_search(how: str) -> None:
    till, pins = Till(OSError("no route")), ["pay"]
    agent = agent_of(till.tools, checkpointer=InMemorySaver(), deferred={"pins": lambda _context, _transcript: pins})
    with pytest.raises(OSError, match="no route"):
        await agent.ask([[call("pay")]], how)
    pins.clear()
    agent.model.turns.append("Done.")
    assert "SEARCH_REQUIRED" in last(await agent.move(None, how)).text
    assert till.ran == ["pay"]


@pytest.mark.rule("REP-1", "MNT-9")
@BOTH
async def test_a_search_that_the_input_ends_with_is_answered_before_the_model_is_asked(how: str) -> None:
    till = Till()
    agent = agent_of(till.tools)
    agent.model.turns.extend([[call("look")], "Done."])
    open_search = AIMessage("", tool_calls=[{"name": SEARCH, "args": {"query": "look"}, "id": "open"}])
    messages = await agent.move({"messages": [HumanMessage("Look."), open_search]}, how)
    assert "SELECTED" in answers(messages)[0].text
    assert agent.model.advertised[0] == (SEARCH, "look")
    assert till.ran == ["look"]


@pytest.mark.rule("ACT-5", "EVD-1")
@pytest.mark.parametrize("named", [True, False])
@BOTH
async def test_a_new_input_is_a_new_run_unless_the_application_says_which_run_it_is(how: str, *, named: bool) -> None:
    till = Till()
    events: list[Evidence] = []
    agent = agent_of(
        till.tools,
        checkpointer=InMemorySaver(),
        deferred={"run_id": lambda _: "order-7"} if named else {},
        options={"observer": events.append},
    )
    await agent.ask([[search("look")], "Done."], how)
    await agent.ask(["Done."], how)
    assert agent.model.advertised[-1] == ((SEARCH, "look") if named else (SEARCH,))
    runs = list(dict.fromkeys(event.run_id for event in events))
    assert (runs == ["order-7"]) if named else (len(runs) == 2)


class Sees(AgentMiddleware[Any, Any, Any]):
    """Notes what a request offers, and keeps what only a provider runs from the model of this test."""

    def __init__(self) -> None:
        super().__init__()
        self.tools: list[Any] = []

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(self._seen(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(self._seen(request))

    def _seen(self, request: Any) -> Any:
        self.tools = list(request.tools)
        return request.override(tools=[each for each in request.tools if not isinstance(each, dict)])


@pytest.mark.rule("CAT-7")
@BOTH
async def test_the_model_is_given_langchains_own_tool_and_a_tool_of_the_providers_stays_beside_it(how: str) -> None:
    till, sees = Till(), Sees()
    hosted = {"type": "web_search_20250305"}
    agent = agent_of([till.look], always_on=["look"], after=[sees], beside=[hosted])
    await agent.ask(["Done."], how)
    assert till.look in sees.tools
    assert hosted in sees.tools


def _schema(name: str) -> dict[str, Any]:
    return {"title": name, "description": "Ends the run.", "type": "object", "properties": {}}


@pytest.mark.parametrize("name", ["pay", SEARCH])
@pytest.mark.parametrize(
    "made",
    [
        lambda name: ToolStrategy(_schema(name)),
        lambda name: AutoStrategy(_schema(name)),
        _schema,
        lambda name: create_model(name, euros=int),
        lambda name: ToolStrategy({"oneOf": [_schema("other"), _schema(name)]}),
        lambda name: create_model("other") | create_model(name),
    ],
    ids=["tool", "auto", "schema", "model", "one of several", "union"],
)
@BOTH
async def test_a_structured_answer_with_a_name_of_the_surfaces_is_refused_before_the_model_is_asked(
    how: str, made: Callable[[str], Any], name: str
) -> None:
    agent = agent_of([Till().pay], response_format=made(name))
    with pytest.raises(ConfigurationError, match=rf"^response_format: {name} .* another name"):
        await agent.ask([[call(name)]], how)
    assert agent.model.advertised == []


class Turns(AgentMiddleware[Any, Any, Any]):
    """Wants another answer from the model than the agent was made with."""

    def __init__(self, wanted: Any) -> None:
        super().__init__()
        self._wanted = wanted

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request.override(response_format=self._wanted))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(request.override(response_format=self._wanted))


@BOTH
async def test_a_structured_answer_that_other_middleware_asks_for_is_looked_at_too(how: str) -> None:
    agent = agent_of([Till().pay], before=[Turns(_schema("pay"))], response_format=_schema("pay"))
    with pytest.raises(ConfigurationError, match=r"^response_format: pay .* another name"):
        await agent.ask([[call("pay")]], how)


@BOTH
async def test_a_structured_answer_that_the_provider_makes_itself_may_have_any_name(how: str) -> None:
    agent = agent_of([Till().pay], always_on=["pay"], response_format=ProviderStrategy(_schema("pay")))
    messages = await agent.ask([[call("pay")], "{}"], how)
    assert last(messages).text == "paid"
    assert messages[-1].text == "{}"


class Puts(AgentMiddleware[Any, Any, Any]):
    """Puts a tool that runs into every call of its name, as one does that knows nothing of the catalog."""

    def __init__(self, brought: Any) -> None:
        super().__init__()
        self._brought = brought

    def _put(self, request: ToolCallRequest) -> ToolCallRequest:
        mine = request.tool_call["name"] == self._brought.name
        return request.override(tool=self._brought) if mine else request

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return handler(self._put(request))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return await handler(self._put(request))


@pytest.mark.rule("REP-2")
@BOTH
async def test_a_name_of_the_catalog_is_gated_whatever_tool_other_middleware_puts_behind_it(how: str) -> None:
    till = Till()
    heard: list[str] = []

    class Hears(BaseCallbackHandler):
        def on_tool_start(self, serialized: dict[str, Any], input_str: str, **_: Any) -> None:
            heard.append(serialized["name"])

    agent = agent_of(till.tools, before=[Puts(till.pay)])
    messages = await agent.ask([[call("pay")], "Done."], how, config={"callbacks": [Hears()]})
    assert "SEARCH_REQUIRED" in answers(messages)[-1].text
    # An inactive call is answered before anything that runs tools hears of it.
    assert (till.ran, heard) == ([], [])


@pytest.mark.rule("MNT-1")
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_that_returns_directly_gets_what_langchain_injects(*, is_async: bool) -> None:
    def pay(runtime: ToolRuntime) -> str:
        """Pays."""
        return f"paid in {runtime.tool_call_id}"

    async def apay(runtime: ToolRuntime) -> str:
        """Pays."""
        return pay(runtime)

    schema: dict[str, Any] = {"type": "object", "properties": {}}  # which says nothing of what is injected
    made: Any = StructuredTool.from_function(
        **({"coroutine": apay} if is_async else {"func": pay}), name="pay", args_schema=schema, return_direct=True
    )
    messages = await agent_of([made], always_on=["pay"]).ask([[call("pay")]])
    assert messages[-1].text == f"paid in {messages[-1].tool_call_id}"
