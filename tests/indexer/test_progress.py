"""Whoever waits is told how far it is, and not too often."""

from __future__ import annotations

import io
from collections.abc import Iterator

from indexer.adapters.progress import LineProgress, shown_progress


def ticking(*seconds: float) -> Iterator[float]:
    yield from seconds


def said(*calls: tuple[float, str, int, int]) -> list[str]:
    stream = io.StringIO()
    clock = ticking(*(at for at, *_ in calls))
    progress = LineProgress(stream, clock=lambda: next(clock))
    for _, stage, done, total in calls:
        progress(stage, done, total)
    return stream.getvalue().splitlines()


def test_a_long_stage_is_announced_estimated_and_closed() -> None:
    assert said(
        (0, "embedding", 0, 20_000),
        (1, "embedding", 64, 20_000),
        (10, "embedding", 1_000, 20_000),
        (11, "embedding", 1_064, 20_000),
        (100, "embedding", 10_000, 20_000),
        (200, "embedding", 20_000, 20_000),
    ) == [
        "embedding: 20,000 to do",
        "embedding: 1,000 of 20,000, about 3 min left",
        "embedding: 10,000 of 20,000, about 2 min left",
        "embedding: 20,000 done in 3 min",
    ]


def test_a_stage_that_takes_no_time_needs_no_line() -> None:
    assert said((0, "publishing", 0, 2), (0.1, "publishing", 1, 2), (0.2, "publishing", 2, 2)) == []


def test_a_stage_of_nothing_is_fine() -> None:
    assert said((0, "building", 0, 0)) == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_bars() -> None:
    stream = Terminal()
    with shown_progress(stream) as progress:
        progress("embedding", 0, 10)
        progress("embedding", 10, 10)
        progress("building", 1, 1)
    assert "embedding" in stream.getvalue()
    assert "10/10" in stream.getvalue()


def test_a_pipe_gets_lines() -> None:
    stream = io.StringIO()
    with shown_progress(stream) as progress:
        progress("embedding", 0, 500)
    assert stream.getvalue() == "embedding: 500 to do\n"
