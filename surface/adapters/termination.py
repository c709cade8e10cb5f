"""Signals that end a command: SIGTERM as Ctrl-C does, so that what was done is accounted for and last words are said,
and Ctrl-C only where it is understood.
"""

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


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Ctrl-C inside the block is raised at its end, where nobody else handles it and signals can be handled.

    For imports: a library may tell an interruption of its own beginning as a fault of its own.
    """
    untouched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not untouched or threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if asked.is_set():
            raise KeyboardInterrupt


def _terminate(*_: object) -> NoReturn:
    raise TerminatedError
