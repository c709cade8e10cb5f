"""The fence of a call with a journal: asked once in each life of the call (MNT-4), before an attempt or in it.

A call whose record says that the fence refused it has an attempt more only where it may begin now, so the fence is
asked before there is one, and the attempt takes what it said.
"""

from __future__ import annotations

from dataclasses import replace

from surface.call import CallContext, settle
from surface.transcript import Call
from surface.turn import Turn


class AskedOnce:
    """What the fence says of one call of a turn."""

    def __init__(self, turn: Turn, call: Call) -> None:
        calls = turn.calls
        self._fence = calls.executor.fence
        self._context = CallContext(
            run_id=calls.run_id, surface=calls.surface, call_id=call.id, tool=call.name, context=calls.context
        )
        self._said: bool | None = None
        executor = replace(calls.executor, fence=lambda _: self.lets_through())
        self.turn = replace(turn, calls=replace(calls, executor=executor))
        """The turn, in which the call is answered as the fence said."""

    @property
    def refused(self) -> bool:
        """Whether the fence was asked and said no, so that nothing of the call began."""
        return self._said is False

    async def lets_through(self) -> bool:
        """Whether the call may begin; raises what the fence raises."""
        if self._said is None:
            self._said = self._fence is None or bool(await settle(self._fence(self._context)))
        return self._said
