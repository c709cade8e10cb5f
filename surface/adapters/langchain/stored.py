"""Waits until the checkpoints that a call comes from are stored, so that a restart finds the call and its note (MNT-9).

By default LangGraph writes checkpoints behind: a tool may begin while its turn is stored nowhere. After a kill a graph
then goes on from an older checkpoint, and may ask the model anew for what has begun already. So a call that may not run
twice waits: for the checkpoint of its own turn, and, in a sub-agent, for those of the turns above, whose tasks name the
sub-agent's checkpoints. A graph has no way to say that it keeps none (`checkpointer=False` below a graph that keeps
its own); one that has stored nothing at all is taken for such a graph after a shorter time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from surface.adapters.langchain.recent import Recent

_PATIENCE, _PATIENCE_WITH_NOTHING = 10.0, 1.0
"""Seconds. Whatever is not stored then has failed, most likely; notes of the call go to what is."""
_LONGEST_PAUSE = 0.05
_REMEMBERED = 10_000
_DURABILITY = "__pregel_durability"
"""Where a run's own durability is handed to what runs inside it; LangGraph has no public name for it."""

_Waiting = Generator[RunnableConfig | float, CheckpointTuple | None, None]
"""Asks for checkpoints, and for pauses in seconds."""


def behind(config: Mapping[str, Any], at: RunnableConfig) -> tuple[RunnableConfig, ...]:
    """The checkpoints that a call of the one at hand comes from; none where the run stores nothing before its end."""
    if config.get(_DURABILITY) == "exit":
        return ()
    thread = at["configurable"]["thread_id"]
    above = ((each, found) for each, found in config.get("checkpoint_map", {}).items() if found)
    places = {each: _place(thread, each, found) for each, found in above}
    return tuple({**places, at["configurable"]["checkpoint_ns"]: at}.values())


def newest(at: RunnableConfig) -> RunnableConfig:
    """The newest checkpoint that is stored of the same graph."""
    where = at["configurable"]
    return {"configurable": {name: where[name] for name in ("thread_id", "checkpoint_ns")}}


class Stored:
    """The checkpoints that nobody of this process has to wait for again."""

    def __init__(self) -> None:
        self._known: Recent[tuple[str, ...], bool] = Recent(_REMEMBERED)
        """By thread, graph and checkpoint; by thread and graph for one that stores none."""

    def wait(self, saver: BaseCheckpointSaver[Any], places: Iterable[RunnableConfig]) -> None:
        """Returns once all are stored, or will not be any more."""
        for place in places:
            waiting = self._waiting(place)
            wanted = next(waiting, None)
            while wanted is not None:
                found = None
                if isinstance(wanted, float):
                    time.sleep(wanted)
                else:
                    found = saver.get_tuple(wanted)
                wanted = _sent(waiting, found)

    async def await_(self, saver: BaseCheckpointSaver[Any], places: Iterable[RunnableConfig]) -> None:
        """The same, for an async graph."""
        for place in places:
            waiting = self._waiting(place)
            wanted = next(waiting, None)
            while wanted is not None:
                found = None
                if isinstance(wanted, float):
                    await asyncio.sleep(wanted)
                else:
                    found = await saver.aget_tuple(wanted)
                wanted = _sent(waiting, found)

    def _waiting(self, place: RunnableConfig) -> _Waiting:
        where = place["configurable"]
        graph = (str(where["thread_id"]), where["checkpoint_ns"])
        checkpoint = (*graph, where["checkpoint_id"])
        if self._known.get(graph) or self._known.get(checkpoint):
            return
        waited, pause = 0.0, 0.001
        nested = bool(where["checkpoint_ns"])
        while (yield place) is None and waited < _PATIENCE:
            if nested and waited >= _PATIENCE_WITH_NOTHING:
                if (yield newest(place)) is None:
                    self._known.keep(graph, value=True)
                    return
                nested = False
            yield pause
            waited += pause
            pause = min(2 * pause, _LONGEST_PAUSE)
        self._known.keep(checkpoint, value=True)


def _sent(waiting: _Waiting, found: CheckpointTuple | None) -> RunnableConfig | float | None:
    """What is wanted next; None at the end."""
    try:
        return waiting.send(found)
    except StopIteration:
        return None


def _place(thread: str, graph: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": graph, "checkpoint_id": checkpoint}}
