"""Evidence as OpenTelemetry spans and metrics (extra ``opentelemetry``).

    create_deferred_agent_tool_surface(…, observer=TelemetryObserver())

Without providers of its own it uses the process's global ones, so it does nothing until an application installs an
SDK. A span is written when its work is over, with the time it took; it joins the trace that is current then.
"""

from __future__ import annotations

import time

try:
    from opentelemetry import metrics, trace
    from opentelemetry.util.types import AttributeValue
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("needs an extra: pip install 'toolsurface[opentelemetry]'", name=error.name) from error

from surface.adapters import telemetry_names as names
from surface.call import Outcome
from surface.evidence import CallEvidence, Evidence, SearchEvidence, StepEvidence

_FAILED = trace.Status(trace.StatusCode.ERROR)


class TelemetryObserver:
    """An observer for `create_deferred_agent_tool_surface`."""

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer(names.SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(names.SCOPE, meter_provider=meter_provider)
        self._search_seconds = meter.create_histogram(names.METRIC_SEARCH_SECONDS, "s", "How long a search took.")
        self._call_seconds = meter.create_histogram(names.METRIC_CALL_SECONDS, "s", "How long a tool call took.")
        self._step_bytes = meter.create_histogram(names.METRIC_STEP_BYTES, "By", "Schema bytes a step advertised.")
        self._step_active = meter.create_histogram(names.METRIC_STEP_ACTIVE, "{tool}", "Tools a step advertised.")
        self._ignored = meter.create_counter(names.METRIC_IGNORED, "{receipt}", "Receipts that changed nothing.")

    def __call__(self, evidence: Evidence) -> None:
        """Records one event."""
        match evidence:
            case SearchEvidence():
                self._search(evidence)
            case StepEvidence():
                self._step(evidence)
            case CallEvidence():
                self._call(evidence)

    def _search(self, event: SearchEvidence) -> None:
        labels = _labels(event) | {
            names.STATUS: str(event.status),
            names.RANKER: event.ranker,
            **_given(names.REASON, event.reason),
            **_given(names.DEGRADED, event.degraded),
        }
        self._search_seconds.record(event.seconds, labels)
        details: dict[str, AttributeValue] = {
            names.OPERATION: "retrieval",
            names.RANKED: event.ranked,
            names.REJECTED: event.rejected,
            names.SKIPPED: event.skipped,
            names.SELECTED: event.selected,
            names.RESULT_BYTES: event.result_bytes,
            names.MAX_QUERY_BYTES: event.limits.max_query_bytes,
            names.MAX_RESULTS: event.limits.max_results,
            names.MAX_RESULT_BYTES: event.limits.max_result_bytes,
            **_given(names.INDEX_VERSION, event.index_version),
        }
        self._span(names.SPAN_SEARCH, event, labels | details)

    def _step(self, event: StepEvidence) -> None:
        labels = _labels(event)
        self._step_bytes.record(event.schema_bytes, labels)
        self._step_active.record(event.active, labels)
        for reason, count in event.ignored.items():
            self._ignored.add(count, labels | {names.IGNORED_REASON: reason})
        details: dict[str, AttributeValue] = {
            names.SOURCE: str(event.source),
            names.CATALOG: event.catalog,
            names.ACTIVE: event.active,
            names.BASE: event.base,
            names.PINNED: event.pinned,
            names.SELECTED: event.selected,
            names.EVICTED: event.evicted,
            names.SCHEMA_BYTES: event.schema_bytes,
            names.CATALOG_BYTES: event.catalog_schema_bytes,
        }
        if event.limits is not None:
            details[names.MAX_SELECTED] = event.limits.max_selected_tools
            details[names.MAX_ACTIVE] = event.limits.max_active_tools
            details[names.MAX_SCHEMA_BYTES] = event.limits.max_schema_bytes
        self._span(names.SPAN_STEP, event, labels | details)

    def _call(self, event: CallEvidence) -> None:
        labels = _labels(event) | {names.OUTCOME: str(event.outcome)}
        self._call_seconds.record(event.seconds, labels)
        details: dict[str, AttributeValue] = {names.OPERATION: "execute_tool", **_given(names.TOOL, event.tool)}
        name = names.SPAN_CALL if event.tool is None else f"{names.SPAN_CALL} {event.tool}"
        # A repair is the ordinary way of a remembered tool, not a failure.
        self._span(name, event, labels | details, failed=event.outcome not in ("ok", Outcome.INACTIVE))

    def _span(self, name: str, event: Evidence, attributes: dict[str, AttributeValue], *, failed: bool = False) -> None:
        ended = time.time_ns()
        span = self._tracer.start_span(
            name,
            start_time=ended - int(event.seconds * 1e9),
            attributes={**attributes, names.RUN_ID: event.run_id},
        )
        if failed:
            span.set_status(_FAILED)
        span.end(ended)


def _labels(event: Evidence) -> dict[str, AttributeValue]:
    return {names.APPLICATION: event.application, names.SURFACE: event.surface}


def _given(name: str, value: str | None) -> dict[str, AttributeValue]:
    return {} if value is None else {name: str(value)}
