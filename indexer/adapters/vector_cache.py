"""Vectors remembered in one SQLite file, bounded in size: what a deploy that was interrupted had embedded already.

Rules kept here:

1. A key is a hash over the model's identity and the digest of a text; no text is stored.
2. Every row carries a checksum over its key and its vector. A row that does not match is not answered and is removed;
   a file that is no database is begun anew. Damage costs time and nothing else.
3. The file never grows past its ceiling: the oldest rows make room for new ones.
4. Nothing is raised. What the file system refuses is told in a sentence, and from then on nothing is remembered.
5. Only files of one's own are believed: whoever can write the file could choose the vectors.

Several deploys may share a file; SQLite's own locks keep it whole, also when one of them is killed.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 512 * 1024 * 1024
"""About 250,000 vectors of 384 dimensions."""
_FORMAT = 1
_PAGE = 8_192
_ASKED_AT_ONCE = 500
_DROPPED_AT_ONCE = 128
_WAIT_S = 10.0
_REFUSALS = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }
)
_DAMAGED_READS = frozenset({sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS})
_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL, checksum BLOB NOT NULL)"


def usual_place() -> Path | None:
    """Where a user's caches are; None where that cannot be known, as for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:
        return None
    return folder / "toolsurface" / "vectors.sqlite3"


Tell: TypeAlias = Callable[[str], None]


class VectorFile:
    """Implements `indexer.ports.VectorCache` for one thread; close it when the deploy is over."""

    __slots__ = ("_connection", "_max_bytes", "_path", "_tell")

    def __init__(self, path: Path, *, tell: Tell = lambda _: None, max_bytes: int = MAX_BYTES) -> None:
        """`path` and its folder are made where they are missing. `tell` hears what went wrong, in a sentence."""
        self._path = path
        self._tell = tell
        self._max_bytes = max_bytes
        self._connection: sqlite3.Connection | None = None
        with self._quiet():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open()

    def find(self, model: str, texts: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        """See `indexer.ports.VectorCache`."""
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(texts), _ASKED_AT_ONCE):
            asked = {_key(model, text): text for text in texts[start : start + _ASKED_AT_ONCE]}
            with self._quiet():
                if self._connection is not None:
                    found |= _found(self._connection, asked)
        return found

    def keep(self, model: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """See `indexer.ports.VectorCache`."""
        rows = []
        for text, vector in vectors.items():
            key, data = _key(model, text), vector.astype("<f4", copy=False).tobytes()
            rows.append((key, data, _checksum(key, data)))
        with self._quiet():
            if self._connection is not None:
                with self._connection:
                    # A page may be half empty, so twice the bytes.
                    _make_room(self._connection, self._max_bytes - 2 * sum(len(data) for _, data, _ in rows))
                    self._connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Lets go of the file."""
        with self._quiet():
            if self._connection is not None:
                self._connection.close()
        self._connection = None

    def _open(self) -> None:
        # Made by us and for us alone, before SQLite would make it with the usual permissions.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if self._path.stat().st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "belongs to another user", str(self._path))
        connection = sqlite3.connect(self._path, timeout=_WAIT_S)
        try:
            connection.execute(f"PRAGMA page_size = {_PAGE}")
            connection.execute("PRAGMA journal_mode = WAL")
            # A tail lost in a power cut costs time; waiting for the disk after every lot would cost more.
            connection.execute("PRAGMA synchronous = NORMAL")
            _check_format(connection)
            with connection:
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Damage starts the file anew; what cannot be mended ends remembering."""
        try:
            yield
        except OSError as error:
            self._give_up(str(error))
        except sqlite3.Error as error:
            if _is_refusal(error):
                self._give_up(str(error))
                return
            try:
                self._start_anew()
            except (OSError, sqlite3.Error):
                self._give_up(str(error))
            else:
                self._tell(f"vector cache {self._path}: was damaged ({error}); begun anew")

    def _start_anew(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._open()

    def _give_up(self, problem: str) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        self._tell(f"vector cache {self._path}: {problem}; going on without it")


def _is_refusal(error: sqlite3.Error) -> bool:
    """Whether the system refused, rather than the file being damaged."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code not in _DAMAGED_READS and code & 0xFF in _REFUSALS


def _check_format(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, _FORMAT):
        raise sqlite3.DatabaseError("of another format")


def _found(connection: sqlite3.Connection, asked: Mapping[bytes, str]) -> Mapping[str, NDArray[np.float32]]:
    marks = ",".join("?" * len(asked))
    query = f"SELECT key, vector, checksum FROM vectors WHERE key IN ({marks})"  # noqa: S608 - only question marks
    found: dict[str, NDArray[np.float32]] = {}
    damaged: list[tuple[bytes]] = []
    for key, data, checksum in connection.execute(query, list(asked)):
        if checksum == _checksum(key, data):
            found[asked[key]] = np.frombuffer(data, dtype="<f4")
        else:
            damaged.append((key,))
    if damaged:
        with connection:
            connection.executemany("DELETE FROM vectors WHERE key = ?", damaged)
    return found


def _make_room(connection: sqlite3.Connection, allowed: int) -> None:
    """Drops the oldest rows until the pages in use weigh no more than `allowed` bytes."""
    while _used(connection) > allowed:
        dropped = connection.execute(
            "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY rowid LIMIT ?)", (_DROPPED_AT_ONCE,)
        )
        if not dropped.rowcount:
            return


def _used(connection: sqlite3.Connection) -> int:
    pages, free = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "freelist_count"))
    return (pages - free) * _PAGE


def _key(model: str, text: str) -> bytes:
    return blake2b(f"{model}\0{text}".encode(), digest_size=16).digest()


def _checksum(key: bytes, data: bytes) -> bytes:
    return blake2b(key + data, digest_size=16).digest()
