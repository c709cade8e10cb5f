"""A small deferred application on the neutral dialect: what its handlers did, and how to talk with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from surface import (
    CallContext,
    DeferredAgentToolSurface,
    Limits,
    MountedRun,
    Ranker,
    Receipt,
    Surface,
    Tool,
    create_deferred_agent_tool_surface,
    parse_receipt,
)
from surface.call import CallAnswer
from surface.dialect import Dialect
from surface.input_model import PydanticInput
from surface.transcript import Call
from tests.surface.neutral_dialect import NEUTRAL, answers_in, call, text_in, turn

DESCRIPTIONS = {
    "invoices_list": "List the invoices of a customer",
    "invoices_send": "Send an invoice to a customer by mail",
    "weather_forecast": "Tell the weather forecast of a city",
    "file_delete": "Delete a file from the disk",
    "help": "Explain what the shop can do",
}


class AnyArguments(BaseModel):
    model_config = ConfigDict(extra="allow")


class Shop:
    """The tools of the application; `handled` holds the name of every handler that ran."""

    def __init__(self, **described: str) -> None:
        self.handled: list[str] = []
        self.tools = [self._tool(name, text) for name, text in (described or DESCRIPTIONS).items()]

    def _tool(self, name: str, description: str) -> Tool:
        def handler(value: Any, call: CallContext) -> str:
            self.handled.append(name)
            return f"{name} is done"

        return Tool(
            name=name,
            description=description,
            input=PydanticInput(AnyArguments),
            handler=handler,
            idempotent=name == "file_delete",
        )

    def application(
        self,
        *,
        tools: Sequence[Tool] = (),
        always_on: Sequence[str] = ("help",),
        key: str = "reader",
        dialect: Dialect = NEUTRAL,
        ranker: Ranker | None = None,
        limits: Limits | None = None,
        **other: Any,
    ) -> DeferredAgentToolSurface:
        """The application with one surface of these tools and `tools`."""
        surface = Surface(key=key, tools=[*self.tools, *tools], always_on=always_on)
        return create_deferred_agent_tool_surface(
            application="shop", surfaces=[surface], dialect=dialect, ranker=ranker, limits=limits, **other
        )


class Talk:
    """The messages of a run so far, and a way to go on with them."""

    def __init__(self, run: MountedRun, messages: Sequence[Any] = ()) -> None:
        self.run = run
        self.messages: list[Any] = list(messages)
        self._calls = sum(len(message.calls) for message in messages if hasattr(message, "calls"))

    async def says(self, *calls: Call) -> list[CallAnswer]:
        """The model makes these calls in one turn; their answers."""
        self.messages.append(turn(*calls))
        answered = await self.run.dispatch(self.messages)
        self.messages.extend(answered)
        return answers_in(answered)

    async def calls(self, name: str, arguments: Any = None) -> CallAnswer:
        """The model makes one call; its answer."""
        (answer,) = await self.says(call(name, arguments, id=self.next_id()))
        return answer

    async def searches(self, query: str = "invoices") -> Receipt:
        """The model searches; the receipt."""
        return receipt_in(await self.calls("search_tools", {"query": query}))

    async def advertised(self) -> tuple[str, ...]:
        """What the next step advertises."""
        return (await self.run.prepare_step(self.messages)).names

    def next_id(self) -> str:
        """A call id that this talk has not used."""
        self._calls += 1
        return f"call-{self._calls}"


def receipt_in(answer: CallAnswer) -> Receipt:
    """The receipt that an answer carries."""
    receipt = parse_receipt(text_in(answer))
    assert isinstance(receipt, Receipt)
    return receipt
