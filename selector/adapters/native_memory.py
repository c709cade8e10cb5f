"""Gives free memory of this process back to the system, where the C library can: glibc keeps it otherwise."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Final

LARGE: Final = 2**20
"""Bytes from which an array goes back once it is let go of: scores of 100,000 tools do, those of 20,000 rarely."""
KEPT: Final = 2**22
"""Bytes that each thread's memory keeps for the next query."""
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3


def give_back_large() -> None:
    """Has the C library keep no large array that was let go of; left alone, it keeps more the larger they were.

    Fetching memory anew takes about 0.3 ms for each MB: where 1 MB was kept, each query of 20,000 tools did so, for a
    twentieth of its time. Does nothing where there is nothing to call.
    """
    with suppress(OSError, AttributeError, TypeError):  # other C libraries and systems
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, LARGE)
        library.mallopt(_TRIM_THRESHOLD, KEPT)


def trim() -> None:
    """Takes some milliseconds for some hundred megabytes; does nothing where there is nothing to call."""
    with suppress(OSError, AttributeError, TypeError):  # other C libraries and systems
        ctypes.CDLL(None).malloc_trim(0)
