"""The same two runs on LangChain's `create_agent`, both with checkpoints in SQLite: what the journal adds is in there.

The calls are of tools that may not run twice, so each of them waits for its note.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks import frameworks_langchain


async def prepare(count: int, length: int, steps: int) -> tuple[Any, Any]:
    """A run alone and a run deferred, as `frameworks_langchain` has them; each run has a database of its own."""
    return await frameworks_langchain.prepare(count, length, steps, _database)


def _database() -> AbstractAsyncContextManager[AsyncSqliteSaver]:
    return AsyncSqliteSaver.from_conn_string(":memory:")
