"""What a checkpointer remembers of a call that a restart finds unanswered: never begun, begun, or suspended (MNT-9).

LangGraph runs an unanswered call again on resume, without saying whether it had begun. So before a tool that may not
run twice begins, a note goes into the checkpoint's pending writes, under a task of its own that no graph has; it is
gone with the checkpoint. A tool that suspended itself with `interrupt()` is LangGraph's to run again, once for each
time that it did: that is a note, too, because LangGraph keeps its own mark of an interrupt after it is resumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID, uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

# The one exported name for where a graph's checkpointer is handed to what runs inside it; LangGraph keeps it until 2.
from langgraph.constants import CONFIG_KEY_CHECKPOINTER

_BEGUN = "toolsurface_begun"
_SUSPENDED = "toolsurface_suspended"
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
        """The journal of a call that a graph runs; None where no checkpointer is found.

        Without one, whatever may not run twice is answered `INTERRUPTED` by a process that did not see it called.
        """
        info = getattr(runtime, "execution_info", None)
        configurable: Mapping[str, Any] = (getattr(runtime, "config", None) or {}).get("configurable", {})
        saver = configurable.get(CONFIG_KEY_CHECKPOINTER)
        if info is None or info.thread_id is None or not isinstance(saver, BaseCheckpointSaver):
            return None
        graph, _, _ = info.checkpoint_ns.rpartition("|")
        where = {"thread_id": info.thread_id, "checkpoint_ns": graph, "checkpoint_id": info.checkpoint_id}
        return cls(saver=saver, config={"configurable": where}, task_id=info.task_id, call_id=call_id)

    def begin(self) -> bool:
        """Remembers that the call begins now, once that is stored; true where an earlier attempt has begun.

        An attempt that was seen suspended counts for none.
        """
        attempt, begun = self._reads(self.saver.get_tuple(self.config))
        if not begun:
            self.saver.put_writes(self.config, self._writes(_BEGUN), self._note_id(_BEGUN, attempt))
        return begun

    async def abegin(self) -> bool:
        """The same, for an async graph."""
        attempt, begun = self._reads(await self.saver.aget_tuple(self.config))
        if not begun:
            await self.saver.aput_writes(self.config, self._writes(_BEGUN), self._note_id(_BEGUN, attempt))
        return begun

    def suspend(self) -> None:
        """Remembers that the attempt that has begun waits for somebody; a later one may begin."""
        attempt, _ = self._reads(self.saver.get_tuple(self.config))
        self.saver.put_writes(self.config, self._writes(_SUSPENDED), self._note_id(_SUSPENDED, attempt))

    async def asuspend(self) -> None:
        """The same, for an async graph."""
        attempt, _ = self._reads(await self.saver.aget_tuple(self.config))
        await self.saver.aput_writes(self.config, self._writes(_SUSPENDED), self._note_id(_SUSPENDED, attempt))

    def _note_id(self, what: str, attempt: int) -> str:
        return str(uuid5(_NOTES, f"{self.task_id} {self.call_id} {what} {attempt}"))

    def _writes(self, what: str) -> Sequence[tuple[str, Any]]:
        return [(what, self.call_id)]

    def _reads(self, found: CheckpointTuple | None) -> tuple[int, bool]:
        """The number of the attempt that is next or under way, counted from 0, and whether it has begun."""
        writes = (found.pending_writes if found is not None else None) or []
        noted = {task for task, channel, _ in writes if channel in (_BEGUN, _SUSPENDED)}
        attempt = next(number for number in count() if self._note_id(_SUSPENDED, number) not in noted)
        return attempt, self._note_id(_BEGUN, attempt) in noted
