"""The demo's result as one JSON object: the same facts that the table shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from demo.child import ChildFailedError
from demo.events import Handled, Prepared
from demo.facts import Facts, Run
from demo.points import Point
from demo.steps import ShownStep, steps_of


def result(facts: Facts, points: Sequence[Point]) -> dict[str, Any]:
    """Everything that was observed and judged."""
    return {
        "ok": all(point.held for point in points),
        "points": [
            {
                "point": point.number,
                "title": point.title,
                "held": point.held,
                "shown": point.shown,
                "broken": list(point.broken),
            }
            for point in points
        ],
        "catalog": {
            "services": facts.exported.services,
            "surfaces": {
                key: {"tools": len(tools), "schema_bytes": sum(tools.values())}
                for key, tools in facts.exported.tools.items()
            },
        },
        "index": {
            "release": facts.deployed.release,
            "fresh": not facts.deployed.unchanged,
            "embedded": facts.deployed.embedded,
            "versions": dict(facts.deployed.versions),
        },
        "runs": [_run(facts, run) for run in facts.runs],
        "seconds": _rounded(facts.seconds),
    }


def failure(error: ChildFailedError) -> dict[str, Any]:
    """The result of a demo that could not be told to its end."""
    return {
        "ok": False,
        "points": [],
        "failure": {"process": error.child, "what": str(error), "advice": error.advice, "log": list(error.tail)},
    }


def _run(facts: Facts, run: Run) -> dict[str, Any]:
    tools = facts.exported.tools[run.script.surface]
    return {
        "run_id": run.script.run_id,
        "surface": run.script.surface,
        "tools": len(tools),
        "schema_bytes": sum(tools.values()),
        "processes": [
            {"exit_status": process.exit_status, "messages": len(process.messages)} for process in run.processes
        ],
        "handler_runs": [event.call_id for process in run.processes for event in process.all(Handled)],
        "steps": [_step(step) for step in steps_of(run)],
        "other_runs": _other_runs(run),
    }


def _step(step: ShownStep) -> dict[str, Any]:
    return {
        "step": step.prepared.step,
        "restarted": step.restarted,
        "advertised": list(step.prepared.advertised),
        "selected": list(step.prepared.selected),
        "pins": list(step.prepared.pins),
        "source": step.prepared.source,
        "schema_bytes": step.prepared.schema_bytes,
        "calls": [
            {
                "id": call.written.id,
                "tool": call.written.tool,
                "arguments": call.written.arguments,
                "outcome": call.outcome,
                "said": call.said,
                "failed": call.failed,
                "request": call.request,
                "answered_after_restart": call.after_restart,
                "search": None
                if call.search is None
                else {
                    "status": call.search.status,
                    "selected": list(call.selected),
                    "ranker": call.search.ranker,
                    "index_version": call.search.index_version,
                    "degraded": call.search.degraded,
                    "milliseconds": round(call.search.seconds * 1000, 2),
                },
            }
            for call in step.calls
        ],
    }


def _other_runs(run: Run) -> list[dict[str, Any]]:
    others: Iterable[Prepared] = (
        step for process in run.processes for step in process.all(Prepared) if step.run_id != run.script.run_id
    )
    return [{"run_id": step.run_id, "advertised": list(step.advertised)} for step in others]


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {stage: round(spent, 2) for stage, spent in seconds.items()}
