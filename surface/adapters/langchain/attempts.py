"""Whether a call may run again: what this process, the graph and a checkpointer know of its beginning (MNT-9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage
from langgraph.errors import GraphBubbleUp

from surface.adapters.langchain.calls import GatedCall
from surface.adapters.langchain.journal import Journal, is_kept
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

    def restarted(self, *, begun: bool) -> bool:
        """Whether a call that may not run twice may have run; `begun` is what the journal's notes say.

        A call that this process only heard, and that is noted as begun, was begun by another worker.
        """
        return begun and not self.failed


class Attempts:
    """The calls that this process saw a model write, or an attempt at which it saw raise."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], bool] = {}
        """By run id and call id, the oldest first: whether an attempt at it has failed here."""
        self._changing = Lock()

    def heard(self, run: MountedRun, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The response as it is: its calls were written just now, so none of them has run."""
        for message in response.result:
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                self._see(run.calls.run_id, str(call["id"]), failed=False)
        return response

    @contextmanager
    def of(self, gated: GatedCall) -> Iterator[Attempt]:
        """One attempt at a call.

        The process knows of it again once it has seen it fail. After a success the messages are to tell of it: where
        the answer is lost on its way there, the call may not run a second time.
        """
        with self._changing:
            seen = self._seen.pop((gated.run_id, gated.call_id), None)
        if not gated.runs or gated.repeatable:
            yield Attempt(unseen=False, failed=False, journal=None)
            return
        try:
            runtime = gated.request.runtime
            if gated.call_id in gated.request.state.get("toolsurface_found", ()):
                yield Attempt(unseen=seen is None, failed=bool(seen), journal=None)
            else:
                # Without a checkpointer no graph outlives its process: nothing but the input is older than this one.
                unseen = seen is None and is_kept(runtime)
                yield Attempt(unseen=unseen, failed=bool(seen), journal=Journal.of(runtime, gated.call_id))
        except Exception as raised:
            # Whoever resumes a suspended call may be another worker.
            self._see(gated.run_id, gated.call_id, failed=not isinstance(raised, GraphBubbleUp))
            raise

    def _see(self, run_id: str, call_id: str, *, failed: bool) -> None:
        with self._changing:
            self._seen[run_id, call_id] = failed
            while len(self._seen) > _REMEMBERED:
                del self._seen[next(iter(self._seen))]
