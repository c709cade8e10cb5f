"""The command `toolsurface`, and how Ctrl-C ends it before it can do anything.

What the commands are made of takes a third of a second to import, and longer from a cold disk. Nothing of it is
imported before Ctrl-C is understood, nor what only looks cheap: `signal`, `contextlib` and `typing` take 15 ms.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal  # what `signal` is made of, without its enumerations

_INTERRUPTED = 130


class Importing:
    """Ctrl-C inside the block ends this process at once, in one line, where nobody else handles it.

    For what has no effect before it is done, as imports: nothing is cleaned up.
    """

    def __init__(self, program: str) -> None:
        self._program = program
        self._ours = False

    def __enter__(self) -> None:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            try:
                signal.signal(signal.SIGINT, lambda *_: _end(self._program))
            except ValueError:  # not in the main thread, where no Ctrl-C arrives
                return
            self._ours = True

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def main() -> int:
    """Runs whichever installed subcommand is asked for; its exit code."""
    try:
        with Importing("toolsurface"):
            from surface.adapters.command_line import main as run  # noqa: PLC0415 - see the head of this file
        return run()
    except KeyboardInterrupt:  # between the two
        _end("toolsurface")


def _end(program: str) -> NoReturn:
    try:
        os.write(2, f"{program}: interrupted\n".encode())
    finally:  # also where nobody listens
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
