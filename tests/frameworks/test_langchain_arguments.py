"""What `DeferredTools` of LangChain refuses at once, and where a wrong call stands."""

from __future__ import annotations

import warnings
from datetime import date
from typing import Annotated, Any

import pydantic.v1
import pytest
from langchain.agents import create_agent
from langchain.tools import tool as lc_tool
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from pydantic import BaseModel, Field, field_validator, model_validator

from surface import ConfigurationError, Surface, TranscriptError, create_deferred_agent_tool_surface
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.langchain import DeferredTools, langchain_tool
from surface.input_model import AMBIGUOUS_DEPTH, InputRejectedError
from tests.frameworks.langchain_agents import agent_of, answers, call, controller_of, last
from tests.frameworks.langchain_harness import ScriptedChatModel


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"surface": None}, "^surface: needs the key"),
        ({"surface": 5}, "^surface: needs the key"),
        ({"run_id": "abc"}, "^run_id: needs a callable"),
        ({"controller": None}, "^controller: needs what create_deferred_agent_tool_surface returns, not NoneType"),
    ],
)
def test_a_wrong_argument_is_refused_naming_the_field(given: dict[str, Any], told: str) -> None:
    whole: dict[str, Any] = {"controller": controller_of([]), "surface": "desk", **given}
    with pytest.raises(ConfigurationError, match=told):
        DeferredTools(whole.pop("controller"), **whole)


def test_a_call_without_an_id_is_told_with_its_place_among_all_messages() -> None:
    deferred = DeferredTools(controller_of([]), surface="desk")
    agent = create_agent(ScriptedChatModel(turns=[]), middleware=[deferred])
    calls: Any = [{"name": "search_tools", "args": {"query": "x"}, "id": None}]
    graph: Any = agent
    with pytest.raises(TranscriptError, match=r"^messages\.1\.tool_calls\.0: a call needs an id"):
        graph.invoke({"messages": [HumanMessage("Please."), AIMessage("", tool_calls=calls)]})


def test_a_controller_of_another_dialect_is_refused_when_the_middleware_is_made() -> None:
    controller = create_deferred_agent_tool_surface(
        application="test", surfaces=[Surface(key="desk", tools=[])], dialect=ANTHROPIC_MESSAGES
    )
    with pytest.raises(ConfigurationError, match=r"^controller: speaks anthropic"):
        DeferredTools(controller, surface="desk")


def pay(euros: int) -> str:
    """Pays."""
    return f"paid {euros}"


@pytest.mark.parametrize("json_schema", [True, False])
def test_what_a_catalog_shows_of_a_tools_arguments_is_their_schema_and_no_second_description(
    *, json_schema: bool
) -> None:
    euros = {"title": "Euros", "type": "integer"}
    schema = {"title": "Pay", "description": "Of all.", "type": "object", "properties": {"euros": euros}}
    given: dict[str, Any] = {"args_schema": schema} if json_schema else {}
    made = langchain_tool(StructuredTool.from_function(pay, name="pay", description="Pays.", **given))
    shown = made.input.json_schema
    assert (shown["type"], shown["properties"]["euros"]["type"]) == ("object", "integer")
    assert shown.keys().isdisjoint({"title", "description"})
    with pytest.raises(InputRejectedError, match="euros"):
        made.input.validate({"euros": "all"})


def test_a_schema_of_pydantic_1_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain's of Pydantic 1
        old: Any = pydantic.v1.create_model("Old", euros=(int, ...))
        native = StructuredTool.from_function(pay, name="pay", args_schema=old)
        with pytest.raises(ConfigurationError, match=r"^tool pay: its args_schema needs a Pydantic 2 model"):
            langchain_tool(native)


def test_what_is_told_beside_a_tool_stands_in_the_catalog_and_wins_over_its_hints() -> None:
    hinted = StructuredTool.from_function(pay, metadata={"idempotentHint": True})
    made = langchain_tool(hinted, service="billing", idempotent=False)
    assert (made.service, made.idempotent) == ("billing", False)
    assert langchain_tool(pay, idempotent=True).idempotent


class Refund(BaseModel):
    """What LangChain parses by more than the fields' types."""

    customers: list[str]
    day: date = date(2026, 1, 1)
    from_: str = Field(default="", alias="from")
    share: float = 0.0

    @field_validator("customers", mode="before")
    @classmethod
    def split(cls, value: Any) -> Any:
        """Takes one text of several, too."""
        return value.split(",") if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def old(cls, value: Any) -> Any:
        """Takes an older form, too."""
        return {**value, "customers": value["people"]} if "people" in value else value


@pytest.mark.rule("MNT-1", "MNT-3")
@pytest.mark.parametrize(
    "arguments",
    [
        {"customers": "Ada,Grace"},
        {"people": ["Ada", "Grace"]},
        {"customers": ["Ada", "Grace"], "from": "Rome"},
        {"customers": ["Ada", "Grace"], "day": date(2026, 2, 3)},
        {"customers": ["Ada", "Grace"], "share": float("nan")},
    ],
    ids=["field-validator", "model-validator", "alias", "object", "nan"],
)
@pytest.mark.parametrize("runtime", [True, False], ids=["injected", "plain"])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_what_langchain_itself_accepts_is_accepted(how: str, arguments: dict[str, Any], *, runtime: bool) -> None:
    def plain(customers: list[str], **_rest: Any) -> str:
        return "|".join(customers)

    def injected(customers: list[str], state: Annotated[Any, InjectedState], **_rest: Any) -> str:
        return "|".join(customers) * bool(state["messages"])

    class Injected(Refund):
        state: Annotated[Any, InjectedState]

    refund = StructuredTool.from_function(
        injected if runtime else plain,
        name="refund",
        description="Refunds.",
        args_schema=Injected if runtime else Refund,
    )
    agent = agent_of([refund], always_on=["refund"])
    wrong, right = answers(await agent.ask([[call("refund", customers=3), call("refund", **arguments)], "Done."], how))
    assert "VALIDATION_ERROR" in wrong.text
    assert right.text == "Ada|Grace"


@pytest.mark.parametrize("ids", [("z", "z"), (None, "z")], ids=["repeated", "missing"])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_turn_whose_calls_nothing_tells_apart_ends_its_run_and_not_the_thread(
    how: str, ids: tuple[str | None, ...]
) -> None:
    ran: list[int] = []

    @lc_tool
    def pay(euros: int) -> str:
        """Pays."""
        ran.append(euros)
        return f"paid {euros}"

    agent = agent_of([pay], always_on=["pay"], checkpointer=InMemorySaver())
    wrong = AIMessage("", tool_calls=[{"name": "pay", "args": {"euros": 1}, "id": each} for each in ids])
    with pytest.raises(TranscriptError, match="id"):
        await agent.move({"messages": [HumanMessage("Pay."), wrong]}, how)
    assert last(await agent.ask([[call("pay", euros=2)], "Done."], how)).text == "paid 2"
    assert ran == [2]


def test_arguments_that_nest_deep_are_not_tried_again_by_the_tools_own_model() -> None:
    tried: list[str] = []

    class Filter(BaseModel):
        inner: list[Any] | int

        @model_validator(mode="before")
        @classmethod
        def _noted(cls, value: Any) -> Any:
            tried.append("whole")
            return value

    def find(inner: Any) -> str:
        """Finds."""
        return "found"

    judged = langchain_tool(StructuredTool.from_function(find, args_schema=Filter)).input
    nested: Any = "wrong"
    for depth in range(1, 2 * AMBIGUOUS_DEPTH):
        nested = {"deeper": nested}
        tried.clear()
        with pytest.raises(InputRejectedError):
            judged.validate({"inner": nested})
        assert bool(tried) == (depth <= AMBIGUOUS_DEPTH), depth
