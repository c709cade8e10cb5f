"""The trace that is current, as the one header that a service needs to continue it (W3C ``traceparent``).

No baggage and no ``tracestate`` is sent: what an application keeps there is its own. OpenTelemetry is not imported
here; where a span is active, somebody else has.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping


def trace_headers() -> Mapping[str, str]:
    """``traceparent`` where a span is active, else nothing."""
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - an extra, and there already

    context = get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"}
