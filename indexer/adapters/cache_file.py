"""Whose a file is that is to remember vectors: told by its first bytes, before SQLite opens it.

Rules kept here:

1. A file is ours when SQLite's magic and our own application id stand in its header. Nothing else makes it ours: no
   name, no place, no table. What is not ours is never opened by SQLite, which would write to it or beside it.
2. What is new gets the id with its first page, and a rollback journal is never written: a kill at any moment leaves a
   file that is empty or ours.
3. What SQLite reads beside it is a regular file of this user, and not everybody may write to the folder.
4. A file of ours that is damaged is renamed, and only an earlier one of that kind makes room for it.

Not here: rows (`vector_cache.py`).
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Literal, TypeAlias

from indexer.errors import CacheFileError

FORMAT = 2
PAGE = 8_192
_APPLICATION = 0x74737663
"""`tsvc` in the header's application id."""
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_JOURNAL = "-journal"
_SUFFIXES = ("-wal", "-shm", _JOURNAL)
_FIX = "it was left as it is; name another file with --cache, or leave --cache out"
_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL, checksum BLOB NOT NULL)"

Standing: TypeAlias = Literal["empty", "ours"]


def claim(path: Path) -> Standing:
    """Makes the file where it is missing, for its owner alone; says whether it is empty or one of ours.

    `path` leads over no link. Raises `CacheFileError` where it is anything else, is another user's, or lies where
    everybody may put files; OSError where it cannot be opened.
    """
    folder = path.parent.stat().st_mode
    if folder & stat.S_IWOTH and not folder & stat.S_ISVTX:
        raise CacheFileError(
            f"--cache {path}: everybody may write to its folder, and so choose the vectors; take that right away (chmod"
            " o-w), or name a file elsewhere"
        )
    # What stands beside it is looked at first: whoever makes the file at this moment makes those after it.
    there = _neighbours(path)
    if there and not os.path.lexists(path):
        raise _not_ours_beside(path, there[0])
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except IsADirectoryError:
        raise CacheFileError(f"--cache {path}: is a folder; name a file in it, or leave --cache out") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise CacheFileError(f"--cache {path}: is no regular file, so it cannot remember vectors; {_FIX}")
        if found.st_uid != os.geteuid():
            raise CacheFileError(f"--cache {path}: belongs to another user, who may choose the vectors; {_FIX}")
        header = os.pread(descriptor, _HEADER_BYTES, 0)
    finally:
        os.close(descriptor)
    # SQLite would read what stands beside a file as the rest of it, and remove it.
    strange = there if not header else [each for each in there if each.name.endswith(_JOURNAL)]
    if strange:
        raise _not_ours_beside(path, strange[0])
    _refuse_strangers(path)
    if not header:
        return "empty"
    if not _is_ours(header):
        raise CacheFileError(f"--cache {path}: is no file of remembered vectors; {_FIX}")
    if _number(header, 60) != FORMAT:
        raise CacheFileError(f"--cache {path}: was written by another version of toolsurface; {_FIX}")
    return "ours"


def _neighbours(path: Path) -> list[Path]:
    """What stands where SQLite puts its own files, links to nothing too."""
    return [each for each in (_beside(path, suffix) for suffix in _SUFFIXES) if os.path.lexists(each)]


def _refuse_strangers(path: Path) -> None:
    """Raises `CacheFileError` where SQLite would believe a file beside `path` that is another user's, or a link."""
    for each in _neighbours(path):
        with suppress(FileNotFoundError):  # another deploy has just closed the file
            found = each.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise _not_ours_beside(path, each)


def _not_ours_beside(path: Path, strange: Path) -> CacheFileError:
    return CacheFileError(f"--cache {path}: {strange.name} stands where SQLite would write and is not ours; {_FIX}")


def connect(path: Path, *, wait_s: float) -> sqlite3.Connection:
    """A connection to a file that `claim` answered for. Raises `sqlite3.Error`, and `CacheFileError` where a file of
    another user has come to stand beside it since.
    """
    connection = sqlite3.connect(path, timeout=wait_s)
    try:
        if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            connection.execute(f"PRAGMA page_size = {PAGE}")
            connection.execute("PRAGMA journal_mode = MEMORY")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute(_SCHEMA)
            connection.execute("PRAGMA journal_mode = WAL")
        # A tail lost in a power cut costs time; waiting for the disk after every lot would cost more.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_SCHEMA)
        _refuse_strangers(path)
    except BaseException:
        connection.close()
        raise
    return connection


def set_aside(path: Path) -> Path:
    """Renames a file of ours that is damaged, and answers its new name. Raises OSError."""
    numbers = chain([""], (f"-{number}" for number in count(2)))
    place = next(filter(_has_room, (path.with_name(f"{path.name}.damaged{number}") for number in numbers)))
    _beside(path, "-shm").unlink(missing_ok=True)  # only an index of the next one
    with suppress(FileNotFoundError):
        _beside(path, "-wal").replace(_beside(place, "-wal"))
    return path.replace(place)


def _has_room(place: Path) -> bool:
    return _holds_ours(place) or not any(os.path.lexists(each) for each in (place, _beside(place, "-wal")))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _holds_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _is_ours(file.read(_HEADER_BYTES))
    except OSError:
        return False


def _is_ours(header: bytes) -> bool:
    """Whether a file that begins so is one of these, whatever its format."""
    return header.startswith(_MAGIC) and len(header) == _HEADER_BYTES and _number(header, 68) == _APPLICATION


def _number(header: bytes, at: int) -> int:
    return int.from_bytes(header[at : at + 4], "big")
