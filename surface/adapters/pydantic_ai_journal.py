"""What a journal remembers of a run's calls (MNT-9): which turns and approvals were begun before, and each answer.

A record is tied to its call: its name holds the run id and the call id, and the call id stands in it once more. An
answer is read back from its record the first time too, so a replay gives what the first life gave.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ToolReturn, ToolReturnPart, UserPromptPart

from surface.errors import ConfigurationError

Journal = Callable[[str, Callable[[], Coroutine[Any, Any, str]]], Awaitable[str]]
"""How a durable engine, or a table of yours, records work: it gets a name and the work, and gives the work's text.

The text is the one recorded under that name where there is one; else the work is done, its text recorded and given.
With DBOS: ``lambda name, work: DBOS.run_step_async({"name": name}, work)``. A search and a call that were recorded are
then not made again; a call that was begun and not recorded is answered by MNT-9, approved or not.
"""

ON_PURPOSE: Mapping[type[Exception], str] = {
    ApprovalRequired: "DEFERRED",
    CallDeferred: "DEFERRED",
    ModelRetry: "RETRY",
    ToolFailed: "TOOL_FAILED",
}
"""What pydantic-ai's tools raise to steer a run, and what the evidence calls it."""
_BY_NAME = {each.__name__: each for each in ON_PURPOSE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """What a tool raised on purpose, to be raised again."""

    error: Exception


Outcome = ToolReturn[Any] | Raised
"""What becomes of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJournal:
    """The journal of one run."""

    journal: Journal
    run_id: str

    async def begins(self, what: str, call_id: str) -> bool:
        """Whether a turn or an approved call, named by a call id, begins now and did not begin before."""
        fresh: list[str] = []

        async def mark() -> str:
            fresh.append(call_id)
            return call_id

        self._tied(await self.journal(self._name(what, call_id), mark), call_id)
        return bool(fresh)

    async def answered(self, what: str, call_id: str, tool: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """What became of a call, now or as recorded; raises what the work raises by accident."""

        async def recorded() -> str:
            return json.dumps({"call": call_id, **_written(await work(), tool, call_id)})

        record = json.loads(await self.journal(self._name(what, call_id), recorded))
        self._tied(record["call"], call_id)
        return _read(record)

    def _name(self, what: str, call_id: str) -> str:
        return f"toolsurface.{what}:{self.run_id}:{call_id}"

    def _tied(self, found: str, call_id: str) -> None:
        if found != call_id:
            raise ConfigurationError(
                f"journal: gave the record of call {found} for call {call_id}; let it give what it recorded under the "
                "same name, and let the work of a turn begin in the same order again"
            )


def _written(outcome: Outcome, tool: str, call_id: str) -> dict[str, Any]:
    if isinstance(outcome, Raised):
        error: Any = outcome.error
        told = error.metadata if isinstance(error, ApprovalRequired | CallDeferred) else error.message
        return {"raised": next(name for name, kind in _BY_NAME.items() if isinstance(error, kind)), "told": told}
    parts: list[Any] = [
        ToolReturnPart(tool_name=tool, tool_call_id=call_id, content=outcome.return_value, metadata=outcome.metadata)
    ]
    if outcome.content is not None:
        parts.append(UserPromptPart(content=outcome.content))
    tools = getattr(outcome, "tools", None)
    return {"messages": ModelMessagesTypeAdapter.dump_python([ModelRequest(parts=parts)], mode="json"), "tools": tools}


def _read(record: Mapping[str, Any]) -> Outcome:
    if "raised" in record:
        return Raised(error=_BY_NAME[record["raised"]](record["told"]))
    (request,) = ModelMessagesTypeAdapter.validate_python(record["messages"])
    returned, *prompts = cast("list[Any]", request.parts)
    given = ToolReturn(return_value=returned.content, metadata=returned.metadata)
    for prompt in prompts:
        given.content = prompt.content
    if record["tools"] is not None:
        given.tools = record["tools"]
    return given
