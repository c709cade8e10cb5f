"""What a checkpointer remembers of a call that a restart finds unanswered: never begun, begun, or suspended (MNT-9).

LangGraph runs an unanswered call again on resume, without saying whether it had begun. So before a tool that may not
run twice begins, a note goes into the checkpoint's pending writes, under a task of its own that no graph has; it is
gone with the checkpoint. A tool that suspended itself with `interrupt()` is LangGraph's to run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

_CHECKPOINTER = "__pregel_checkpointer"
"""Where LangGraph hands a graph's checkpointer to what runs inside it. Without it nothing is remembered."""
_INTERRUPT = "__interrupt__"
_BEGUN = "toolsurface_begun"
_NOTES = UUID("5b0c3f0e-6f0a-4f53-9d6f-3c0d5a4e2f61")


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The notes of one call."""

    saver: BaseCheckpointSaver[Any]
    config: RunnableConfig
    """Of the checkpoint that the call's task belongs to."""
    task_id: str
    call_id: str

    @classmethod
    def of(cls, runtime: Any, call_id: str) -> Journal | None:
        """The journal of a call that a graph runs; None where no checkpointer keeps it."""
        info = getattr(runtime, "execution_info", None)
        configurable: Mapping[str, Any] = (getattr(runtime, "config", None) or {}).get("configurable", {})
        saver = configurable.get(_CHECKPOINTER)
        if info is None or info.thread_id is None or not isinstance(saver, BaseCheckpointSaver):
            return None
        graph, _, _ = info.checkpoint_ns.rpartition("|")
        where = {"thread_id": info.thread_id, "checkpoint_ns": graph, "checkpoint_id": info.checkpoint_id}
        return cls(saver=saver, config={"configurable": where}, task_id=info.task_id, call_id=call_id)

    def begun(self) -> bool:
        """Whether an earlier process let this call begin and did not see it suspended."""
        return self._reads_begun(self.saver.get_tuple(self.config))

    async def abegun(self) -> bool:
        """The same, for an async graph."""
        return self._reads_begun(await self.saver.aget_tuple(self.config))

    def note(self) -> None:
        """Remembers that the call begins now; returns once that is stored."""
        self.saver.put_writes(self.config, self._writes, self._note_id)

    async def anote(self) -> None:
        """The same, for an async graph."""
        await self.saver.aput_writes(self.config, self._writes, self._note_id)

    @property
    def _note_id(self) -> str:
        return str(uuid5(_NOTES, f"{self.task_id} {self.call_id}"))

    @property
    def _writes(self) -> Sequence[tuple[str, Any]]:
        return [(_BEGUN, self.call_id)]

    def _reads_begun(self, found: CheckpointTuple | None) -> bool:
        writes = (found.pending_writes if found is not None else None) or []
        noted = any((task, channel) == (self._note_id, _BEGUN) for task, channel, _ in writes)
        suspended = any((task, channel) == (self.task_id, _INTERRUPT) for task, channel, _ in writes)
        return noted and not suspended
