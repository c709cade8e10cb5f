"""Whether a call may run again: what this process, the graph and a checkpointer know of its beginning (MNT-9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage
from langgraph.errors import GraphBubbleUp

from surface.adapters.langchain.calls import GatedCall
from surface.adapters.langchain.journal import Journal, is_kept
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


class Attempts:
    """The calls that this process saw a model write, or an attempt at which it saw raise."""

    def __init__(self) -> None:
        self._seen: Recent[tuple[str, str], bool] = Recent(_REMEMBERED)
        """By run id and call id: whether an attempt at it has failed here."""
        self._stored = Stored()

    def heard(self, run: MountedRun, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The response as it is: its calls were written just now, so none of them has run."""
        for message in response.result:
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                self._seen.keep((run.calls.run_id, str(call["id"])), value=False)
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
            runtime = gated.request.runtime
            if was_found(gated.request.state):
                yield Attempt(unseen=seen is None, failed=bool(seen), journal=None)
            else:
                # Without a checkpointer no graph outlives its process: nothing but the input is older than this one.
                unseen = seen is None and is_kept(runtime)
                journal = Journal.of(runtime, gated.call_id, unseen=unseen, stored=self._stored)
                yield Attempt(unseen=unseen, failed=bool(seen), journal=journal)
        except Exception as raised:
            # Whoever resumes a suspended call may be another worker.
            self._seen.keep((gated.run_id, gated.call_id), value=not isinstance(raised, GraphBubbleUp))
            raise
