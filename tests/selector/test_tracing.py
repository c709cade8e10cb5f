"""One request, followed: the client's trace goes on in the service, its id stands in the log, and nothing else does."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest
import uvicorn
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.adapters.http_api import build_app
from selector.adapters.http_server import address, bind
from selector.adapters.logs import log_to_stderr
from selector.adapters.tracing import Traced
from selector.service import Selector
from surface.adapters.selector_client import SelectorClient
from tests.selector.builders import SURFACE, TOOLS, ask, library_over, put
from tests.selector.server_process import until

MARKER = "s3cret-marker"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    written = io.StringIO()
    loggers = [logging.getLogger(name) for name in ("toolsurface", "uvicorn")]
    before = [(each, each.handlers[:], each.propagate, each.level) for each in loggers]
    monkeypatch.setattr(sys, "stderr", written)
    log_to_stderr("json")
    yield written
    for each, handlers, propagate, level in before:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)


@asynccontextmanager
async def _serving(spans: TracerProvider) -> AsyncIterator[str]:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    with ThreadPoolExecutor(1) as executor, bind("127.0.0.1", 0) as bound:
        ranker = Selector(indexes=library, embedder=HashingEmbedder(), executor=executor)
        app = build_app(ranker=ranker, served=lambda: library.served, around=[partial(Traced, tracer_provider=spans)])
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none"))
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        await until(lambda: server.started)
        yield address(bound)
        server.should_exit = True
        await serving


@pytest.mark.rule("EVD-2")
async def test_one_trace_goes_through_client_and_service_and_holds_no_content(log: io.StringIO) -> None:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    async with _serving(provider) as url:
        token = context.attach(baggage.set_baggage(MARKER, MARKER))
        with tracer.start_as_current_span("an agent's search") as span:
            async with SelectorClient(url, timeout=10) as client:
                await client.rank(ask(f"delete a file {MARKER}"))
        context.detach(token)
        async with httpx2.AsyncClient(base_url=url) as http:
            headers = {"traceparent": MARKER, MARKER: MARKER, "authorization": MARKER}
            odd = await http.get(f"/{MARKER}?{MARKER}=1", headers=headers)
    agent = span.get_span_context()
    served = {each.name: each for each in exporter.get_finished_spans()}
    ranked = served["POST /v1/applications/{application}/surfaces/{surface}/rank"]
    assert ranked.context.trace_id == agent.trace_id
    assert ranked.parent is not None
    assert ranked.parent.span_id == agent.span_id
    assert ranked.attributes is not None
    assert ranked.attributes["http.response.status_code"] == 200
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [line["status"] for line in lines] == [200, 404]
    assert lines[0]["request_id"] == f"{agent.trace_id:032x}"
    assert lines[0]["surface"] == SURFACE
    assert lines[1]["request_id"] == odd.headers["x-request-id"]
    assert len(odd.headers["x-request-id"]) == 32
    assert MARKER not in log.getvalue()
    assert not [each.name for each in served.values() if MARKER in each.to_json()]


async def test_without_a_span_the_client_sends_no_trace() -> None:
    sent: list[httpx2.Headers] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers)
        return httpx2.Response(404)

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    async with SelectorClient("http://selector", client=client) as ranker, client:
        with pytest.raises(Exception, match="rejected"):
            await ranker.rank(ask("delete a file"))
    assert "traceparent" not in sent[0]
