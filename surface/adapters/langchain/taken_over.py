"""Calls that an input left open at its end: a client wrote them, or a history that was stored.

No hook behind the model saw them in this run, so the model's node repeats their turn instead of asking the model, and
whatever reviews what a model says (`after_model`) comes before any of them runs. Where that cannot be shown as the
model's own answer would be, none of them runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from surface.adapters.langchain.messages import left_open
from surface.registry import CheckedSurface

FOUND = "toolsurface_found"
"""In the state: the ids of the calls that the input left open, until the model itself has spoken."""
SHOWN = "toolsurface_shown"
"""In the state: whether their turn was shown, as the last message; None where it is still to be."""

State = Mapping[str, Any]


def taken_over(state: State, surface_of: Any) -> dict[str, Any]:
    """What the state is to hold of the calls that the input left open."""
    left = left_open(state["messages"])
    surface: CheckedSurface | None = surface_of() if left else None
    ours = surface is not None and any(
        call.name in surface.catalog or call.name == surface.search.name for call in left
    )
    return {FOUND: [call.id for call in left], SHOWN: None if ours else False}


def repeated(state: State) -> ExtendedModelResponse[Any] | None:
    """What the model's node says in place of the model: the turn that the input left open, once; None where it asks."""
    messages = state["messages"]
    if state.get(SHOWN, False) is not None or not left_open(messages):
        return None
    turn = next(message for message in reversed(messages) if isinstance(message, AIMessage))
    # A message of the id that stands there already takes its place, unless LangChain writes the whole history anew.
    again = turn.id is not None and not _is_repaired(messages)
    return ExtendedModelResponse(
        model_response=ModelResponse(result=[turn] if again else []),
        command=Command(update={SHOWN: again and turn is messages[-1]}),
    )


def answered(state: State, response: ModelResponse[Any]) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
    """What the model itself said: whatever it called, the input did not leave it open."""
    if not state.get(FOUND):
        return response
    return ExtendedModelResponse(model_response=response, command=Command(update={FOUND: [], SHOWN: False}))


def was_found(state: State) -> bool:
    """Whether the calls that are to be answered now are those that the input left open, whatever their ids are now."""
    return bool(state.get(FOUND))


def may_run(state: State) -> bool:
    """Whether calls may run now: none that the input left open, before the hooks behind the model have seen it."""
    return not was_found(state) or state.get(SHOWN) is True


def _is_repaired(messages: Sequence[Any]) -> bool:
    """Whether LangChain answers calls in the history that could not be parsed."""
    told = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    broken = [call for message in messages if isinstance(message, AIMessage) for call in message.invalid_tool_calls]
    return any(call.get("id") is not None and call.get("id") not in told for call in broken)
