"""The steps that this process prepared last, so that the gate plans none a second time.

Nothing depends on it: a step counts only for the very messages, context, run and surface that it was prepared from, by
identity; for anything else, after a restart say, the gate plans it from the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from surface.mounted_run import MountedRun
from surface.prepared_step import PreparedStep

_REMEMBERED = 64
"""Runs; each keeps its last step with the messages before it."""


class PreparedSteps:
    """The last prepared step of each run."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[Any, tuple[Any, ...], PreparedStep]] = {}

    def keep(self, run: MountedRun, messages: Sequence[Any], step: PreparedStep) -> None:
        """Remembers what these messages gave, in place of the run's step before."""
        key = (run.calls.run_id, run.surface.key)
        self._last.pop(key, None)
        self._last[key] = (run.calls.context, tuple(messages), step)
        while len(self._last) > _REMEMBERED:
            # Another thread may have been faster.
            self._last.pop(next(iter(self._last)), None)

    def of(self, run: MountedRun, messages: Sequence[Any]) -> PreparedStep | None:
        """The step that was prepared from exactly these messages."""
        context, before, step = self._last.get((run.calls.run_id, run.surface.key), (None, (), None))
        same = (
            step is not None
            and context is run.calls.context
            and len(before) == len(messages)
            and all(map(is_, before, messages))
        )
        return step if same else None
