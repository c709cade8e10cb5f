"""Makes nobody wait for a service that hangs, but for the one who finds out whether it still does.

Rules kept here:

1. Who asks a service that hangs waits for as long as its client is patient, and the service is away from then on.
2. One that is away is asked by one at a time, and not at once again: whoever asks meanwhile is told what the first was.
3. Where asking failed quickly nobody has waited, and the service is asked by the next as before: one hiccup speaks for
   one object, and not for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from indexer.errors import StoreUnavailableError

REST_S: Final = 1.0
"""Between two tries of a service that is away."""
_QUICK_S: Final = 0.25
"""A failure that takes no longer than that kept nobody waiting."""


class WaitingOnce:
    """Threads may share it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._away: str | None = None
        """What the last one was told who waited in vain; None while the service answers."""
        self._again_at = 0.0
        self._tried = False
        """Whether somebody finds out just now."""

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around one question: `StoreUnavailableError` says that it was not answered, and any other end that it was.

        Raises that error at once where the service is away, with the words of whoever waited.
        """
        tries = self._admitted()
        began = self._clock()
        away: str | None = None
        try:
            yield
        except StoreUnavailableError as error:
            if self._clock() - began > _QUICK_S:
                away = str(error)
            raise
        finally:
            with self._lock:
                if tries or away is not None:
                    self._away, self._again_at = away, self._clock() + REST_S
                if tries:
                    self._tried = False

    def _admitted(self) -> bool:
        """Whether whoever asks now is the one who finds out."""
        with self._lock:
            if self._away is None:
                return False
            if self._tried or self._clock() < self._again_at:
                raise StoreUnavailableError(self._away)
            self._tried = True
            return True
