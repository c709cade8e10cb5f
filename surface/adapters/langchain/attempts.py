"""Whether a call may run again: what this process, the graph and a checkpointer know of its beginning (MNT-9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage

from surface.adapters.langchain.calls import GatedCall
from surface.adapters.langchain.journal import Journal, is_kept
from surface.mounted_run import MountedRun

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is known when a call begins."""

    unseen: bool
    """Whether it may not run twice, and this process does not know that it has not run."""
    journal: Journal | None
    """What a checkpointer knows of it."""


class Attempts:
    """The calls that this process saw a model write, or an attempt at which it saw raise."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], None] = {}
        """By run id and call id, the oldest first."""

    def heard(self, run: MountedRun, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The response as it is: its calls were written just now, so none of them has run."""
        for message in response.result:
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                self._see(run.calls.run_id, str(call["id"]))
        return response

    @contextmanager
    def of(self, gated: GatedCall) -> Iterator[Attempt]:
        """One attempt at a call.

        The process knows of it again once it has seen it fail. After a success the messages are to tell of it: where
        the answer is lost on its way there, the call may not run a second time.
        """
        seen = (gated.run_id, gated.call_id) in self._seen
        self._seen.pop((gated.run_id, gated.call_id), None)
        if not gated.runs or gated.repeatable:
            yield Attempt(unseen=False, journal=None)
            return
        try:
            runtime = gated.request.runtime
            if gated.call_id in gated.request.state.get("toolsurface_found", ()):
                yield Attempt(unseen=not seen, journal=None)
            else:
                # Without a checkpointer no graph outlives its process: nothing but the input is older than this one.
                yield Attempt(unseen=not seen and is_kept(runtime), journal=Journal.of(runtime, gated.call_id))
        except Exception:
            self._see(gated.run_id, gated.call_id)
            raise

    def _see(self, run_id: str, call_id: str) -> None:
        self._seen[run_id, call_id] = None
        while len(self._seen) > _REMEMBERED:
            self._seen.pop(next(iter(self._seen)), None)
