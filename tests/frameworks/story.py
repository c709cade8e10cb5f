"""One story for every framework: 500 tools, three phases of work, a model that searches badly, a redeploy between.

    account = await tell(harness)                      # on any `surface.testing.Harness`
    assert account.evidence == reference.evidence      # the same for every adapter

The raw Anthropic dialect tells the reference. What a framework shows beside that (the text around a receipt, the order
in which parallel calls end) is its own affair and is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from surface import Limits, Tool
from surface.evidence import Evidence
from surface.search_tool import DEFAULT_NAME as SEARCH
from surface.testing import Harness, Scenario, ScriptedCall, Session
from tests.frameworks.catalog import (
    EDITED,
    MONDAY,
    REMOVED,
    SURFACE,
    TUESDAY,
    Operation,
    World,
    library_tool,
    surfaces,
)

RUN_ID = "request-42"
LIMITS = Limits(max_results=5, max_selected_tools=8, max_active_tools=14, max_schema_bytes=49_152)
Turn = Sequence[ScriptedCall]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What the model does between two restarts."""

    deploy: str
    pins: Sequence[str]
    turns: Sequence[Turn]
    left: Turn = ()
    """Calls of a last turn that nobody answers: the process ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What came of a telling."""

    advertised: list[tuple[str, ...]] = field(default_factory=list)
    """The names of every step."""
    evidence: list[list[dict[str, Any]]] = field(default_factory=list)
    """The events of every move without their durations; those of one move in an order of their own."""
    done: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Every handler that ran with its arguments; those of one move, which may run at once, in an order of their own."""


def search(query: str) -> ScriptedCall:
    """A call of the search tool."""
    return ScriptedCall(SEARCH, {"query": query})


_STOP = ScriptedCall(EDITED, {"task": "nightly-report"})
_DELETE = ScriptedCall(REMOVED, {"FunctionName": "thumbnails"})
_ALARMS = ScriptedCall("cloudwatch_describe_alarms")
_SILENCE = ScriptedCall(
    "cloudwatch_set_alarm_state", {"AlarmName": "disk", "StateValue": "OK", "StateReason": "It is being looked after."}
)
_DAILY = ("cloudwatch_describe_alarms", "cloudwatch_set_alarm_state")

STORAGE = Phase(
    deploy=MONDAY,
    pins=["s3_list_buckets"],
    turns=[
        [ScriptedCall("s3_list_buckets"), search("which of my buckets are public?")],
        [ScriptedCall("s3_get_bucket_policy_status", {"Bucket": "holiday-photos"})],
        # A name that sounds right, one that never was, and one that nobody searched for.
        [
            ScriptedCall("s3_make_bucket_private", {"Bucket": "holiday-photos"}),
            ScriptedCall("do_it"),
            ScriptedCall("s3_get_bucket_location", {"Bucket": "holiday-photos"}),
        ],
        [ScriptedCall("s3_get_bucket_location", {"Bucket": "holiday-photos"})],
        [search("the weather in Paris tomorrow")],
        [search("block public access of a bucket")],
        [
            ScriptedCall(
                "s3_put_public_access_block", {"Bucket": "holiday-photos", "PublicAccessBlockConfiguration": {}}
            )
        ],
    ],
)
COMPUTE = Phase(
    deploy=MONDAY,
    pins=["s3_list_buckets", *_DAILY],
    turns=[
        # All at once: a blank search, one with a made-up field, one that is far too long, and three that are good.
        [
            search("  "),
            ScriptedCall(SEARCH, {"query": "tasks", "limit": 50}),
            search("stop " * 1_000),
            search("stop a running container task"),
            search("delete a function nobody uses"),
            search("purge a queue"),
        ],
        [_STOP, ScriptedCall("sts_get_caller_identity"), _ALARMS],
        [_DELETE, search("please do something useful")],
        [ScriptedCall("sqs_list_queues"), ScriptedCall("s3_put_public_access_block", {"Bucket": "x"})],
        [search("stop a running container task"), search("delete a function nobody uses")],
    ],
    left=[_STOP, _SILENCE, _ALARMS, search("dead letters in a queue"), ScriptedCall("ecs_list_clusters")],
)
AFTERWARDS = Phase(
    deploy=TUESDAY,
    pins=_DAILY,
    turns=[
        # What was selected on Monday was edited or is gone.
        [_STOP, _DELETE],
        [_STOP],
        [search("list the queues with dead letters"), search("capacity of a table"), search("lists of clusters")],
        [ScriptedCall("sqs_list_dead_letter_source_queues", {"QueueUrl": "https://sqs/orders"}), _ALARMS],
        [search("hello there")],
        [ScriptedCall("lambda_invoke", {"FunctionName": "report"})],
        [ScriptedCall("lambda_invoke", {"FunctionName": "report"}), ScriptedCall("lambda_invoke")],
        [],
    ],
)
PHASES = (STORAGE, COMPUTE, AFTERWARDS)


async def tell(harness: Harness, made: Callable[[Operation], Tool] = library_tool) -> Account:
    """The whole story on one adapter; every phase opens the run anew from its stored history."""
    world = World()
    account = Account()
    events: list[Evidence] = []
    history: str | None = None
    for phase in PHASES:
        scenario = Scenario(
            application="story",
            surfaces=surfaces(world, phase.deploy, made),
            limits=LIMITS,
            observer=events.append,
        )
        session = harness.open(scenario, run_id=RUN_ID, surface=SURFACE, history=history, pins=phase.pins)
        await _play(session, phase, restarted=history is not None, account=account, events=events, done=world.done)
        history = session.history()
    return account


async def _play(
    session: Session,
    phase: Phase,
    *,
    restarted: bool,
    account: Account,
    events: list[Evidence],
    done: list[tuple[str, Mapping[str, Any]]],
) -> None:
    def turn_page() -> None:
        account.evidence.append(sorted((_timeless(event) for event in events), key=repr))
        account.done.extend(sorted(done, key=repr))
        events.clear()
        done.clear()

    if restarted:
        await session.resume()
        turn_page()
    for turn in phase.turns:
        record = await session.step(turn)
        assert len(record.answers) == len(turn)
        account.advertised.append(record.advertised)
        turn_page()
    if phase.left:
        await session.interrupted_step(phase.left)
        turn_page()


def _timeless(event: Evidence) -> dict[str, Any]:
    return {"event": type(event).__name__, **asdict(event), "seconds": None}
