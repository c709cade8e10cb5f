"""A small agent over one surface, with tools that are written for pydantic-ai and a model that follows a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ToolReturnPart as Return
from pydantic_ai.models.function import AgentInfo, FunctionModel

from surface import Surface, create_deferred_agent_tool_surface
from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredTools, Journal, catalog_tools
from surface.evidence import CallEvidence, Evidence
from surface.testing import ScriptedRanker

Calls = Sequence[tuple[str, dict[str, Any]]]
SEARCH = ("search_tools", {"query": "all"})


@dataclass
class Desk:
    """The deps of a run."""

    run_id: str = "run-1"
    did: list[str] = field(default_factory=list)


def refund(ctx: RunContext[Desk], amount: int) -> str:
    """Refunds an amount.

    Args:
        amount: In cents.
    """
    if amount > 100:
        raise ModelRetry("No more than 100.")
    ctx.deps.did.append(f"refund {amount} in {ctx.tool_call_id}")
    return f"refunded {amount}"


def close_account(ctx: RunContext[Desk]) -> str:
    """Closes the account."""
    ctx.deps.did.append("close")
    return "closed"


class Bench:
    """An agent over one surface whose tools a search finds all, with a model that says what it is told to."""

    def __init__(
        self,
        *tools: Any,
        made: Sequence[Any] = (),
        journal: Journal | None = None,
        pins: Any = (),
        controlled: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.events: list[Evidence] = []
        self.shown: list[list[str]] = []
        self.desk = Desk()
        offered = [*catalog_tools(*tools), *made]
        names = [each.name for each in offered]
        controller = create_deferred_agent_tool_surface(
            application="shop",
            surfaces=[Surface(key="desk", tools=offered)],
            dialect=PYDANTIC_AI,
            ranker=ScriptedRanker(answers={"all": names}),
            observer=self.events.append,
            **(controlled or {}),
        )
        self.deferred = DeferredTools(
            controller, surface="desk", run_id=lambda ctx: ctx.deps.run_id, pins=pins, journal=journal
        )
        capabilities = [self.deferred, *options.pop("capabilities", [])]
        self.agent = Agent(FunctionModel(self._answer), deps_type=Desk, capabilities=capabilities, **options)
        self.turns: list[Calls] = []

    async def run(self, *turns: Calls, history: Any = None, **options: Any) -> Any:
        self.turns = list(turns)
        prompt = "Go on." if history is None else None
        return await self.agent.run(prompt, deps=self.desk, message_history=history, **options)

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.shown.append([each.name for each in info.function_tools])
        if not self.turns:
            return ModelResponse(parts=[TextPart("Done.")])
        number = sum(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse(
            parts=[
                ToolCallPart(tool_name=name, args=args, tool_call_id=f"call-{number}-{at}")
                for at, (name, args) in enumerate(self.turns.pop(0))
            ],
            timestamp=said_at(number),
        )

    @property
    def outcomes(self) -> list[tuple[str | None, str]]:
        return [(event.tool, event.outcome) for event in self.events if isinstance(event, CallEvidence)]


def said_at(turn: int) -> datetime:
    """When a turn was said: the same in each life, as a durable engine gives an answer of the model's again."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=turn)


def returns(result: Any) -> list[Return]:
    return [part for message in result.all_messages() for part in message.parts if isinstance(part, Return)]
