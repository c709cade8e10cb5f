"""The files of a directory store: read without following what an odd node would do, written so that a crash cannot
tear them, and every refusal of the operating system told with what mends it.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from indexer.errors import StoreError

_FIXES = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space, or have the quota raised, and try again",
    errno.EROFS: "mount it writable, or name another --store",
    errno.EACCES: "give this user the right to read and write there",
    errno.EPERM: "give this user the right to read and write there",
    errno.EEXIST: "something else has the place of a folder; move it away",
    errno.ENOTDIR: "something else has the place of a folder; move it away",
    errno.EISDIR: "a folder has the place of a file; move it away",
    errno.ELOOP: "a link leads back to itself; move it away",
    errno.ENOLCK: "mount it with locks (flock), or name another --store",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the limit of open files",
    errno.EIO: "the disk fails; check it",
    errno.ESTALE: "the network file system lost the folder; mount it again",
}
_IN_THE_WAY = (
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENXIO,  # a socket
    errno.EACCES,
    errno.EPERM,
)
_OTHERWISE = "see that the folder is there, writable and not full"


@contextmanager
def told_as_store_errors(place: Path) -> Iterator[None]:
    """Turns what the operating system refuses into one `StoreError` that names the path and the fix."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or type(error).__name__
        fix = _FIXES.get(error.errno or 0, _OTHERWISE)
        raise StoreError(f"{error.filename or place}: {problem}; {fix}") from error


def is_passing(error: StoreError) -> bool:
    """Whether the operating system refused for a reason that does not lie in what stands in a file's place."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno not in _IN_THE_WAY


def read(path: Path, *, ceiling: int, remedy: str) -> bytes | None:
    """A regular file's bytes, at most one more than the ceiling; None where nothing at all is in its place.

    Raises `StoreError` where something is that cannot be such a file, which says what to do once it is moved away, and
    OSError.
    """
    try:
        # Not blocking: a pipe in the place of a file must not hold a reader up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        refuse_dangling(path, remedy=remedy)
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreError(f"{path}: is not a regular file; move it away and {remedy}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(ceiling + 1)
    finally:
        os.close(descriptor)


def refuse_dangling(path: Path, *, remedy: str) -> None:
    """Raises `StoreError` where the way to `path` ends in a link to nothing."""
    there = next(step for step in (path, *path.parents) if os.path.lexists(step))
    if there.is_symlink() and not there.exists():
        raise StoreError(f"{there}: is a link to nothing; move it away and {remedy}")


def write(path: Path, data: bytes) -> None:
    """Makes a new file, and returns when the disk has it."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def make_folder(path: Path) -> None:
    """Makes a folder and those above it where they lack, and returns when the disk has the name of each new one."""
    lacking = [folder for folder in (path, *path.parents) if not folder.is_dir()]
    for folder in reversed(lacking):
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def put_right(folder: Path, fresh: Path) -> bool:
    """Moves each file of `fresh` to its place in `folder`, and returns when the disk has their names.

    False, and nothing is moved, where that is no folder of this user's, or has a folder in the place of a file.
    """
    files = list(fresh.iterdir())
    if folder.is_symlink() or not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    if any(place.is_dir() and not place.is_symlink() for place in (folder / file.name for file in files)):
        return False
    for file in files:
        file.replace(folder / file.name)
    sync_folder(folder)
    return True


def sync_folder(path: Path) -> None:
    """Returns when the disk has the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Removes whatever is there, without following links."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):  # macOS says the latter of a folder
        shutil.rmtree(path)
