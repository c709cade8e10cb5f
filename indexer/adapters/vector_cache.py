"""Vectors remembered in one SQLite file, bounded in size: what a deploy that was interrupted had embedded already.

Rules kept here:

1. A key is a hash over the model's identity and the digest of a text; no text is stored.
2. A file that is not ours is refused before anything is written to it or beside it (`cache_file.py`).
3. Every row carries a checksum over its key and its vector. A row that is not as it was written is not answered and is
   removed; a file of ours that is no sound database is set aside and begun anew. Damage costs time and nothing else.
4. The file never grows past its ceiling: the oldest rows make room for new ones.
5. Once it is open nothing is raised. What the file system refuses is told in a sentence, and from then on nothing is
   remembered.
6. Only files of one's own are believed: whoever can write the file, or one beside it, could choose the vectors.

Several deploys may share a file; SQLite's own locks keep it whole, also when one of them is killed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from indexer.adapters.cache_file import FORMAT, PAGE, claim, connect, set_aside
from indexer.errors import CacheFileError

MAX_BYTES = 512 * 1024 * 1024
"""About 250,000 vectors of 384 dimensions."""
_MAX_VECTOR_BYTES = 65_536 * 4
"""The widest that a model may be; no longer value is read into memory."""
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
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""The second where SQLite quotes damaged bytes in a message, which Python then cannot read."""
_DAMAGED_READS = frozenset({sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS})


def usual_place() -> Path | None:
    """Where a user's caches are; None where that cannot be known, as for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:
        return None
    return folder / "toolsurface" / f"vectors-{FORMAT}.sqlite3"


Tell: TypeAlias = Callable[[str], None]


class VectorFile:
    """Implements `indexer.ports.VectorCache` for one thread; close it when the deploy is over."""

    __slots__ = ("_connection", "_max_bytes", "_path", "_tell")

    def __init__(self, path: Path, *, tell: Tell = lambda _: None, max_bytes: int = MAX_BYTES) -> None:
        """`path` and its folder are made where they are missing. `tell` hears what went wrong, in a sentence.

        Raises `CacheFileError` where there is a file that is not one of these or another user's, or where everybody may
        put one; nothing is touched.
        """
        if path == Path("-"):  # what elsewhere means an output or an input
            raise CacheFileError("--cache -: vectors are remembered in a file; name one, or leave --cache out")
        # SQLite puts its files beside what a link leads to.
        self._path = Path(os.path.realpath(path))
        self._tell = tell
        self._max_bytes = max_bytes
        self._connection: sqlite3.Connection | None = None
        with self._quiet():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        claim(self._path)
        self._connection = connect(self._path, wait_s=_WAIT_S)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Damage starts the file anew; what cannot be mended ends remembering."""
        try:
            yield
        except OSError as error:
            self._give_up(error.strerror or str(error))
        except _DAMAGE as error:
            if _is_refusal(error):
                self._give_up(str(error))
                return
            try:
                place = self._start_anew()
            except (OSError, *_DAMAGE, CacheFileError):
                self._give_up(str(error))
            else:
                self._tell(f"vector cache {self._path}: was damaged ({error}); set aside as {place.name}, begun anew")

    def _start_anew(self) -> Path:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        # Whatever SQLite says of it: only what is ours by its first bytes is touched.
        claim(self._path)
        place = set_aside(self._path)
        self._open()
        return place

    def _give_up(self, problem: str) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        self._tell(f"vector cache {self._path}: {problem}; going on without it")


def _is_refusal(error: Exception) -> bool:
    """Whether the system refused, rather than the file being damaged."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code not in _DAMAGED_READS and code & 0xFF in _REFUSALS


def _found(connection: sqlite3.Connection, asked: Mapping[bytes, str]) -> Mapping[str, NDArray[np.float32]]:
    marks = ",".join("?" * len(asked))
    # Lengths first: a value that is too long is never read.
    values = "CASE WHEN length(vector) <= ? THEN vector END, CASE WHEN length(checksum) = 16 THEN checksum END"
    query = f"SELECT rowid, key, {values} FROM vectors WHERE key IN ({marks})"  # noqa: S608 - only question marks
    found: dict[str, NDArray[np.float32]] = {}
    damaged: list[tuple[int]] = []
    for row, key, data, checksum in connection.execute(query, [_MAX_VECTOR_BYTES, *asked]):
        if isinstance(data, bytes) and data and not len(data) % 4 and checksum == _checksum(key, data):
            found[asked[key]] = np.frombuffer(data, dtype="<f4")
        else:
            damaged.append((row,))
    if damaged:
        with connection:
            connection.executemany("DELETE FROM vectors WHERE rowid = ?", damaged)
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
    return (pages - free) * PAGE


def _key(model: str, text: str) -> bytes:
    return blake2b(f"{model}\0{text}".encode(), digest_size=16).digest()


def _checksum(key: bytes, data: bytes) -> bytes:
    return blake2b(key + data, digest_size=16).digest()
