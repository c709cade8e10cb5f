"""Every name that telemetry uses, in one place. None of them ever holds content (EVD-2).

The ``gen_ai.`` names are OpenTelemetry's semantic conventions for generative AI, which are still in development; the
``toolsurface.`` names are ours.
"""

SCOPE = "toolsurface"

# Spans.
SPAN_SEARCH = "toolsurface.search"
SPAN_STEP = "toolsurface.step"
SPAN_CALL = "execute_tool"

# Attributes of spans and metrics.
APPLICATION = "toolsurface.application"
SURFACE = "toolsurface.surface"
STATUS = "toolsurface.search.status"
REASON = "toolsurface.search.reason"
RANKER = "toolsurface.ranker"
DEGRADED = "toolsurface.ranker.degraded"
OUTCOME = "toolsurface.call.outcome"
IGNORED_REASON = "toolsurface.receipt.rejection"
SOURCE = "toolsurface.selection.source"
OPERATION = "gen_ai.operation.name"

# Attributes of spans only: too many different values for a metric.
RUN_ID = "toolsurface.run.id"
INDEX_VERSION = "toolsurface.index.version"
RANKED = "toolsurface.search.ranked"
REJECTED = "toolsurface.search.rejected"
SKIPPED = "toolsurface.search.skipped"
SELECTED = "toolsurface.selected"
RESULT_BYTES = "toolsurface.search.result_bytes"
CATALOG = "toolsurface.catalog.tools"
ACTIVE = "toolsurface.step.active"
BASE = "toolsurface.step.base"
PINNED = "toolsurface.step.pinned"
EVICTED = "toolsurface.step.evicted"
SCHEMA_BYTES = "toolsurface.step.schema_bytes"
CATALOG_BYTES = "toolsurface.catalog.schema_bytes"
MAX_QUERY_BYTES = "toolsurface.limits.max_query_bytes"
MAX_SELECTED = "toolsurface.limits.max_selected_tools"
MAX_RESULTS = "toolsurface.limits.max_results"
MAX_RESULT_BYTES = "toolsurface.limits.max_result_bytes"
MAX_ACTIVE = "toolsurface.limits.max_active_tools"
MAX_SCHEMA_BYTES = "toolsurface.limits.max_schema_bytes"
TOOL = "gen_ai.tool.name"

# Metrics.
METRIC_SEARCH_SECONDS = "toolsurface.search.duration"
METRIC_STEP_BYTES = "toolsurface.step.schema_bytes"
METRIC_STEP_ACTIVE = "toolsurface.step.active_tools"
METRIC_IGNORED = "toolsurface.receipts.ignored"
METRIC_CALL_SECONDS = "toolsurface.call.duration"
