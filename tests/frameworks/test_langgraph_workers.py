"""Several workers on one thread (MNT-9): however close together they resume it, one of them alone begins a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Barrier, Lock
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool as lc_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from tests.frameworks.langchain_agents import Agent, Dies, agent_of, call, dying, last, prune

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
APPROVED: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})


class AtOnce(InMemorySaver):
    """Lets two workers write that a call begins only when both are about to, as a slow network may."""

    def __init__(self, left: int = 2) -> None:
        super().__init__()
        self.left = left
        self._threads, self._tasks, self._one = Barrier(2, timeout=20), asyncio.Barrier(2), Lock()

    def _waits(self, writes: Any) -> bool:
        with self._one:
            waits = self.left > 0 and any(channel == "toolsurface_begun" for channel, _ in writes)
            self.left -= waits
        return waits

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if self._waits(writes):
            self._threads.wait()
        with self._one:  # as a database does
            super().put_writes(config, writes, task_id, task_path)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if self._waits(writes):
            async with asyncio.timeout(20):
                await self._tasks.wait()
        super().put_writes(config, writes, task_id, task_path)


def _reviewer() -> Any:
    return HumanInTheLoopMiddleware(interrupt_on={"pay": True})


async def _both(workers: list[Agent], given: Any, how: str) -> list[str]:
    """What two workers are told of the call that they both take up."""
    if how == "ainvoke":
        messages = await asyncio.gather(*(each.move(given) for each in workers))
    else:
        moves = (asyncio.to_thread(asyncio.run, each.move(given, "invoke")) for each in workers)
        messages = await asyncio.gather(*moves)
    return sorted(last(each).text for each in messages)


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("create", [create_agent, create_deep_agent])
@pytest.mark.parametrize("side", ["before", "after", None])
@BOTH
async def test_of_two_workers_that_take_up_a_call_at_the_same_moment_one_alone_runs_it(
    how: str, side: str | None, create: Callable[..., Any]
) -> None:
    ran: list[str] = []
    saver = AtOnce()

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    def worker() -> Agent:
        reviewed: Any = {side: [_reviewer()]} if side else {}
        return agent_of([pay], always_on=["pay"], create=create, checkpointer=saver, **reviewed)

    await worker().ask([[call("pay")]], how, interrupt_before=None if side else ["tools"])
    workers = [worker(), worker()]
    for each in workers:
        each.model.turns.append("Done.")
    paid, interrupted = await _both(workers, APPROVED if side else None, how)
    assert "INTERRUPTED" in interrupted
    assert (paid, ran) == ("paid", ["pay"])


@pytest.mark.rule("MNT-9")
@BOTH
async def test_of_two_workers_that_bring_a_tool_its_answer_one_alone_goes_on(how: str) -> None:
    ran: list[str] = []

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append(interrupt("How much?"))
        return "paid"

    saver = AtOnce(0)
    workers = [agent_of([pay], always_on=["pay"], checkpointer=saver) for _ in range(2)]
    await workers[0].ask([[call("pay")]], how)
    saver.left = 2
    for each in workers:
        each.model.turns.append("Done.")
    paid, interrupted = await _both(workers, Command(resume="7"), how)
    assert "INTERRUPTED" in interrupted
    assert (paid, ran) == ("paid", ["7"])


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize(("asks", "told"), [(False, "INTERRUPTED"), (True, "paid 7")])
@BOTH
async def test_what_had_begun_and_what_waits_is_known_where_all_but_the_newest_checkpoint_are_pruned(
    how: str, told: str, *, asks: bool
) -> None:
    ran: list[str] = []
    saver = InMemorySaver()

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append(interrupt("How much?") if asks else "")
        if asks:
            return f"paid {ran[-1]}"
        raise Dies

    first, later = (agent_of([pay], always_on=["pay"], checkpointer=saver, before=[_reviewer()]) for _ in range(2))
    await first.ask([[call("pay")]], how, durability="sync")
    with suppress(Dies):
        await first.move(APPROVED, how, durability="sync")
    prune(saver)
    later.model.turns.append("Done.")
    assert told in last(await later.move(Command(resume="7") if asks else None, how)).text
    assert len(ran) == 1


class KeepsTheLast(InMemorySaver):
    """A checkpointer that keeps the last of two writes."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        where = config["configurable"]
        written = self.writes[(where["thread_id"], where["checkpoint_ns"], where["checkpoint_id"])]
        for key in [key for key in written if key[0] == task_id]:
            del written[key]
        super().put_writes(config, writes, task_id, task_path)


@pytest.mark.rule("MNT-9")
@BOTH
async def test_what_had_begun_is_known_also_where_a_checkpointer_keeps_the_last_of_two_writes(how: str) -> None:
    ran: list[str] = []
    saver = KeepsTheLast()

    pay = dying(ran)
    first, later = (agent_of([pay], always_on=["pay"], checkpointer=saver) for _ in range(2))
    with suppress(Dies):
        await first.ask([[call("pay")]], how, durability="sync")
    later.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await later.move(None, how)).text
    assert ran == ["pay"]
