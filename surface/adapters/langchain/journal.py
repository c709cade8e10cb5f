"""What a checkpointer remembers of a call that a restart finds unanswered: never begun, begun, or suspended (MNT-9).

LangGraph runs an unanswered call again on resume, without saying whether it had begun. So before a tool that may not
run twice begins, a note goes into the pending writes of two checkpoints, under a task of its own that no graph has. One
is the checkpoint at hand, which stays where older ones are pruned. The other is the one from which the model wrote the
call: all who resume the thread come from it, also where its pending writes hold the turn and no later one was stored.
A checkpointer keeps the first of two notes, so of workers that begin at the same moment one alone finds its own. A tool
that suspended itself with `interrupt()` is LangGraph's to run again, once for each time that it did. That is a note,
too: LangGraph keeps its own mark of an interrupt after it is resumed.

Every look at a checkpoint reads the whole state, for no checkpointer tells less. So a call that this process heard the
model write, and that nothing came upon since, costs one: at the checkpoint that it was written from, whose pending
writes tell of its turn and of other workers' notes at once. Every other call costs three more at least.

That there is no note says that the call never began only where the checkpoints go back to where it was written; else
whoever did not see the model write it takes it for begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID, uuid4, uuid5

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

# The one exported name for where a graph's checkpointer is handed to what runs inside it; LangGraph keeps it until 2.
from langgraph.constants import CONFIG_KEY_CHECKPOINTER

from surface.adapters.langchain.asking import Asking, Note, atold_by, told_by
from surface.adapters.langchain.messages import holds, latest_of
from surface.adapters.langchain.stored import Stored, behind, newest

_BEGUN = "toolsurface_begun"
_SUSPENDED = "toolsurface_suspended"
_NOTES = UUID("5b0c3f0e-6f0a-4f53-9d6f-3c0d5a4e2f61")
_LOOKED_BACK = 100
"""Checkpoints; an open call that was edited around more often than that is found by none of its older notes."""
_LOOKS = 6
"""At the checkpoint that a call was written from, until it tells the turn: 63 ms of pauses, each twice the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Notes:
    """What the notes of a call say."""

    attempt: int
    """The number of the attempt that is next or under way."""
    begun: bool
    """Whether it has begun, or nobody can tell that it has not."""
    places: tuple[RunnableConfig, ...]
    """The checkpoints that notes go to: the one that the call was written from, and the one at hand."""


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
    origin: RunnableConfig | None = None
    """The checkpoint that the model wrote the call from, where this process saw it and nothing came in between."""

    @classmethod
    def of(
        cls,
        runtime: Any,
        call_id: str,
        *,
        unseen: bool = False,
        stored: Stored | None = None,
        origin: RunnableConfig | None = None,
    ) -> Journal | None:
        """The journal of a call that a graph runs; None where no checkpointer is found.

        Where there is one that has no journal, whatever may not run twice is answered `INTERRUPTED` by a process that
        did not see it called.
        """
        at, saver = checkpoint_of(runtime), _saver(runtime)
        if at is None or not isinstance(saver, BaseCheckpointSaver):
            return None
        return cls(
            saver=saver,
            config=at,
            call_id=call_id,
            unseen=unseen,
            behind=behind(_configurable(runtime), at),
            stored=stored or Stored(),
            origin=origin,
        )

    def begun(self) -> bool:
        """Whether an attempt has begun; one that was seen suspended counts for none."""
        return told_by(self.saver, self._reading()).begun

    async def abegun(self) -> bool:
        """The same, for an async graph."""
        return (await atold_by(self.saver, self._reading())).begun

    def begin(self) -> bool:
        """Remembers that the call begins now, once that is stored; true where an attempt has begun elsewhere or before.

        An attempt that was seen suspended counts for none.
        """
        return told_by(self.saver, self._beginning())

    async def abegin(self) -> bool:
        """The same, for an async graph."""
        return await atold_by(self.saver, self._beginning())

    def suspend(self) -> None:
        """Remembers that the attempt that has begun waits for somebody; a later one may begin."""
        told_by(self.saver, self._suspending())

    async def asuspend(self) -> None:
        """The same, for an async graph."""
        await atold_by(self.saver, self._suspending())

    def _beginning(self) -> Asking[bool]:
        mine = uuid4().hex
        begun = yield from self._beginning_at_once(mine)
        if begun is not None:
            return begun
        yield from self.stored.waiting(self.behind)
        notes = yield from self._reading(mine)
        if notes.begun:
            return True
        for where in notes.places:
            yield self._note(where, _BEGUN, notes.attempt, mine)
        return self._another_began((yield notes.places[0]), notes.attempt, mine)

    def _beginning_at_once(self, mine: str) -> Asking[bool | None]:
        """Whether another worker was first with a call that was just written; None where that is not all there is."""
        if self.origin is None or not self.behind or self.stored.is_nowhere(self.origin):
            return None
        yield from self.stored.waiting(each for each in self.behind if each != self.config)
        for where in (self.origin, self.config):
            yield self._note(where, _BEGUN, 0, mine)
        pause = 0.001
        for _ in range(_LOOKS):
            found = yield self.origin
            if self._note_id(_SUSPENDED, 0) in _pending(found):
                return None
            if self._another_began(found, 0, mine):
                return True
            # A graph that goes on from here has the turn, and finds the note.
            if found is not None and _is_written(self.call_id, found):
                return False
            yield pause
            pause *= 2
        return None

    def _suspending(self) -> Asking[None]:
        notes = yield from self._reading()
        for where in notes.places:
            yield self._note(where, _SUSPENDED, notes.attempt, "")

    def _note(self, where: RunnableConfig, what: str, attempt: int, value: str) -> Note:
        return Note(where=where, channel=what, value=value, task=self._note_id(what, attempt))

    def _note_id(self, what: str, attempt: int) -> str:
        return str(uuid5(_NOTES, f"{self.call_id} {what} {attempt}"))

    def _another_began(self, found: CheckpointTuple | None, attempt: int, mine: str) -> bool:
        """Whether another worker's note of the same attempt was there first. What is not stored yet nobody else has."""
        return _pending(found).get(self._note_id(_BEGUN, attempt), mine) != mine

    def _reading(self, mine: str | None = None) -> Asking[_Notes]:
        """What the notes say but for `mine`. The checkpoint at hand is not stored yet where LangGraph writes behind."""
        noted: set[str] = set()
        oldest = self.config
        traced = False
        found = (yield self.config) or (yield newest(self.config))
        for _ in range(_LOOKED_BACK):
            if found is None:
                break
            noted.update(
                task
                for task, channel, value in found.pending_writes or ()
                if channel == _SUSPENDED or (channel == _BEGUN and value != mine)
            )
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


def _pending(found: CheckpointTuple | None) -> dict[str, object]:
    """By task: what is written last behind a checkpoint, as a note is alone."""
    return {} if found is None else {task: value for task, _, value in found.pending_writes or ()}


def checkpoint_of(runtime: Any) -> RunnableConfig | None:
    """The checkpoint that a task belongs to; None outside threads."""
    info = getattr(runtime, "execution_info", None)
    if info is None or info.thread_id is None:
        return None
    graph, _, _ = info.checkpoint_ns.rpartition("|")
    # A task is told its thread as the application named it (a number, a UUID); checkpoints are stored under its text.
    where = {"thread_id": str(info.thread_id), "checkpoint_ns": graph, "checkpoint_id": info.checkpoint_id}
    return {"configurable": where}


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
        return not _is_written(call_id, found)
    return isinstance(latest_of(messages, call_id), AIMessage)


def _is_written(call_id: str, found: CheckpointTuple) -> bool:
    """Whether a turn with the call is in the pending writes of a checkpoint."""
    written = (value for _, channel, value in found.pending_writes or () if channel == "messages")
    each = (message for value in written for message in (value if isinstance(value, list) else [value]))
    return any(holds(message, call_id) for message in each)


def _messages(found: CheckpointTuple) -> list[Any] | None:
    """The messages of a checkpoint; None for a channel that stores differences alone, as deepagents has."""
    messages = found.checkpoint["channel_values"].get("messages")
    return messages if isinstance(messages, list) else None
