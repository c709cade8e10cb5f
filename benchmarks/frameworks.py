"""What deferral adds to a step of a framework's own loop, with the same active tools, in one run.

    python -m benchmarks.frameworks [--json] [--messages N] [FRAMEWORK …]

A step is one request to a scripted model and the one call that answers it, at the end of a history of 100 messages (or
N), one in ten of them a receipt. *Alone* the framework has the active tools and nothing else; *deferred* it has all 500
behind a surface. Runs of the two alternate in one process, and each figure is a median over rounds of processor time,
because nothing here waits for anything: their difference travels better than either.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from importlib import import_module
from statistics import median
from typing import Any

TOOLS = 500
MESSAGES = 100
STEPS = 10
ROUNDS = 15
FRAMEWORKS = {
    "pydantic-ai": "benchmarks.frameworks_pydantic_ai",
    "langchain": "benchmarks.frameworks_langchain",
    "langchain-sqlite": "benchmarks.frameworks_langgraph",
}
"""By extra, and what keeps its runs: whose `prepare(tools, messages, steps)` gives two runs, alone and deferred, in
seconds."""

Run = Callable[[], Awaitable[float]]
"""Takes its steps once and says how many seconds of processor time they took."""


async def measure(framework: str, messages: int = MESSAGES) -> dict[str, Any]:
    """One row of the table."""
    alone, deferred = await import_module(FRAMEWORKS[framework]).prepare(TOOLS, messages, STEPS)
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 1):
        pair = [await alone(), await deferred()]
        if number:  # the first round warms up
            taken[0].append(pair[0])
            taken[1].append(pair[1])
    alone_ms, deferred_ms = (median(seconds) * 1_000 / STEPS for seconds in taken)
    added = median(after - before for before, after in zip(*taken, strict=True)) * 1_000 / STEPS
    return {
        "framework": framework,
        "tools": TOOLS,
        "messages": messages,
        "alone_ms": round(alone_ms, 2),
        "deferred_ms": round(deferred_ms, 2),
        "added_ms": round(added, 2),
    }


def main() -> None:
    """Prints the table and one JSON line, or the line alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frameworks", description=__doc__)
    parser.add_argument(
        "frameworks", nargs="*", metavar="FRAMEWORK", help=f"which (default: all): {', '.join(FRAMEWORKS)}"
    )
    parser.add_argument("--messages", type=int, default=MESSAGES, help=f"of the history (default: {MESSAGES})")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.frameworks) - FRAMEWORKS.keys())
    if unknown:
        parser.error(f"no framework {', '.join(unknown)}; there are {', '.join(FRAMEWORKS)}")
    rows = [asyncio.run(measure(name, arguments.messages)) for name in arguments.frameworks or FRAMEWORKS]
    if not arguments.json:
        print("| framework | tools | messages | alone ms | deferred ms | added ms |\n|---|--:|--:|--:|--:|--:|")
        for row in rows:
            print("| {framework} | {tools} | {messages} | {alone_ms} | {deferred_ms} | {added_ms} |".format(**row))
        print()
    print(json.dumps({"benchmark": "frameworks", "rows": rows}))


if __name__ == "__main__":
    main()
