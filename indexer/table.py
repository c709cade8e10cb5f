"""Words and columns that every report shares. Pure text."""

from __future__ import annotations

from collections.abc import Sequence

_SHORT = 12
"""Digits of a digest that a person compares."""


def table(rows: Sequence[tuple[str, ...]], *, numbers: tuple[int, ...] = (1,)) -> list[str]:
    """Indented columns; those in `numbers` stand to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.rjust(widths[at]) if at in numbers else cell.ljust(widths[at]) for at, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def counted(count: int, one: str) -> str:
    """``1 tool``, ``2,000 tools``."""
    return f"1 {one}" if count == 1 else f"{count:,} {one}s"


def short(digest: str | None) -> str:
    """The beginning of a digest; a name that is not one stays whole."""
    if digest is None:
        return "none"
    return digest if len(digest) <= 2 * _SHORT else digest[:_SHORT]


def weighed(size: int) -> str:
    """Bytes as a person reads them."""
    for unit, bytes_ in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_:
            return f"{size / bytes_:,.1f} {unit}"
    return f"{size} B"
