"""What one prepared step and one local search cost, by catalog and history; and the floor they stand on.

    python -m benchmarks.step [--json]

The floor of a prepared step is reading its receipts once: parsing the canonical JSON of each and nothing else. Every
cell is the median of several rounds in one process; ratios travel better between machines than milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

from surface import DeferredAgentToolSurface, Surface, Tool, create_deferred_agent_tool_surface, parse_receipt
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.json_schema import JsonSchemaInput
from surface.export import export_catalog

CATALOGS = (100, 1_000, 10_000)
HISTORIES = (10, 100, 1_000, 10_000)
SEARCH_EVERY = 10
"""One message in so many is the receipt of a search; a rather busy run."""
ROUNDS = 7
_VERBS = "list get create update delete archive export restore share move".split()
_NOUNS = "invoice customer order payment refund report ticket message document calendar".split()


def tools(count: int) -> list[Tool]:
    """Synthetic tools of realistic size: a sentence of description and four described parameters."""
    made: list[Tool] = []
    for at in range(count):
        verb, noun = _VERBS[at % 10], _NOUNS[at // 10 % 10]
        schema = {
            "type": "object",
            "properties": {
                f"{noun}_id": {"type": "string", "description": f"Which {noun} to {verb}."},
                "limit": {"type": "integer", "minimum": 1, "description": "The most entries to return."},
                "since": {"type": "string", "format": "date-time", "description": "Only what changed since then."},
                "region": {"type": "string", "enum": ["eu", "us", "ap"], "description": f"Where the {noun} is kept."},
            },
            "required": [f"{noun}_id"],
            "additionalProperties": False,
        }
        made.append(
            Tool(
                name=f"{verb}_{noun}_{at}",
                description=f"{verb.capitalize()}s one {noun} of tenant group {at}, with its history and attachments.",
                input=JsonSchemaInput(schema),
                handler=lambda arguments, _call: arguments,
            )
        )
    return made


def controller(offered: list[Tool]) -> DeferredAgentToolSurface:
    """A surface over these tools, ranking locally."""
    return create_deferred_agent_tool_surface(
        application="bench", surfaces=[Surface(key="all", tools=offered)], dialect=ANTHROPIC_MESSAGES
    )


def history(receipt: str, length: int) -> list[dict[str, Any]]:
    """A conversation of `length` messages; every tenth pair is a search, the others are ordinary calls."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please look after our invoices."}]
    at = 0
    while len(messages) < length:
        at += 1
        searches = at % (SEARCH_EVERY // 2) == 1
        name, text = ("search_tools", receipt) if searches else ("list_invoice_0", '{"entries":[1,2,3]}')
        call = {"type": "tool_use", "id": f"call-{at}", "name": name, "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"call-{at}", "content": [{"type": "text", "text": text}]}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages[: length - (length + 1) % 2]


def milliseconds(work: Callable[[], object], *, repeat: int) -> float:
    """The median over rounds of the mean time of `repeat` runs."""
    rounds: list[float] = []
    work()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(repeat):
            work()
        rounds.append((time.perf_counter() - started) * 1_000 / repeat)
    return median(rounds)


def measure() -> dict[str, Any]:
    """Every cell of both tables."""
    steps: list[dict[str, Any]] = []
    builds: list[dict[str, Any]] = []
    for count in CATALOGS:
        offered = tools(count)
        gc.collect()
        tracemalloc.start()
        controller(offered)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        started = time.perf_counter()
        surface = controller(offered)
        seconds = time.perf_counter() - started
        file_bytes = len(json.dumps(export_catalog(surface.registry)).encode())
        run = surface.mount(run_id="bench", surface="all")
        with asyncio.Runner() as runner:
            asked = {"type": "tool_use", "id": "s", "name": "search_tools", "input": {"query": "refund a payment"}}
            searching = [{"role": "assistant", "content": [asked]}]
            receipt = runner.run(run.dispatch(searching))[0]["content"][0]["content"][0]["text"]
            search_ms = milliseconds(lambda: runner.run(run.dispatch(searching)), repeat=5)  # noqa: B023
            builds.append(
                {
                    "tools": count,
                    "construction_s": round(seconds, 3),
                    "peak_over_file": round(peak / file_bytes, 1),
                    "search_ms": round(search_ms, 2),
                }
            )
            for length in HISTORIES:
                messages = history(receipt, length)
                receipts = [receipt] * sum(_holds(message, receipt) for message in messages)
                repeat = max(1, 2_000 // length)
                step_ms = milliseconds(lambda: runner.run(run.prepare_step(messages)), repeat=repeat)  # noqa: B023
                floor_ms = milliseconds(lambda: [parse_receipt(text) for text in receipts], repeat=repeat)  # noqa: B023
                steps.append(
                    {
                        "tools": count,
                        "messages": length,
                        "receipts": len(receipts),
                        "step_ms": round(step_ms, 3),
                        "floor_ms": round(floor_ms, 3),
                        "ratio": round(step_ms / floor_ms, 1),
                    }
                )
    return {"benchmark": "step", "steps": steps, "builds": builds}


def _holds(message: dict[str, Any], receipt: str) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(
        block["type"] == "tool_result" and block["content"][0]["text"] == receipt for block in content
    )


def main() -> None:
    """Prints the tables and one JSON line, or the line alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step", description=__doc__)
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    arguments = parser.parse_args()
    measured = measure()
    if not arguments.json:
        print("| tools | messages | receipts | prepare_step ms | floor ms | ratio |\n|--:|--:|--:|--:|--:|--:|")
        for row in measured["steps"]:
            print("| {tools:,} | {messages:,} | {receipts:,} | {step_ms} | {floor_ms} | {ratio} |".format(**row))
        print("\n| tools | construction s | peak memory / catalog file | one search ms |\n|--:|--:|--:|--:|")
        for row in measured["builds"]:
            print("| {tools:,} | {construction_s} | {peak_over_file} | {search_ms} |".format(**row))
        print()
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
