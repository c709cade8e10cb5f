"""LangChain adapters that each break one law, to see that the conformance suite notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from surface.adapters.langchain import DeferredTools
from surface.adapters.langchain.attempts import Attempt, Attempts
from surface.adapters.langchain.calls import GatedCall


class EveryRunIsOne(DeferredTools):
    """Takes the conversation for the run, so a successor inherits what its predecessor had selected."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **{**options, "run_id": lambda _runtime: "conversation"})


class NoGate(DeferredTools):
    """Runs whatever the surface has."""

    async def _gated(self, request: ToolCallRequest) -> GatedCall | ToolMessage | None:
        gated = await super()._gated(request)
        if not isinstance(gated, GatedCall):
            return gated
        everything = replace(gated.turn.plan, names=tuple(gated.turn.surface.catalog.tools))
        return replace(gated, turn=replace(gated.turn, plan=everything))


class LosesTheReceipt(DeferredTools):
    """Answers without the artifact, as an application does that copies texts alone."""

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        answered = await super().awrap_tool_call(request, handler)
        return answered.model_copy(update={"artifact": None}) if isinstance(answered, ToolMessage) else answered


class _EveryCallIsNew(Attempts):
    @contextmanager
    def of(self, gated: GatedCall) -> Iterator[Attempt]:
        with super().of(gated) as attempt:
            yield replace(attempt, unseen=False, failed=True)


class RunsTwice(DeferredTools):
    """Takes every call for one that has never begun."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._attempts = _EveryCallIsNew()
