"""The async core under sync callers: one loop that outlives whatever a tool raises, and the caller's context."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest

from surface import tool
from surface.adapters.sync_bridge import run_blocking
from tests.frameworks.langchain_agents import agent_of, call, last


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


def test_the_callers_context_holds_also_where_a_sync_run_is_started_inside_another_one() -> None:
    word: ContextVar[str] = ContextVar("word")

    async def read() -> str:
        return word.get("lost")

    async def nested() -> str:
        return run_blocking(read())

    word.set("kept")
    assert (run_blocking(read()), run_blocking(nested())) == ("kept", "kept")
