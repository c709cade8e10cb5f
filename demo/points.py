"""The six points of the demo, each checked by comparing values that were observed with values that must be.

A point holds if none of its claims is broken. What must be is taken from the scripts, the exported catalog, the deploy
and the rules of the specification; what was observed comes from `demo.facts`.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from demo.application import ALWAYS_ON, OPERATOR, PIN_OF, READER
from demo.events import Handled, Prepared, Searched
from demo.facts import Facts, Process, Run, handled
from demo.jobs import BUCKET, INACTIVE_TOOL, OPERATORS_TOOL, SEARCH_TOOL
from demo.script import Script
from demo.story import OTHER_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One of the six, judged."""

    number: int
    title: str
    shown: str
    """What was seen, in one sentence."""
    broken: tuple[str, ...]
    """The claims that did not hold."""

    @property
    def held(self) -> bool:
        """Whether every claim held."""
        return not self.broken


@dataclass(slots=True)
class _Claims:
    """Collects the claims of one point that do not hold."""

    broken: list[str] = field(default_factory=list)

    def equal(self, what: str, observed: object, expected: object) -> None:
        """Claims that something is exactly as it must be."""
        if observed != expected:
            self.broken.append(f"{what}: {observed!r} where {expected!r} is right")

    def true(self, what: str, observed: object) -> None:
        """Claims that something is so."""
        if not observed:
            self.broken.append(f"not so: {what}")


def judge(facts: Facts) -> tuple[Point, ...]:
    """All six points."""
    points = []
    for number, (title, check) in enumerate(_CHECKS, start=1):
        claims = _Claims()
        try:
            shown = check(facts, claims)
        except (IndexError, KeyError, TypeError, ValueError) as error:
            # A value that the check needs was never observed: that is a broken claim too.
            shown = "what this point needs was not observed"
            claims.broken.append(f"{type(error).__name__}: {error}")
        points.append(Point(number=number, title=title, shown=shown, broken=tuple(claims.broken)))
    return tuple(points)


def base_set(script: Script) -> tuple[str, ...]:
    """What a first step must advertise, and nothing else."""
    return (SEARCH_TOOL, *ALWAYS_ON, PIN_OF[script.desk])


def _first_step(facts: Facts, claims: _Claims) -> str:
    for run in facts.runs:
        first = run.steps[0]
        claims.equal(f"{run.script.run_id}: number of the first step", first.step, 1)
        claims.equal(f"{run.script.run_id}: advertised in step 1", first.advertised, base_set(run.script))
        claims.equal(f"{run.script.run_id}: source of the selection in step 1", first.source, "none")
    first = facts.audit.steps[0]
    tools = len(facts.exported.tools[READER])
    return f"{len(first.advertised)} of {tools:,} tools: {', '.join(first.advertised)}"


def _search(facts: Facts, claims: _Claims) -> str:
    claims.equal("index versions that the selector serves", facts.served, facts.deployed.versions)
    for run in facts.runs:
        name, surface = run.script.run_id, run.script.surface
        receipt = run.receipt("search")
        claims.true(f"{name}: the search is answered by a receipt", receipt)
        if receipt is None:
            continue
        claims.equal(f"{name}: status", receipt.status, "SELECTED")
        claims.equal(f"{name}: run of the receipt", receipt.run_id, name)
        claims.equal(f"{name}: surface of the receipt", receipt.surface, surface)
        claims.equal(f"{name}: ranker", receipt.provenance.ranker, "selector")
        # The agent never saw the store: it can know this version from the selector's answer only.
        claims.equal(f"{name}: index version", receipt.provenance.index_version, facts.deployed.versions[surface])
        claims.equal(f"{name}: degraded", receipt.provenance.degraded, None)
        foreign = [tool for tool in receipt.selected if tool not in facts.exported.tools[surface]]
        claims.equal(f"{name}: selected tools that the surface has not", foreign, [])
    audit = facts.audit
    selected = (receipt.selected if (receipt := audit.receipt("search")) else ()) or ("nothing",)
    milliseconds = audit.searches[0].seconds * 1000
    return f'"{audit.script.query("search")}" gave {selected[0]} first, in {milliseconds:.0f} ms over HTTP'


def _direct_call(facts: Facts, claims: _Claims) -> str:
    run = facts.audit
    first, second = run.steps[:2]
    selected = receipt.selected if (receipt := run.receipt("search")) else ()
    search, *always_on, pin = base_set(run.script)
    advertised = tuple(dict.fromkeys((search, *always_on, *selected, pin)))
    claims.equal("advertised in step 2", second.advertised, advertised)
    weights = facts.exported.tools[READER]
    added = sum(weights[name] for name in second.advertised if name not in first.advertised)
    claims.equal("schema bytes that step 2 adds", second.schema_bytes - first.schema_bytes, added)
    claims.equal("the wrong call", _error_code(run.text("rejected")), "VALIDATION_ERROR")
    claims.equal("handler runs of the wrong call", _handler_runs(run, "rejected"), [])
    runs = _handler_runs(run, "direct")
    claims.equal("handler runs of the right call", len(runs), 1)
    request = runs[0].request
    for part, expected in {"method": "GET", "path": f"/{BUCKET}", "query": "policyStatus"}.items():
        claims.equal(f"{part} of the request", request[part], expected)
    claims.equal("what the model reads of the call", json.loads(run.text("direct")), request)
    return f"{runs[0].tool} would send {request_line(request)}; with a wrong field it is VALIDATION_ERROR"


def _gate(facts: Facts, claims: _Claims) -> str:
    run = facts.audit
    receipt = run.receipt("inactive")
    claims.true("the call of an inactive tool is answered by a receipt", receipt)
    if receipt is not None:
        claims.equal("status of that receipt", receipt.status, "SEARCH_REQUIRED")
        claims.equal("tools of that receipt", receipt.selected, (INACTIVE_TOOL,))
    claims.true("the inactive tool is one of the reader's", INACTIVE_TOOL in facts.exported.tools[READER])
    claims.true("the inactive tool was not advertised", INACTIVE_TOOL not in run.steps[3].advertised)
    claims.true("the inactive tool is advertised one step later", INACTIVE_TOOL in run.steps[4].advertised)
    claims.true("the unknown tool is one of the operator's", OPERATORS_TOOL in facts.exported.tools[OPERATOR])
    claims.true("the unknown tool is none of the reader's", OPERATORS_TOOL not in facts.exported.tools[READER])
    claims.equal("the call of the unknown tool", _error_code(run.text("unknown")), "UNKNOWN_TOOL")
    claims.true("the failure names no tool of the operator", OPERATORS_TOOL not in run.text("unknown"))
    ran = [event.call_id for event in run.killed.all(Handled)]
    claims.equal("handlers that ran", ran, [run.script.call_id(wish) for wish in ("pinned", "direct", "killed")])
    return f"{INACTIVE_TOOL}: SEARCH_REQUIRED; {OPERATORS_TOOL}: UNKNOWN_TOOL; no handler ran for either"


def _restart(facts: Facts, claims: _Claims) -> str:
    for run in facts.runs:
        name, call_id = run.script.run_id, run.script.call_id("killed")
        before, after = run.killed.steps(name)[-1], run.restarted.steps(name)[0]
        claims.equal(f"{name}: exit status of the killed process", run.killed.exit_status, -signal.SIGKILL)
        claims.equal(f"{name}: unanswered on disk", _unanswered(run.killed), [call_id])
        claims.equal(f"{name}: advertised after the restart", after.advertised, before.advertised)
        claims.equal(f"{name}: digest of the tools list after the restart", after.tools_digest, before.tools_digest)
        kept, found = len(run.killed.messages), run.restarted.messages[: len(run.killed.messages)]
        claims.equal(f"{name}: messages kept ({kept})", found, run.killed.messages)
    audit, cleanup = facts.audit, facts.cleanup
    claims.equal("audit: searches after the restart", audit.restarted.all(Searched), [])
    again = handled(audit.restarted, audit.script.call_id("killed"))
    once = handled(audit.killed, audit.script.call_id("killed"))
    claims.equal(
        "audit: requests of the read-only call, before and after",
        [event.request for event in again],
        [event.request for event in once],
    )
    claims.equal("cleanup: the call that may have run", _error_code(cleanup.text("killed")), "INTERRUPTED")
    claims.equal(
        "cleanup: handler runs after the restart", handled(cleanup.restarted, cleanup.script.call_id("killed")), []
    )
    other: Prepared = audit.restarted.steps(OTHER_RUN)[0]
    claims.equal("another run on the same transcript", other.advertised, base_set(audit.script))
    claims.equal("selection of the other run", other.selected, ())
    shared = len(audit.killed.steps(audit.script.run_id)[-1].advertised)
    return f"the same {shared} tools after SIGKILL without a search; another run id: {len(other.advertised)} tools"


def _without_selector(facts: Facts, claims: _Claims) -> str:
    run = facts.cleanup
    receipt = run.receipt("late")
    claims.true("nobody takes connections at the selector's address", facts.address_closed)
    claims.true("the search is answered by a receipt", receipt)
    searches = run.restarted.all(Searched)
    claims.equal("searches after the selector was stopped", len(searches), 1)
    if receipt is not None:
        claims.equal("status", receipt.status, "SELECTED")
        claims.equal("ranker", receipt.provenance.ranker, "lexical")
        claims.equal("degraded", receipt.provenance.degraded, "unreachable")
        claims.equal("degraded, as the evidence says", searches[0].degraded, receipt.provenance.degraded)
        last = run.steps[-1]
        missing = [tool for tool in receipt.selected if tool not in last.advertised]
        claims.equal("selected tools that the next step does not advertise", missing, [])
    claims.equal("exit status of the run", run.restarted.exit_status, 0)
    first = receipt.selected[0] if receipt is not None and receipt.selected else "nothing"
    milliseconds = searches[0].seconds * 1000
    return f'"{run.script.query("late")}" gave {first} in {milliseconds:.0f} ms, degraded: {searches[0].degraded}'


_CHECKS: tuple[tuple[str, Callable[[Facts, _Claims], str]], ...] = (
    ("Step 1 advertises the search tool, always-on tools and pins, nothing else", _first_step),
    ("A search goes over HTTP to the selector and comes back as a receipt", _search),
    ("What was found is called directly: its own input model, its own handler", _direct_call),
    ("Inactive: SEARCH_REQUIRED; another surface's tool: unknown; nothing runs", _gate),
    ("Killed, restarted: same activation, no search; another run id: base set", _restart),
    ("Without the selector a search is answered locally, marked degraded", _without_selector),
)


def request_line(request: dict[str, Any]) -> str:
    """How a request begins, and the operation where that is not in its address: ``POST / Action=ListUsers``."""
    query = f"?{request['query']}" if request["query"] else ""
    first, _, _ = (request["body"] or "").partition("&")
    operation = request["headers"].get("X-Amz-Target") or (first if first.startswith("Action=") else "")
    return f"{request['method']} {request['path']}{query} {operation}".rstrip()


def _error_code(text: str) -> str:
    code: str = json.loads(text)["error"]["code"]
    return code


def _handler_runs(run: Run, wish: str) -> list[Handled]:
    call_id = run.script.call_id(wish)
    return [event for process in run.processes for event in handled(process, call_id)]


def _unanswered(process: Process) -> list[str]:
    """The ids of the calls in the last message on disk, which nobody has answered."""
    last = process.messages[-1]
    return (
        [block["id"] for block in last["content"] if block["type"] == "tool_use"] if last["role"] == "assistant" else []
    )
