"""Waits until the checkpoints that a call comes from are stored, so that a restart finds the call and its note (MNT-9).

By default LangGraph writes checkpoints behind: a tool may begin while its turn is stored nowhere. After a kill a graph
then goes on from an older checkpoint, and may ask the model anew for what has begun already. So a call that may not run
twice waits: for the checkpoint of its own turn, and, in a sub-agent, for those of the turns above, whose tasks name the
sub-agent's checkpoints. A graph has no way to say that it keeps none (`checkpointer=False` below a graph that keeps
its own); one that has stored nothing at all is taken for such a graph after a shorter time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from surface.adapters.langchain.asking import Asking
from surface.adapters.langchain.recent import Recent

_PATIENCE, _PATIENCE_WITH_NOTHING = 10.0, 1.0
"""Seconds. Whatever is not stored then has failed, most likely; notes of the call go to what is."""
_LONGEST_PAUSE = 0.05
_REMEMBERED = 10_000
_DURABILITY = "__pregel_durability"
"""Where a run's own durability is handed to what runs inside it; LangGraph has no public name for it."""


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

    def waiting(self, places: Iterable[RunnableConfig]) -> Asking[None]:
        """Ends once all are stored, or will not be any more."""
        for place in places:
            yield from self._waiting(place)

    def is_nowhere(self, place: RunnableConfig) -> bool:
        """Whether it was found that its graph stores nothing."""
        return self._known.get(_graph(place)) is not None

    def _waiting(self, place: RunnableConfig) -> Asking[None]:
        where, graph = place["configurable"], _graph(place)
        checkpoint = (*graph, where["checkpoint_id"])
        if self.is_nowhere(place) or self._known.get(checkpoint):
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


def _graph(place: RunnableConfig) -> tuple[str, str]:
    where = place["configurable"]
    return str(where["thread_id"]), where["checkpoint_ns"]


def _place(thread: str, graph: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": graph, "checkpoint_id": checkpoint}}
