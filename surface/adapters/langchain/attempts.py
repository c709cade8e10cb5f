"""Whether a call may run again: what this process, the graph and a checkpointer know of its beginning (MNT-9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import ReferenceType, ref

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from surface.adapters.langchain.calls import GatedCall
from surface.adapters.langchain.journal import Journal, checkpoint_of, is_kept
from surface.adapters.langchain.messages import latest_of
from surface.adapters.langchain.recent import Recent
from surface.adapters.langchain.stored import Stored
from surface.adapters.langchain.taken_over import was_found
from surface.mounted_run import MountedRun

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is known when a call begins."""

    unseen: bool
    """Whether it may not run twice, and this process does not know that it has not run."""
    failed: bool
    """Whether this process saw an earlier attempt at it raise, so that a note of its beginning is that attempt's."""
    journal: Journal | None
    """What a checkpointer knows of it."""

    def begun(self) -> bool:
        """Whether the call, which may not run twice, may have run, as far as anybody knows."""
        return self.unseen if self.journal is None else self.journal.begun() and not self.failed

    async def abegun(self) -> bool:
        """The same, for an async graph."""
        return self.unseen if self.journal is None else await self.journal.abegun() and not self.failed

    def begin(self) -> bool:
        """Notes the beginning; whether the call, which may not run twice, may have run.

        A call that this process only heard, and that is noted as begun, was begun by another worker.
        """
        return self.unseen if self.journal is None else self.journal.begin() and not self.failed

    async def abegin(self) -> bool:
        """The same, for an async graph."""
        return self.unseen if self.journal is None else await self.journal.abegin() and not self.failed

    def suspend(self) -> None:
        """Notes that the call waits for somebody."""
        if self.journal is not None:
            self.journal.suspend()

    async def asuspend(self) -> None:
        """The same, for an async graph."""
        if self.journal is not None:
            await self.journal.asuspend()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A call that this process saw written, or an attempt at which it saw raise."""

    failed: bool
    """Whether an attempt at it has failed here."""
    origin: RunnableConfig | None = None
    """The checkpoint that the model wrote it from."""
    turn: ReferenceType[BaseMessage] | None = None
    """The message that the model wrote it in."""

    def origin_of(self, turn: Any) -> RunnableConfig | None:
        """Where the message at hand was written, if it is the very one that the model gave.

        Whatever goes on in another execution of the graph, or behind an edit of the turn, has another one.
        """
        return self.origin if self.turn is not None and self.turn() is turn else None


class Attempts:
    """The calls that this process saw a model write, or an attempt at which it saw raise."""

    def __init__(self) -> None:
        self._seen: Recent[tuple[str, str], _Seen] = Recent(_REMEMBERED)
        """By run id and call id."""
        self._stored = Stored()

    def heard(self, run: MountedRun, request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The response as it is: its calls were written just now, so none of them has run."""
        origin = checkpoint_of(request.runtime)
        for message in response.result:
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                seen = _Seen(failed=False, origin=origin, turn=ref(message))
                self._seen.keep((run.calls.run_id, str(call["id"])), value=seen)
        return response

    @contextmanager
    def of(self, gated: GatedCall) -> Iterator[Attempt]:
        """One attempt at a call.

        The process knows of it again once it has seen it fail. After a success the messages are to tell of it: where
        the answer is lost on its way there, the call may not run a second time.
        """
        seen = self._seen.take((gated.run_id, gated.call_id))
        if gated.repeatable:
            yield Attempt(unseen=False, failed=False, journal=None)
            return
        try:
            runtime, messages = gated.request.runtime, gated.request.state["messages"]
            if was_found(gated.request.state):
                yield Attempt(unseen=seen is None, failed=seen is not None and seen.failed, journal=None)
            else:
                # Without a checkpointer no graph outlives its process: nothing but the input is older than this one.
                unseen = seen is None and is_kept(runtime)
                origin = None if seen is None else seen.origin_of(latest_of(messages, gated.call_id))
                journal = Journal.of(runtime, gated.call_id, unseen=unseen, stored=self._stored, origin=origin)
                yield Attempt(unseen=unseen, failed=seen is not None and seen.failed, journal=journal)
        except Exception as raised:
            # Whoever resumes a suspended call may be another worker.
            self._seen.keep((gated.run_id, gated.call_id), value=_Seen(failed=not isinstance(raised, GraphBubbleUp)))
            raise
