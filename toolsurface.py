"""The command `toolsurface`, and how Ctrl-C ends it before it can do anything.

What the commands are made of takes a third of a second to import, and longer from a cold disk. Nothing of it is
imported before Ctrl-C is understood.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

_INTERRUPTED = 130


@contextmanager
def importing(program: str) -> Iterator[None]:
    """Ctrl-C inside the block ends this process at once, in one line, where nobody else handles it.

    For what has no effect before it is done, as imports: nothing is cleaned up.
    """
    untouched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not untouched or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: _end(program))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def main() -> int:
    """Runs whichever installed subcommand is asked for; its exit code."""
    try:
        with importing("toolsurface"):
            from surface.adapters.command_line import main as run  # noqa: PLC0415 - see the head of this file
        return run()
    except KeyboardInterrupt:  # between the two
        _end("toolsurface")


def _end(program: str) -> NoReturn:
    with suppress(OSError):  # nobody listens
        os.write(2, f"{program}: interrupted\n".encode())
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
