"""Reads the bytes of a catalog or of canary queries, packed by gzip or not, and no more than one may have.

`-` is standard input, which can be read once.
"""

from __future__ import annotations

import errno
import gzip
import os
import sys
import zlib
from contextlib import AbstractContextManager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from indexer.canaries import MAX_CANARY_BYTES
from indexer.catalog_file import MAX_CATALOG_BYTES
from indexer.errors import CanaryFileError, CatalogFileError, FileTooLargeError

STANDARD_INPUT = Path("-")
_GZIP = b"\x1f\x8b"


def read_catalog_bytes(path: Path, *, ceiling: int = MAX_CATALOG_BYTES) -> bytes:
    """The bytes of the catalog at `path`, unpacked.

    Raises `CatalogFileError` where there is no such file or it cannot be unpacked, `FileTooLargeError` where it is
    larger than `ceiling` bytes.
    """
    try:
        data = _read(path, ceiling=ceiling)
    except _UnreadableError as error:
        raise CatalogFileError(f"catalog {path}: {error}") from error.__cause__
    if len(data) > ceiling:
        raise FileTooLargeError(f"catalog {path}: is larger than {ceiling} bytes; split the application")
    return data


def read_canary_bytes(path: Path) -> bytes:
    """The bytes of a file of canary queries, unpacked; raises `CanaryFileError` where it cannot be read.

    Of a file that is too large it gives more than `read_canaries` takes, and no more than a little.
    """
    try:
        return _read(path, ceiling=MAX_CANARY_BYTES)
    except _UnreadableError as error:
        raise CanaryFileError(f"canaries {path}: {error}") from error.__cause__


class _UnreadableError(Exception):
    pass


def _opened(path: Path) -> AbstractContextManager[BinaryIO]:
    if path != STANDARD_INPUT:
        return path.open("rb")
    if sys.stdin is None:  # closed, as a daemon may have it
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return nullcontext(sys.stdin.buffer)


def _read(path: Path, *, ceiling: int) -> bytes:
    """At most one byte more than the ceiling."""
    try:
        with _opened(path) as file:
            data = file.read(ceiling + 1)
        if data.startswith(_GZIP) and len(data) <= ceiling:
            with gzip.GzipFile(fileobj=BytesIO(data)) as packed:  # no file is read twice, for a pipe cannot be
                # Unpacks as it goes, so a small file that would unpack to terabytes stops at the ceiling.
                data = packed.read(ceiling + 1)
    except (zlib.error, EOFError, gzip.BadGzipFile):
        raise _UnreadableError("is a damaged gzip file; export it again") from None
    except OSError as error:
        raise _UnreadableError(f"cannot be read: {error.strerror or type(error).__name__}") from error
    return data
