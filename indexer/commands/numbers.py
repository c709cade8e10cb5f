"""Arguments that are numbers: what is no such number is told which ones are taken."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Final

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a whole number, in digits, from `least` to `most`."""

    def read(text: str) -> int:
        if _WHOLE.fullmatch(text) is None or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"needs a whole number from {least} to {most}")
        return int(text)

    return read


def number(least: float, most: float, *, of: str = "") -> Callable[[str], float]:
    """Reads a number from `least` to `most`; `of` names its unit."""

    def read(text: str) -> float:
        if _NUMBER.fullmatch(text) is None or not least <= float(text) <= most:
            raise argparse.ArgumentTypeError(f"needs a number{of and f' of {of}'} from {least:.15g} to {most:.15g}")
        return float(text)

    return read


several = whole(1, 1_000_000)
"""How many of something."""

cores = whole(1, 256)
"""How many threads; each takes a core."""
