"""A bounded memory of this process that threads share; nothing that has to be right depends on what is still in it."""

from __future__ import annotations

from threading import RLock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values that were kept last, at most so many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, V] = {}
        """The one kept longest ago first."""
        self._changing = RLock()
        """Taken up a second time where memory is cleared up in the middle of a change and something dies with it."""

    def keep(self, key: K, *, value: V) -> None:
        """Takes up a value, in place of an earlier one of the key; the oldest of too many go."""
        with self._changing:
            self._values.pop(key, None)
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.pop(next(iter(self._values)), None)

    def get(self, key: K) -> V | None:
        """The value, where it is still here."""
        return self._values.get(key)

    def take(self, key: K) -> V | None:
        """The same, and forgets it."""
        with self._changing:
            return self._values.pop(key, None)
