"""Stops asking a service that failed repeatedly. Threads may share one."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock


class Breaker:
    """Counts consecutive failures; once there are `failures` of them it refuses for `cool_down` seconds, then lets
    one call try. The clock is an argument, in seconds, and must never go back.
    """

    def __init__(self, *, failures: int, cool_down: float, clock: Callable[[], float]) -> None:
        self._allowed = failures
        self._cool_down = cool_down
        self._clock = clock
        self._failed = 0
        self._shut_until = 0.0
        self._changing = Lock()

    def admits(self) -> bool:
        """Whether a call may be made now; after a cool-down, true for one call in each further cool-down."""
        with self._changing:
            if self._failed < self._allowed:
                return True
            now = self._clock()
            if now < self._shut_until:
                return False
            # This call is the trial. Whatever becomes of it, cancelled included, the next one comes a cool-down later.
            self._shut_until = now + self._cool_down
            return True

    def succeeded(self) -> None:
        """The service answered."""
        with self._changing:
            self._failed = 0

    def failed(self) -> None:
        """The service did not answer, or answered nonsense."""
        with self._changing:
            self._failed += 1
            if self._failed >= self._allowed:
                self._shut_until = self._clock() + self._cool_down
