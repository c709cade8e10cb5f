"""SIGTERM ends a command as Ctrl-C does: what was done is accounted for, and last words are said."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class TerminatedError(KeyboardInterrupt):
    """Somebody sent SIGTERM: a pipeline that is cancelled, a container that is stopped."""


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM raises `TerminatedError` inside the block, where nobody else handles it and signals can be handled."""
    untouched = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not untouched or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(*_: object) -> NoReturn:
    raise TerminatedError
