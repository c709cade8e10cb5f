"""Bytes of a file that nobody has verified yet, with a ceiling."""

from importlib.resources.abc import Traversable

__all__ = ["read_bounded"]


def read_bounded(path: Traversable, *, ceiling: int) -> bytes:
    """At most one byte more than `ceiling`, which tells the caller that there was more.

    Raises OSError, also where something is in its place that is no regular file.
    """
    # A pipe or a device would block or never end.
    if not path.is_file():
        raise FileNotFoundError(2, "no such regular file")
    with path.open("rb") as stream:
        return stream.read(ceiling + 1)
