"""The steps that this process prepared last, so that the gate plans none a second time.

Nothing depends on it: a step counts only for the very messages, context, run and surface that it was prepared from, by
identity; for anything else, after a restart say, the gate plans it from the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from surface.adapters.langchain.recent import Recent
from surface.mounted_run import MountedRun
from surface.prepared_step import PreparedStep

_REMEMBERED = 64
"""Runs; each keeps its last step with the messages before it."""


class PreparedSteps:
    """The last prepared step of each run."""

    def __init__(self) -> None:
        self._last: Recent[tuple[str, str], tuple[Any, tuple[Any, ...], PreparedStep]] = Recent(_REMEMBERED)

    def keep(self, run: MountedRun, messages: Sequence[Any], step: PreparedStep) -> None:
        """Remembers what these messages gave, in place of the run's step before."""
        self._last.keep((run.calls.run_id, run.surface.key), value=(run.calls.context, tuple(messages), step))

    def of(self, run: MountedRun, messages: Sequence[Any]) -> PreparedStep | None:
        """The step that was prepared from exactly these messages."""
        context, before, step = self._last.get((run.calls.run_id, run.surface.key)) or (None, (), None)
        same = (
            step is not None
            and context is run.calls.context
            and len(before) == len(messages)
            and all(map(is_, before, messages))
        )
        return step if same else None
