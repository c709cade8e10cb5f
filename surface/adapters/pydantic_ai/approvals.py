"""Which approvals a run was handed, written beside the calls they are for: in the hidden `metadata` of the response.

No message tells that an approved call began. This mark does, where the messages are stored after each node: it is
written before the call begins, names the run of pydantic-ai's that was handed the approval, and goes where the tool
asks for another one. pydantic-ai stores it with the message and sends it to no model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.tools import DeferredToolResults, ToolApproved

MARK = "toolsurface.approved"
"""The key in the metadata of a response: call id → the `run_id` of pydantic-ai's that was handed its approval."""
WAITS = "toolsurface.waits"
"""The key in the metadata of a response: the ids of the calls whose tools asked for an approval."""


def note_approvals(
    messages: list[ModelMessage], given: DeferredToolResults, *, run_id: str | None, tools: Collection[str]
) -> None:
    """Marks the approved calls of these tools in the last response, which is replaced; a mark that is there stays."""
    found = ((at, each) for at, each in reversed(list(enumerate(messages))) if isinstance(each, ModelResponse))
    at, response = next(found, (0, None))
    if response is None or run_id is None:
        return
    results = given.to_tool_call_results()
    approved = {
        call.tool_call_id: run_id
        for call in response.tool_calls
        if call.tool_name in tools and isinstance(results.get(call.tool_call_id), ToolApproved)
    }
    if approved:
        marks = {**approved, **_marks(response)}
        messages[at] = replace(response, metadata={**(response.metadata or {}), MARK: marks})


def approved_by(messages: Sequence[ModelMessage], call_id: str) -> str | None:
    """The run that was handed the approval of a call of the last response; None where none is known."""
    response = next((each for each in reversed(messages) if isinstance(each, ModelResponse)), None)
    run_id = None if response is None else _marks(response).get(call_id)
    return run_id if isinstance(run_id, str) else None


def forget_approval(messages: Sequence[ModelMessage], call_id: str) -> None:
    """Takes a mark away: the tool asked for another approval, so nothing of the call is under way."""
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            if call_id in _marks(message) and message.metadata is not None:
                message.metadata[MARK] = {each: run for each, run in _marks(message).items() if each != call_id}
            return


def note_waiting(messages: list[ModelMessage], call_id: str) -> None:
    """Marks a call of the last response, which is replaced: its tool asked for an approval and did nothing else."""
    for at in range(len(messages) - 1, -1, -1):
        response = messages[at]
        if isinstance(response, ModelResponse):
            waiting = [*_waiting(response), *([] if call_id in _waiting(response) else [call_id])]
            messages[at] = replace(response, metadata={**(response.metadata or {}), WAITS: waiting})
            return


def waits(messages: Sequence[ModelMessage], call_id: str) -> bool:
    """Whether the tool of a call of the last response asked for an approval when it was run."""
    response = next((each for each in reversed(messages) if isinstance(each, ModelResponse)), None)
    return response is not None and call_id in _waiting(response)


def _waiting(response: ModelResponse) -> Sequence[Any]:
    waiting = (response.metadata or {}).get(WAITS)
    return waiting if isinstance(waiting, list) else ()


def _marks(response: ModelResponse) -> Mapping[str, Any]:
    marks = (response.metadata or {}).get(MARK)
    return marks if isinstance(marks, Mapping) else {}
