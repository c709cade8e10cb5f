"""The real store of the recovery tests: one SQLite file in WAL mode, each write committed and synced on its own.

It holds conversations, message by message, and what was done in the world: each handler and each ranking leaves a row
before it goes on, so that runs are counted across processes, killed ones included.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE IF NOT EXISTS messages (number INTEGER PRIMARY KEY, conversation TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS deeds
  (number INTEGER PRIMARY KEY, what TEXT NOT NULL, call TEXT NOT NULL, key TEXT NOT NULL);
"""
RANKING = "(ranking)"
"""What a ranking is called among the deeds; no tool has this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One thing that was begun: a tool's handler, or a ranking."""

    what: str
    call: str = ""
    """Run id and call id."""
    key: str = ""
    """The idempotency key of the call."""


@dataclass(frozen=True, slots=True)
class Store:
    """Conversations and deeds in one file. Opens a connection per operation, as any process and thread may."""

    path: Path

    def messages(self, conversation: str) -> list[Any]:
        """The messages of a conversation, oldest first."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT body FROM messages WHERE conversation = ? ORDER BY number", [conversation]
            ).fetchall()
        return [json.loads(body) for (body,) in rows]

    def append(self, conversation: str, message: Any) -> None:
        """One more message, on disk before this returns."""
        with self._connection() as connection:
            connection.execute(
                "INSERT INTO messages (conversation, body) VALUES (?, ?)", [conversation, json.dumps(message)]
            )

    def replace(self, conversation: str, messages: Sequence[Any]) -> None:
        """Other messages in place of all there are, in one transaction."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM messages WHERE conversation = ?", [conversation])
            connection.executemany(
                "INSERT INTO messages (conversation, body) VALUES (?, ?)",
                [(conversation, json.dumps(message)) for message in messages],
            )
            connection.execute("COMMIT")

    def note(self, deed: Deed) -> None:
        """One more deed, on disk before this returns."""
        with self._connection() as connection:
            connection.execute("INSERT INTO deeds (what, call, key) VALUES (?, ?, ?)", [deed.what, deed.call, deed.key])

    def deeds(self) -> list[Deed]:
        """Every deed of every process, oldest first."""
        with self._connection() as connection:
            rows = connection.execute("SELECT what, call, key FROM deeds ORDER BY number").fetchall()
        return [Deed(what=what, call=call, key=key) for what, call, key in rows]

    def ran(self, tool: str) -> list[str]:
        """The call of each time this tool's handler began."""
        return [deed.call for deed in self.deeds() if deed.what == tool]

    def rankings(self) -> int:
        """How often a ranker was asked."""
        return len(self.ran(RANKING))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # No implicit transactions: each statement commits by itself. Three handlers of one step may write at once.
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=30)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_TABLES)
            yield connection
