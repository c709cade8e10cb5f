"""The steps that this process prepared last, so that the gate plans none a second time.

Nothing depends on it: a step counts only for the very messages, context, run and surface that it was prepared from, by
identity; for anything else, after a restart say, the gate plans it from the messages. A step goes with the messages
that it was prepared from, so a run leaves nothing behind that nobody else holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ReferenceType, ref

from surface.adapters.langchain.recent import Recent
from surface.mounted_run import MountedRun
from surface.prepared_step import PreparedStep

_REMEMBERED = 64
"""Runs that are under way; each has its last step here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A step and what it was prepared from."""

    context: Any
    before: tuple[ReferenceType[Any], ...]
    step: PreparedStep


class PreparedSteps:
    """The last prepared step of each run."""

    def __init__(self) -> None:
        self._last: Recent[tuple[str, str], _Kept] = Recent(_REMEMBERED)

    def keep(self, run: MountedRun, messages: Sequence[Any], step: PreparedStep) -> None:
        """Remembers what these messages gave, in place of the run's step before, while the last of them lives."""
        if not messages:
            return
        key = (run.calls.run_id, run.surface.key)
        last = ref(messages[-1], lambda _: self._last.take(key))
        before = (*map(ref, messages[:-1]), last)
        self._last.keep(key, value=_Kept(context=run.calls.context, before=before, step=step))

    def of(self, run: MountedRun, messages: Sequence[Any]) -> PreparedStep | None:
        """The step that was prepared from exactly these messages."""
        kept = self._last.get((run.calls.run_id, run.surface.key))
        same = (
            kept is not None
            and kept.context is run.calls.context
            and len(kept.before) == len(messages)
            and all(was() is message for was, message in zip(kept.before, messages, strict=True))
        )
        return kept.step if kept is not None and same else None
