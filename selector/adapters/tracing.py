"""One span for each request, in the trace of whoever asks.

A span is named for the method and the template of the route and holds them and the status: no path, query string,
header, key or body. Without an OpenTelemetry SDK in the process nothing is recorded.
"""

from __future__ import annotations

from typing import Final

from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from selector.adapters.answer_seen import METHODS, StatusSeen, route_of

SCOPE: Final = "toolsurface.selector"
_PROPAGATOR: Final = TraceContextTextMapPropagator()


class Traced:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, *, tracer_provider: trace.TracerProvider | None = None) -> None:
        """`tracer_provider` None: the process's global one."""
        self._app = app
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on; only HTTP requests are looked at."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = StatusSeen(send)
        parent = Headers(scope=scope).get("traceparent")
        context = _PROPAGATOR.extract({"traceparent": parent} if parent else {})
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        # An exception's message may hold content, so none is recorded.
        with self._tracer.start_as_current_span(
            method, context, trace.SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                await self._app(scope, receive, sent)
            finally:
                route = route_of(scope)
                span.set_attributes({"http.request.method": method, "http.response.status_code": sent.status})
                if route is not None:
                    span.update_name(f"{method} {route}")
                    span.set_attribute("http.route", route)
                if sent.status >= 500 or sent.status == 0:
                    span.set_status(trace.StatusCode.ERROR)
