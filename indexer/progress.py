"""How the core tells whoever waits how far it is; showing it is an adapter's matter."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called now and then during long work, from the thread that does it."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` steps of a stage such as ``embedding`` are finished; a stage ends at `done == total`."""
        ...


def silent(stage: str, done: int, total: int) -> None:
    """A progress that nobody watches."""
