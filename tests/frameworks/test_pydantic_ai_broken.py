"""The conformance suite notices a pydantic-ai adapter that breaks a law: each one here breaks one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolReturnPart

from surface.adapters.pydantic_ai import DeferredToolset
from surface.adapters.pydantic_ai.run import RunToolset
from surface.testing import AdapterConformance, Harness, Scenario
from surface.turn import Turn
from tests.frameworks.pydantic_ai_harness import PydanticAIHarness, PydanticAISession


class EveryRunIsOne(PydanticAIHarness):
    """Leaks activation between runs: a successor has the run id of its predecessor."""

    def open(self, scenario: Scenario, *, run_id: str, **other: Any) -> PydanticAISession:
        return super().open(scenario, run_id="conversation", **other)


class Broken(PydanticAIHarness):
    """Gives every run a toolset that is broken in one way."""

    toolset: type[RunToolset]

    def open(self, scenario: Scenario, **other: Any) -> PydanticAISession:
        session = super().open(scenario, **other)
        toolset = session._deferred.toolset
        made = type("Made", (type(toolset),), {"__slots__": (), "for_run": self._for_run})
        session._deferred.toolset = made(
            toolset.controller, toolset.surface, toolset.run_id, toolset.pins, toolset.journal
        )
        return session

    @property
    def _for_run(self) -> Callable[..., Any]:
        async def for_run(toolset: DeferredToolset, ctx: Any) -> Any:
            run: Any = await DeferredToolset.for_run(toolset, ctx)
            run.__class__ = self.toolset
            return run

        return for_run


class Ungated(RunToolset):
    """Runs what was called, active or not."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        turn: Turn = await self._turn(ctx)
        if name not in self._run.surface.catalog or name in turn.names:
            return await super().call_tool(name, tool_args, ctx, tool)
        (call,) = [each for each in turn.step.calls if each.id == ctx.tool_call_id]
        answer = await turn.calls.run(call, restarted=False)
        return self._run.dialect.answer([answer])[0].parts[0].content


class Repeating(RunToolset):
    """Takes every call for one that never began."""

    async def get_tools(self, ctx: Any) -> Any:
        self._found = set()
        return await super().get_tools(ctx)


class NoGate(Broken):
    toolset = Ungated


class RunsTwice(Broken):
    toolset = Repeating


class LosesReceipts(PydanticAIHarness):
    """Stores what the model reads and not what is hidden beside it."""

    def open(self, scenario: Scenario, *, history: str | None = None, **other: Any) -> PydanticAISession:
        messages = ModelMessagesTypeAdapter.validate_json(history or "[]")
        for part in (part for message in messages for part in message.parts):
            if isinstance(part, ToolReturnPart):
                part.metadata = None
        stripped = ModelMessagesTypeAdapter.dump_json(messages).decode() if history else None
        return super().open(scenario, history=stripped, **other)


@pytest.mark.parametrize(
    ("harness", "law", "told"),
    [
        (EveryRunIsOne, "another_run_and_another_surface_inherit_nothing", 'record.advertised == (SEARCH, "always")'),
        (NoGate, "a_hidden_call_never_executes_through_any_path", '"SEARCH_REQUIRED" in'),
        (
            LosesReceipts,
            "a_restart_restores_the_activation_without_a_new_search",
            "(await again.step([])).advertised == before.advertised",
        ),
        (RunsTwice, "a_restart_runs_an_unanswered_call_again_only_where_that_is_safe", '"INTERRUPTED" in unsafe'),
    ],
)
@pytest.mark.rule("REP-2", "ACT-5", "MNT-9")
def test_an_adapter_that_breaks_a_law_fails_the_test_of_that_law(
    harness: Callable[[], Harness], law: str, told: str
) -> None:
    class Suite(AdapterConformance):
        def harness(self) -> Harness:
            return harness()

    with pytest.raises(AssertionError) as failed:
        getattr(Suite(), f"test_{law}")()
    assert told in str(failed.traceback[-1].statement)
