"""Gives free memory of this process back to the system, where the C library can: glibc keeps it otherwise."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def trim() -> None:
    """Takes some milliseconds for some hundred megabytes; does nothing where there is nothing to call."""
    with suppress(OSError, AttributeError, TypeError):  # other C libraries and systems
        ctypes.CDLL(None).malloc_trim(0)
