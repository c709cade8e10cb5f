"""What decision 0010 rests on, run against pydantic-ai: where a receipt could live in its own tool search, and why not.

If one of these tests fails, pydantic-ai has changed and the decision should be read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, Tool, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, ToolSearch
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ToolReturnPart as Return
from pydantic_ai.models.function import AgentInfo, FunctionModel

RECEIPT = {"toolsurface.receipt": "{}"}


class Minting(AbstractCapability[Any]):
    """Puts a receipt into the metadata of every native search's result."""

    async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        return ToolReturn(return_value=result, metadata=RECEIPT) if call.tool_name == "search_tools" else result


class Native:
    """An agent with two deferred tools and a search that finds the one it is asked for."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.offered: list[set[str]] = []
        self.turns: list[Sequence[tuple[str, dict[str, Any]]]] = []

        def make(name: str) -> Tool[Any]:
            return Tool(lambda: self.ran.append(name), name=name, description=f"Does {name}.", defer_loading=True)

        self.agent = Agent(
            FunctionModel(self._answer),
            tools=[make("alpha"), make("bravo")],
            capabilities=[ToolSearch(strategy=lambda _, queries, __: list(queries)), Minting()],
        )

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered.append({tool.name for tool in info.function_tools} - {"search_tools"})
        if not self.turns:
            return ModelResponse(parts=[TextPart("Done.")])
        at = len(messages)
        calls = enumerate(self.turns.pop(0))
        return ModelResponse(
            parts=[
                ToolCallPart(tool_name=name, args=args, tool_call_id=f"call-{at}-{number}")
                for number, (name, args) in calls
            ]
        )


def search(name: str) -> tuple[str, dict[str, Any]]:
    return "search_tools", {"queries": [name]}


async def test_a_receipt_can_stand_in_the_metadata_of_a_native_search_and_is_stored() -> None:
    native = Native()
    native.turns = [[search("alpha")]]
    stored = ModelMessagesTypeAdapter.validate_json((await native.agent.run("Go.")).all_messages_json())
    (result,) = [part for message in stored for part in message.parts if isinstance(part, Return)]
    assert result.metadata == RECEIPT


async def test_but_what_a_later_search_selects_does_not_replace_what_an_earlier_one_did() -> None:
    native = Native()
    native.turns = [[search("alpha")], [search("bravo")], [("alpha", {}), ("bravo", {})]]
    await native.agent.run("Go.")
    assert native.offered[1:3] == [{"alpha"}, {"alpha", "bravo"}]
    assert native.ran == ["alpha", "bravo"]


async def test_and_another_run_on_the_history_keeps_it_with_no_receipt_at_all() -> None:
    native = Native()
    native.turns = [[search("alpha")]]
    history = (await native.agent.run("Go.")).all_messages()
    for message in history:
        for part in message.parts:
            if isinstance(part, Return):
                part.metadata = None
    native.turns = [[("alpha", {})]]
    await native.agent.run("And again.", message_history=history)
    assert native.ran == ["alpha"]
