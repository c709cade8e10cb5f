"""The async core under sync callers: one loop that outlives whatever a tool raises, and the caller's context."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from queue import Queue
from threading import Thread, current_thread
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from surface import tool
from surface.adapters.sync_bridge import run_blocking
from surface.worker_thread import run_aside
from tests.frameworks.langchain_agents import agent_of, answers, call, last


@pytest.mark.parametrize("ends", [SystemExit, KeyboardInterrupt])
def test_a_tool_that_ends_a_sync_run_leaves_the_next_run_its_loop(ends: type[BaseException]) -> None:
    @tool
    async def stop() -> str:
        """Stops."""
        raise ends

    @tool
    async def go() -> str:
        """Goes."""
        return "gone"

    agent = agent_of([stop, go], always_on=["stop", "go"])

    async def ask(name: str, thread: str) -> Any:
        return await agent.ask([[call(name)], "Done."], "invoke", thread=thread)

    with suppress(ends):
        asyncio.run(ask("stop", "first"))
    with suppress(ends):
        run_blocking(_raises(ends))
    agent.model.turns.clear()
    assert last(asyncio.run(ask("go", "second"))).text == "gone"


async def _raises(error: type[BaseException]) -> None:
    raise error


def test_a_sync_run_inside_an_async_tool_of_a_sync_run_comes_to_its_end() -> None:
    @tool
    async def look() -> str:
        """Looks."""
        return "seen"

    inner = agent_of([look], always_on=["look"])

    @tool
    async def delegate() -> str:
        """Has another agent look: LangGraph answers its calls in threads of a pool."""
        inner.model.turns.extend([[call("look")], [call("look"), call("look")], "Over."])
        ended = inner.graph.invoke({"messages": [HumanMessage("Look.")]})
        return ",".join(message.text for message in answers(ended["messages"]))

    outer = agent_of([delegate], always_on=["delegate"])
    ended: Queue[str] = Queue()

    def run() -> None:
        ended.put(last(asyncio.run(outer.ask([[call("delegate")], "Done."], "invoke"))).text)

    # A daemon, so that one that hangs keeps nobody.
    Thread(target=run, daemon=True).start()
    assert ended.get(timeout=30) == "seen,seen,seen"


async def test_what_the_loop_runs_aside_may_use_the_loop_again() -> None:
    names: list[str] = []

    async def where() -> None:
        names.append(current_thread().name)

    async def work() -> None:
        await run_aside(lambda: run_blocking(where()))

    run_blocking(work())
    run_blocking(where())
    assert names == ["toolsurface-loop"] * 2


def test_the_callers_context_holds_also_where_a_sync_run_is_started_inside_another_one() -> None:
    word: ContextVar[str] = ContextVar("word")

    async def read() -> str:
        return word.get("lost")

    async def nested() -> str:
        return run_blocking(read())

    word.set("kept")
    assert (run_blocking(read()), run_blocking(nested())) == ("kept", "kept")
