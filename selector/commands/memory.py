"""`--memory` and `--keep-replaced`: how much of it open indexes may take, and a replaced one for how long."""

from __future__ import annotations

import argparse
import re
from typing import Final

from indexer.commands.numbers import number
from selector.library import KEEP_REPLACED_S

_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_MOST: Final = 2**50
_SIZE: Final = re.compile(r"([0-9]{1,12})\s*([kmg]i?)?b?", re.IGNORECASE)


def add_memory(parser: argparse._ActionsContainer) -> None:
    """The options, the same for every command that serves."""
    parser.add_argument(
        "--memory",
        type=size,
        metavar="BYTES",
        help="what open indexes may weigh together, as 800MB or 2GiB; the one that was asked least recently makes room "
        "and is loaded again when it is asked (default: no bound). The process takes about 200 MB besides, and while a "
        "version is loaded its files once more",
    )
    parser.add_argument(
        "--keep-replaced",
        type=number(0, 86_400, of="seconds"),
        default=KEEP_REPLACED_S,
        metavar="SECONDS",
        help="that a version which a deploy has replaced stays in memory when no agent of the deploy before asks it; "
        "asked later, it is loaded again (default: %(default)g)",
    )


def size(text: str) -> int:
    """A number of bytes, with a unit or without."""
    found = _SIZE.fullmatch(text.strip())
    wanted = int(found[1]) * _UNITS[(found[2] or "").lower()] if found is not None else 0
    if not 1 <= wanted <= _MOST:
        raise argparse.ArgumentTypeError("needs a size such as 800MB or 2GiB, from 1 byte to 1048576GiB")
    return wanted
