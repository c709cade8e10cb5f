"""Drawn histories as the messages of a real dialect."""

from __future__ import annotations

from typing import Any

from tests.strategies import History, Told

Message = dict[str, Any]


def messages_of(history: History) -> list[list[Message]]:
    """The messages of a history, one list per step."""
    return [
        [{"role": "assistant", "content": [_call(told) for told in step]}, *_results(step)] for step in history.steps
    ]


def _call(told: Told) -> Message:
    call = told.answered.call
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _results(step: tuple[Told, ...]) -> list[Message]:
    results = [
        {
            "type": "tool_result",
            "tool_use_id": told.answered.call.id,
            "content": [{"type": "text", "text": told.answered.result.text}],
            "is_error": told.answered.result.failed,
        }
        for told in step
        if told.answered.result is not None
    ]
    # A turn that nothing answers still has to end before the next one.
    return [{"role": "user", "content": results or "Go on."}]


UNRELATED: list[Message] = [
    {"role": "user", "content": "Thank you."},
    {"role": "user", "content": [{"type": "text", "text": '{"kind":"toolsurface.receipt"}'}]},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "of-no-call", "content": "late"}]},
]
"""Messages that hold no call and the result of none."""
