"""What a checkpointer remembers of a call that a restart finds unanswered: never begun, begun, or suspended (MNT-9).

LangGraph runs an unanswered call again on resume, without saying whether it had begun. So before a tool that may not
run twice begins, a note goes into the pending writes of two checkpoints, under a task of its own that no graph has. One
is the checkpoint at hand, which stays where older ones are pruned. The other is the one from which the model wrote the
call: all who resume the thread come from it, also where its pending writes hold the turn and no later one was stored.
A checkpointer keeps the first of two notes, so of workers that begin at the same moment one alone finds its own. A tool
that suspended itself with `interrupt()` is LangGraph's to run again, once for each time that it did. That is a note,
too: LangGraph keeps its own mark of an interrupt after it is resumed.

That there is no note says that the call never began only where the checkpoints go back to where it was written; else
whoever did not see the model write it takes it for begun.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast
from uuid import UUID, uuid4, uuid5

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

# The one exported name for where a graph's checkpointer is handed to what runs inside it; LangGraph keeps it until 2.
from langgraph.constants import CONFIG_KEY_CHECKPOINTER

from surface.adapters.langchain.messages import holds, latest_of
from surface.adapters.langchain.stored import Stored, behind, newest

_BEGUN = "toolsurface_begun"
_SUSPENDED = "toolsurface_suspended"
_NOTES = UUID("5b0c3f0e-6f0a-4f53-9d6f-3c0d5a4e2f61")
_LOOKED_BACK = 100
"""Checkpoints; an open call that was edited around more often than that is found by none of its older notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Notes:
    """What the notes of a call say."""

    attempt: int
    """The number of the attempt that is next or under way."""
    begun: bool
    """Whether it has begun, or nobody can tell that it has not."""
    places: tuple[RunnableConfig, ...]
    """The checkpoints that notes go to: the one that the call was written from, and the one at hand."""


_Reading = Generator[RunnableConfig, CheckpointTuple | None, _Notes]
"""Asks for checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The notes of one call."""

    saver: BaseCheckpointSaver[Any]
    config: RunnableConfig
    """Of the checkpoint that the call's task belongs to."""
    call_id: str
    unseen: bool = False
    """Whether this process does not know itself that the call has not run."""
    behind: tuple[RunnableConfig, ...] = ()
    """The checkpoints that have to be stored before the call begins."""
    stored: Stored = field(default_factory=Stored)

    @classmethod
    def of(cls, runtime: Any, call_id: str, *, unseen: bool = False, stored: Stored | None = None) -> Journal | None:
        """The journal of a call that a graph runs; None where no checkpointer is found.

        Where there is one that has no journal, whatever may not run twice is answered `INTERRUPTED` by a process that
        did not see it called.
        """
        info = getattr(runtime, "execution_info", None)
        saver = _saver(runtime)
        if info is None or info.thread_id is None or not isinstance(saver, BaseCheckpointSaver):
            return None
        graph, _, _ = info.checkpoint_ns.rpartition("|")
        where = {"thread_id": info.thread_id, "checkpoint_ns": graph, "checkpoint_id": info.checkpoint_id}
        at: RunnableConfig = {"configurable": where}
        return cls(
            saver=saver,
            config=at,
            call_id=call_id,
            unseen=unseen,
            behind=behind(_configurable(runtime), at),
            stored=stored or Stored(),
        )

    def begun(self) -> bool:
        """Whether an attempt has begun; one that was seen suspended counts for none."""
        return self._read().begun

    async def abegun(self) -> bool:
        """The same, for an async graph."""
        return (await self._aread()).begun

    def begin(self) -> bool:
        """Remembers that the call begins now, once that is stored; true where an attempt has begun elsewhere or before.

        An attempt that was seen suspended counts for none.
        """
        self.stored.wait(self.saver, self.behind)
        notes, mine = self._read(), uuid4().hex
        if notes.begun:
            return True
        for where in notes.places:
            self.saver.put_writes(where, [(_BEGUN, mine)], self._note_id(_BEGUN, notes.attempt))
        return self._another_began(self.saver.get_tuple(notes.places[0]), notes, mine)

    async def abegin(self) -> bool:
        """The same, for an async graph."""
        await self.stored.await_(self.saver, self.behind)
        notes, mine = await self._aread(), uuid4().hex
        if notes.begun:
            return True
        for where in notes.places:
            await self.saver.aput_writes(where, [(_BEGUN, mine)], self._note_id(_BEGUN, notes.attempt))
        return self._another_began(await self.saver.aget_tuple(notes.places[0]), notes, mine)

    def suspend(self) -> None:
        """Remembers that the attempt that has begun waits for somebody; a later one may begin."""
        notes = self._read()
        for where in notes.places:
            self.saver.put_writes(where, [(_SUSPENDED, "")], self._note_id(_SUSPENDED, notes.attempt))

    async def asuspend(self) -> None:
        """The same, for an async graph."""
        notes = await self._aread()
        for where in notes.places:
            await self.saver.aput_writes(where, [(_SUSPENDED, "")], self._note_id(_SUSPENDED, notes.attempt))

    def _note_id(self, what: str, attempt: int) -> str:
        return str(uuid5(_NOTES, f"{self.call_id} {what} {attempt}"))

    def _another_began(self, found: CheckpointTuple | None, notes: _Notes, mine: str) -> bool:
        """Whether another worker's note of the same attempt was there first. What is not stored yet nobody else has."""
        noted = self._note_id(_BEGUN, notes.attempt)
        written = [] if found is None else found.pending_writes or []
        return any(task == noted and value != mine for task, _, value in written)

    def _read(self) -> _Notes:
        reading = self._reading()
        wanted = next(reading)
        while True:
            try:
                wanted = reading.send(self.saver.get_tuple(wanted))
            except StopIteration as read:
                return cast("_Notes", read.value)

    async def _aread(self) -> _Notes:
        reading = self._reading()
        wanted = next(reading)
        while True:
            try:
                wanted = reading.send(await self.saver.aget_tuple(wanted))
            except StopIteration as read:
                return cast("_Notes", read.value)

    def _reading(self) -> _Reading:
        """What the notes say. The checkpoint at hand is not stored yet where LangGraph writes behind."""
        noted: set[str] = set()
        oldest = self.config
        traced = False
        found = (yield self.config) or (yield newest(self.config))
        for _ in range(_LOOKED_BACK):
            if found is None:
                break
            noted.update(task for task, _, _ in found.pending_writes or ())
            oldest = found.config
            # A graph's own step leaves no call open that has begun, so what is pruned behind one tells nothing more.
            traced = found.metadata.get("source") == "loop" or found.parent_config is None
            if found.parent_config is None or not _was_open(self.call_id, found):
                traced = True
                break
            found = yield found.parent_config
        else:
            traced = False
        attempt = next(number for number in count() if self._note_id(_SUSPENDED, number) not in noted)
        same = oldest["configurable"]["checkpoint_id"] == self.config["configurable"]["checkpoint_id"]
        return _Notes(
            attempt=attempt,
            begun=self._note_id(_BEGUN, attempt) in noted or (self.unseen and not traced),
            places=(oldest,) if same else (oldest, self.config),
        )


def is_kept(runtime: Any) -> bool:
    """Whether a checkpointer keeps the graph, so that another process may have begun what this one runs."""
    return _saver(runtime) is not None


def _saver(runtime: Any) -> Any:
    return _configurable(runtime).get(CONFIG_KEY_CHECKPOINTER)


def _configurable(runtime: Any) -> Mapping[str, Any]:
    configurable: Mapping[str, Any] = (getattr(runtime, "config", None) or {}).get("configurable", {})
    return configurable


def _was_open(call_id: str, found: CheckpointTuple) -> bool:
    """Whether the messages of a checkpoint may hold the call, unanswered."""
    messages = _messages(found)
    if messages is None:
        # The model's answer is written from this one on, or was written anew by a reviewer.
        written = (value for _, channel, value in found.pending_writes or () if channel == "messages")
        each = (message for value in written for message in (value if isinstance(value, list) else [value]))
        return not any(holds(message, call_id) for message in each)
    return isinstance(latest_of(messages, call_id), AIMessage)


def _messages(found: CheckpointTuple) -> list[Any] | None:
    """The messages of a checkpoint; None for a channel that stores differences alone, as deepagents has."""
    messages = found.checkpoint["channel_values"].get("messages")
    return messages if isinstance(messages, list) else None
