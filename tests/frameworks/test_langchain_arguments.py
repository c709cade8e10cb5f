"""What `DeferredTools` of LangChain refuses at once, and where a wrong call stands."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from surface import ConfigurationError, Surface, TranscriptError, create_deferred_agent_tool_surface
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.langchain import DeferredTools
from tests.frameworks.langchain_agents import controller_of
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
