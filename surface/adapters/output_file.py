"""Writing a result to a file so that nobody ever sees half of it; or to standard output, which `-` means."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path

from surface.adapters.command_line import CommandFailedError, OutputError

_STANDARD_OUTPUT = frozenset({Path("-"), Path("/dev/stdout"), Path("/dev/fd/1"), Path("/proc/self/fd/1")})


def is_standard_output(path: Path) -> bool:
    """Whether `-`, or a name that the system has for standard output; a file that is called `-` has a whole path."""
    return path in _STANDARD_OUTPUT


def write_result(path: Path, data: bytes) -> None:
    """A command's result to a file, as `write_whole` does, or to standard output where `path` is that.

    Raises `CommandFailedError`, which names the file; of standard output, `OutputError`.
    """
    if not is_standard_output(path):
        try:
            write_whole(path, data)
        except OSError as error:
            raise CommandFailedError(f"{path}: cannot be written ({error.strerror})") from error
        return
    if sys.stdout is None:  # closed, as a daemon may have it
        raise OutputError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def write_whole(path: Path, data: bytes) -> None:
    """Writes beside, then renames over; the old file stays whole until the new one is. Raises OSError.

    A link is followed, and what is no file (a pipe, ``/dev/null``) is written to and never replaced.
    """
    if path.exists() and not path.is_file():  # before it is resolved: a pipe in /dev/fd has no other path
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))  # `resolve` raises another error where links go round in a circle
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=".toolsurface-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        # A temporary file is private; the result is as readable as any file the user makes.
        Path(beside).chmod(0o666 & ~mask)
        os.replace(beside, path)  # noqa: PTH105 - the atomic rename is the point
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
