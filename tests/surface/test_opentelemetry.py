"""Evidence as spans and metrics, read back through the SDK's own in-memory exporters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Metric
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from surface import Limits, Surface, ToolError, create_deferred_agent_tool_surface, tool
from surface.adapters import telemetry_names as names
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.opentelemetry import TelemetryObserver
from surface.evidence import CallEvidence, Evidence, SearchEvidence, StepEvidence
from surface.testing import OpenAIChatVoice, ScriptedCall, ScriptedModel, ScriptedRanker

MARKER = "zyzzyva"

SEARCH = SearchEvidence(
    application="shop",
    surface="reader",
    run_id="run-1",
    status="NO_MATCH",
    reason="abstained",
    ranker="remote",
    index_version="v7",
    degraded="timeout",
    ranked=9,
    rejected=2,
    skipped=1,
    selected=0,
    result_bytes=321,
    limits=Limits(),
    seconds=0.25,
)
STEP = StepEvidence(
    application="shop",
    surface="reader",
    run_id="run-1",
    catalog=500,
    base=3,
    pinned=1,
    selected=4,
    active=8,
    evicted=2,
    ignored={"stale": 3, "forged": 1},
    source="current",
    schema_bytes=4_000,
    catalog_schema_bytes=200_000,
    limits=Limits(),
    seconds=0.5,
)
CALL = CallEvidence(
    application="shop", surface="reader", run_id="run-1", tool="list_invoices", outcome="ok", seconds=2.0
)


@dataclass
class Telemetry:
    """An observer on SDK providers of its own, and what they exported."""

    spans_out: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    metrics_out: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)

    def __post_init__(self) -> None:
        self.tracing = TracerProvider(shutdown_on_exit=False)
        self.tracing.add_span_processor(SimpleSpanProcessor(self.spans_out))
        metering = MeterProvider(metric_readers=[self.metrics_out], shutdown_on_exit=False)
        self.observer = TelemetryObserver(self.tracing, metering)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.spans_out.get_finished_spans()

    @property
    def metrics(self) -> dict[str, Metric]:
        data = self.metrics_out.get_metrics_data()
        return {
            metric.name: metric
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> list[Any]:
        return list(self.metrics[name].data.data_points)

    def everything(self) -> str:
        data = self.metrics_out.get_metrics_data()
        return json.dumps([span.to_json() for span in self.spans] + [data.to_json() if data is not None else ""])


def recorded(*events: Evidence) -> Telemetry:
    telemetry = Telemetry()
    for event in events:
        telemetry.observer(event)
    return telemetry


def the_span(*events: Evidence) -> ReadableSpan:
    (span,) = recorded(*events).spans
    return span


@pytest.mark.rule("EVD-1")
def test_a_search_is_a_span_with_its_provenance_counts_and_ceilings() -> None:
    span = the_span(SEARCH)
    assert span.name == names.SPAN_SEARCH
    assert dict(span.attributes or {}) == {
        names.APPLICATION: "shop",
        names.SURFACE: "reader",
        names.RUN_ID: "run-1",
        names.OPERATION: "retrieval",
        names.STATUS: "NO_MATCH",
        names.REASON: "abstained",
        names.RANKER: "remote",
        names.DEGRADED: "timeout",
        names.INDEX_VERSION: "v7",
        names.RANKED: 9,
        names.REJECTED: 2,
        names.SKIPPED: 1,
        names.SELECTED: 0,
        names.RESULT_BYTES: 321,
        names.MAX_QUERY_BYTES: 2_000,
        names.MAX_RESULTS: 5,
        names.MAX_RESULT_BYTES: 8_192,
    }


@pytest.mark.rule("EVD-1")
def test_a_step_is_a_span_with_its_counts_bytes_and_ceilings() -> None:
    span = the_span(STEP)
    assert span.name == names.SPAN_STEP
    assert dict(span.attributes or {}) == {
        names.APPLICATION: "shop",
        names.SURFACE: "reader",
        names.RUN_ID: "run-1",
        names.SOURCE: "current",
        names.CATALOG: 500,
        names.BASE: 3,
        names.PINNED: 1,
        names.SELECTED: 4,
        names.ACTIVE: 8,
        names.EVICTED: 2,
        names.SCHEMA_BYTES: 4_000,
        names.CATALOG_BYTES: 200_000,
        names.MAX_SELECTED: 8,
        names.MAX_ACTIVE: 24,
        names.MAX_SCHEMA_BYTES: 65_536,
    }


@pytest.mark.rule("EVD-1")
def test_a_call_is_a_span_named_as_the_conventions_for_generative_ai_name_it() -> None:
    span = the_span(CALL)
    assert span.name == "execute_tool list_invoices"
    assert dict(span.attributes or {}) == {
        names.APPLICATION: "shop",
        names.SURFACE: "reader",
        names.RUN_ID: "run-1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "list_invoices",
        names.OUTCOME: "ok",
    }


def test_what_an_event_does_not_have_is_no_attribute() -> None:
    span = the_span(replace(SEARCH, reason=None, index_version=None, degraded=None))
    assert not {names.REASON, names.INDEX_VERSION, names.DEGRADED} & set(span.attributes or {})
    assert names.TOOL not in (the_span(replace(CALL, tool=None)).attributes or {})


@pytest.mark.rule("EVD-1")
@pytest.mark.parametrize("event", [SEARCH, STEP, CALL])
def test_another_value_in_any_field_of_an_event_is_another_span(event: Evidence) -> None:
    for each in fields(event):
        value = getattr(event, each.name)
        other: Any = value + 1 if isinstance(value, int) else "other"
        if each.name not in ("limits", "seconds", "ignored"):
            assert the_span(replace(event, **{each.name: other})).attributes != the_span(event).attributes, each.name


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("ok", StatusCode.UNSET),
        ("VALIDATION_ERROR", StatusCode.ERROR),
        ("INTERNAL", StatusCode.ERROR),
        ("NOT_FOUND", StatusCode.ERROR),
        ("UNKNOWN_TOOL", StatusCode.ERROR),
        ("INACTIVE", StatusCode.UNSET),
    ],
)
def test_a_call_that_failed_marks_its_span_without_a_description(outcome: str, status: StatusCode) -> None:
    span = the_span(replace(CALL, outcome=outcome))
    assert span.status.status_code is status
    assert span.status.description is None
    assert not span.events


def test_a_span_lasts_as_long_as_the_work_did() -> None:
    for event in (SEARCH, STEP, CALL):
        span = the_span(event)
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.end_time - span.start_time == int(event.seconds * 1e9)


def test_a_span_joins_the_trace_that_is_current() -> None:
    telemetry = Telemetry()
    with telemetry.tracing.get_tracer("test").start_as_current_span("parent") as parent:
        telemetry.observer(CALL)
    child = telemetry.spans[0]
    assert child.parent is not None
    assert child.parent.span_id == parent.get_span_context().span_id


def test_metrics_have_the_names_and_units_of_the_one_module() -> None:
    metrics = recorded(SEARCH, STEP, CALL).metrics
    assert {name: metric.unit for name, metric in metrics.items()} == {
        names.METRIC_SEARCH_SECONDS: "s",
        names.METRIC_CALL_SECONDS: "s",
        names.METRIC_STEP_BYTES: "By",
        names.METRIC_STEP_ACTIVE: "{tool}",
        names.METRIC_IGNORED: "{receipt}",
    }
    assert all(metric.description for metric in metrics.values())


def test_metrics_count_what_the_events_say() -> None:
    telemetry = recorded(SEARCH, STEP, STEP, CALL, replace(CALL, outcome="INTERNAL"))
    assert [point.sum for point in telemetry.points(names.METRIC_SEARCH_SECONDS)] == [0.25]
    assert [(point.count, point.sum) for point in telemetry.points(names.METRIC_STEP_BYTES)] == [(2, 8_000)]
    assert [(point.count, point.sum) for point in telemetry.points(names.METRIC_STEP_ACTIVE)] == [(2, 16)]
    by_reason = {
        point.attributes[names.IGNORED_REASON]: point.value for point in telemetry.points(names.METRIC_IGNORED)
    }
    assert by_reason == {"stale": 6, "forged": 2}
    by_outcome = {point.attributes[names.OUTCOME]: point.count for point in telemetry.points(names.METRIC_CALL_SECONDS)}
    assert by_outcome == {"ok": 1, "INTERNAL": 1}


def test_no_metric_is_labelled_with_what_has_too_many_values() -> None:
    telemetry = recorded(SEARCH, STEP, CALL)
    labels = {
        label
        for metric in telemetry.metrics.values()
        for point in metric.data.data_points
        for label in point.attributes or {}
    }
    assert not labels & {names.RUN_ID, names.TOOL, names.INDEX_VERSION}
    assert labels == {
        names.APPLICATION,
        names.SURFACE,
        names.STATUS,
        names.REASON,
        names.RANKER,
        names.DEGRADED,
        names.OUTCOME,
        names.IGNORED_REASON,
    }


def test_every_name_is_another_one() -> None:
    given = {name: value for name, value in vars(names).items() if name.isupper()}
    attributes = [value for name, value in given.items() if not name.startswith(("SPAN_", "METRIC_", "SCOPE"))]
    assert len(set(attributes)) == len(attributes)
    assert all(value.startswith(("toolsurface", "gen_ai.", "execute_tool")) for value in given.values())


def test_without_a_provider_it_does_nothing_and_does_not_fail() -> None:
    observer = TelemetryObserver()
    for event in (SEARCH, STEP, CALL):
        observer(event)
    assert not trace.get_current_span().is_recording()


@pytest.mark.rule("EVD-1", "EVD-2")
async def test_a_whole_run_leaves_its_spans_and_no_content_in_any_of_them() -> None:
    @tool(description=f"Lists {MARKER} invoices.")
    def list_invoices(note: str) -> str:
        raise ToolError("NOT_FOUND", MARKER, MARKER)

    telemetry = Telemetry()
    controller = create_deferred_agent_tool_surface(
        application="shop",
        surfaces=[Surface(key="reader", tools=[list_invoices])],
        dialect=OPENAI_CHAT,
        ranker=ScriptedRanker(answers={MARKER: ["list_invoices"]}),
        observer=telemetry.observer,
    )
    run = controller.mount(run_id="run-1", surface="reader", context={"secret": MARKER})
    voice = OpenAIChatVoice()
    model = ScriptedModel(
        voice,
        [
            [ScriptedCall("search_tools", {"query": MARKER}), ScriptedCall(MARKER, {MARKER: MARKER})],
            [ScriptedCall("list_invoices", {"note": MARKER}), ScriptedCall("list_invoices", {MARKER: MARKER})],
        ],
    )
    messages = voice.asks(MARKER)
    while not model.done:
        messages += model.reply((await run.prepare_step(messages)).names)
        messages += await run.dispatch(messages)
    spans = [span.name.partition(" ")[0] for span in telemetry.spans]
    assert sorted(spans) == sorted(
        [names.SPAN_STEP] * 2 + [names.SPAN_SEARCH] + [names.SPAN_CALL] * 4  # the search is a dispatched call too
    )
    assert MARKER not in telemetry.everything()
    assert MARKER in json.dumps(messages)
