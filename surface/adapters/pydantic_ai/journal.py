"""What a journal remembers of a run's calls (MNT-9): which of them began before, and what became of each.

A record is tied to its call: its name holds the run id, the call id, which of the run's calls of this id it is, and the
attempt; the call id, the tool, a digest of the arguments and when the model wrote the call stand in it. An answer is
read back from its record the first time too, so a replay gives what the first life gave.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ToolReturn, ToolReturnPart, UserPromptPart
from pydantic_core import to_json, to_jsonable_python

from surface.errors import ConfigurationError

_log = logging.getLogger("toolsurface")

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
_FIELDS = {"call", "tool", "arguments", "approval"}
_BY_NAME = {each.__name__: each for each in ON_PURPOSE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """What a tool raised on purpose, to be raised again."""

    error: Exception
    begun: bool = True
    """Whether the call may have had an effect; the fence refuses it before that."""


Outcome = ToolReturn[Any] | Raised
"""What becomes of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournaledCall:
    """A call as far as its records are concerned."""

    id: str
    tool: str
    number: int
    """Which of the run's calls of this id it is, from 1: some models give every turn the same ids."""
    written_at: str
    """When the model wrote it. A history that was cut may number a later call as an earlier one was."""
    arguments: str = field(repr=False)
    """The digest of what the model wrote."""
    approval: str | None = field(repr=False)
    """The digest of what an approval says; None without one."""
    marked: bool
    """Whether a kill in its middle leaves a doubt: not where the tool may run twice. Where it is not active either, in
    case that it was when the call began: the records of a run must not depend on what a deploy has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJournal:
    """The journal of one run."""

    journal: Journal
    run_id: str
    _order: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def settled(
        self,
        call: JournaledCall,
        work: Callable[..., Awaitable[Outcome]],
        *,
        found: bool,
        may_begin: Callable[[], Awaitable[bool]],
    ) -> Outcome:
        """What became of a call, now or as recorded; raises what the work raises by accident.

        `work` is told whether a restart found the call, or it is known to have begun before (`restarted`). No record is
        the last word where the tool asked to wait and another approval came, nor where the fence refused the call and
        `may_begin` says that it may begin now: then there is a next attempt.
        """
        attempt = 1
        while True:
            record, made = await self._attempt(call, attempt, work, found=found and attempt == 1)
            outcome = _read(record)
            if made or not isinstance(outcome, Raised):
                return outcome
            waits = isinstance(outcome.error, ApprovalRequired | CallDeferred)
            if not (waits and record["approval"] != call.approval) and (outcome.begun or not await may_begin()):
                return outcome
            attempt += 1

    async def _attempt(
        self, call: JournaledCall, attempt: int, work: Callable[..., Awaitable[Outcome]], *, found: bool
    ) -> tuple[Mapping[str, Any], bool]:
        """The record of one attempt, and whether it was made now."""
        name = f"{self.run_id}:{call.id}:{call.number}.{attempt}"
        record, made = await self._recorded(call, name, work, found=found)
        if record.get("written_at") != call.written_at:
            # The record is another call's, or the messages are no longer those of the first life: nobody can tell.
            record, made = await self._recorded(call, f"{name}:{call.written_at}", work, found=True)
        if (record["tool"], record["arguments"]) != (call.tool, call.arguments):
            raise ConfigurationError(
                f"journal: the record of call {call.id} is of another tool or of other arguments; let a replay get the "
                "answers that the model gave first, and let no two runs have one run id"
            )
        return record, made

    async def _recorded(
        self, call: JournaledCall, name: str, work: Callable[..., Awaitable[Outcome]], *, found: bool
    ) -> tuple[Mapping[str, Any], bool]:
        """The record of this name, of whichever call of this id it is, and whether it was made now."""
        made: list[str] = []
        with ExitStack() as first:
            # A durable engine finds its records again by the order in which they began: one call begins at a time.
            await self._order.acquire()
            first.callback(self._order.release)
            began = call.marked and not await self._begins(name, call.id)

            async def recorded() -> str:
                first.close()
                outcome = await work(restarted=found or began)
                tie = {"call": call.id, "tool": call.tool, "arguments": call.arguments, "approval": call.approval}
                written = _written(outcome, call.tool, call.id)
                made.append(json.dumps({**tie, "written_at": call.written_at, **written}))
                return made[0]

            record = _parsed(await self.journal(f"toolsurface.call:{name}", recorded))
        _tied(record["call"], call.id)
        return record, bool(made)

    async def _begins(self, name: str, call_id: str) -> bool:
        """Whether an attempt begins now and did not begin before."""
        fresh: list[str] = []

        async def mark() -> str:
            fresh.append(call_id)
            return call_id

        _tied(await self.journal(f"toolsurface.begun:{name}", mark), call_id)
        return bool(fresh)


def digest(value: Any) -> str:
    """What tells one JSON value from another without holding it; of anything else, its class counts."""
    try:
        written = to_json(value, fallback=_class_of, bytes_mode="base64")
    except (ValueError, TypeError, RecursionError):
        written = _class_of(value).encode()
    return hashlib.sha256(written).hexdigest()


def _class_of(value: Any) -> str:
    return type(value).__qualname__


def _parsed(text: object) -> Mapping[str, Any]:
    """The record in a journal's text; raises ConfigurationError, which never quotes it."""
    try:
        record = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or not record.keys() >= _FIELDS or not record.keys() & {"raised", "messages"}:
        raise ConfigurationError(
            f"journal: gave {type(text).__name__ if not isinstance(text, str) else 'a text'} that is no record; let it "
            "return the text that the work gave, as it was, or the one recorded under that name"
        )
    return record


def _tied(found: object, call_id: str) -> None:
    if not isinstance(found, str):
        raise ConfigurationError(
            f"journal: gave {type(found).__name__}; let it return the text that the work gave, or the one recorded "
            "under that name"
        )
    if found != call_id:
        raise ConfigurationError(
            f"journal: gave another record than that of call {call_id}; let it give what it recorded under the "
            "same name, and let the work of a turn begin in the same order again"
        )


def _written(outcome: Outcome, tool: str, call_id: str) -> dict[str, Any]:
    if isinstance(outcome, Raised):
        error: Any = outcome.error
        waits = isinstance(error, ApprovalRequired | CallDeferred)
        told = to_jsonable_python(_storable(error.metadata, tool), bytes_mode="base64") if waits else error.message
        kind = next(name for name, kind in _BY_NAME.items() if isinstance(error, kind))
        return {"raised": kind, "told": told, "begun": outcome.begun}
    metadata = _storable(outcome.metadata, tool)
    parts: list[Any] = [
        ToolReturnPart(tool_name=tool, tool_call_id=call_id, content=outcome.return_value, metadata=metadata)
    ]
    if outcome.content is not None:
        parts.append(UserPromptPart(content=outcome.content))
    tools = getattr(outcome, "tools", None)
    return {"messages": ModelMessagesTypeAdapter.dump_python([ModelRequest(parts=parts)], mode="json"), "tools": tools}


def _storable(metadata: Any, tool: str) -> Any:
    """The metadata, or nothing where it is no JSON: the call has had its effect and must be recorded."""
    try:
        to_jsonable_python(metadata, bytes_mode="base64")
    except (ValueError, TypeError, RecursionError) as error:
        _log.error("the metadata of a call of tool %s cannot be recorded: %s", tool, type(error).__name__)
        return None
    return metadata


def _read(record: Mapping[str, Any]) -> Outcome:
    if "raised" in record:
        return Raised(error=_BY_NAME[record["raised"]](record["told"]), begun=record["begun"])
    (request,) = ModelMessagesTypeAdapter.validate_python(record["messages"])
    returned, *prompts = cast("list[Any]", request.parts)
    given = ToolReturn(return_value=returned.content, metadata=returned.metadata)
    for prompt in prompts:
        given.content = prompt.content
    if record["tools"] is not None:
        given.tools = record["tools"]
    return given
