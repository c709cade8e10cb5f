"""Reads a file that a running service depends on: never waits for it, and never takes more than it may have."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, *, ceiling: int) -> bytes:
    """The bytes of a regular file, or of one that a link leads to; at most one more than `ceiling`.

    Raises OSError, also where a pipe, a socket, a device or a folder has its place: a pipe would hold the reader up
    for as long as nobody writes to it, and with it the end of the process.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise (_not_regular(path) if error.errno == errno.ENXIO else error) from None  # ENXIO: a socket
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _not_regular(path)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(ceiling + 1)
    finally:
        os.close(descriptor)


def _not_regular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "is not a regular file; write it to one and name that", str(path))
