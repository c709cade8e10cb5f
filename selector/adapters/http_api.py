"""The service as one ASGI application: routes, the door in front of them, and the edge around it all.

    routes/ranking.py    POST /v1/applications/{application}/surfaces/{surface}/rank · …/rank-batch
    routes/listing.py    GET  /v1/applications · GET /v1/applications/{application}
    routes/health.py     GET  /health/live · GET /health/ready
    this file            GET  /openapi.json

Not done here: ranking, sockets (`http_server.py`), TLS (a proxy's in front).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from selector.adapters.clock import PATIENCE, Clock
from selector.adapters.door import Access, Door
from selector.adapters.edge import Edge
from selector.adapters.openapi import describe
from selector.adapters.problems import problem_of
from selector.adapters.rates import Rates
from selector.adapters.routes import health
from selector.adapters.routes.health import health_routes
from selector.adapters.routes.listing import listing_routes
from selector.adapters.routes.ranking import ranking_routes
from selector.ports import BatchRanker
from selector.served import Served, Start
from surface._version import __version__
from surface.errors import RankerUnavailable

LOG: Final = logging.getLogger("toolsurface.selector")

MAX_BODY_BYTES: Final = 131_072
"""The longest query fits, written in escapes throughout."""

OPENAPI_PATH: Final = "/openapi.json"

_SILENT: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""FastAPI's own telemetry records paths, query strings and the messages of errors wherever the process has a provider;
`tracing.py` and `metrics.py` say what may be told."""


def build_app(
    *,
    ranker: BatchRanker,
    served: Callable[[], Served],
    unreadable: Callable[[], Mapping[str, str]] = dict,
    access: Access | None = None,
    rates: Rates | None = None,
    patience: float = PATIENCE,
    leaving: Callable[[], bool] = bool,
    start: Callable[[], Start] = lambda: "over",
    background: Sequence[Callable[[], Awaitable[None]]] = (),
    routers: Sequence[APIRouter] = (),
    open_paths: Sequence[str] = (),
    around: Sequence[Callable[[ASGIApp], ASGIApp]] = (),
) -> ASGIApp:
    """The application.

    `served` is asked what is served, `unreadable` what of the store cannot be read now; `access` says what a key allows
    (None: everybody may ask everything), `rates` how much (None: any amount); a body may take `patience` seconds to
    arrive; readiness says no until the `start` is over and once `leaving`, from when on answers end connections. All of
    `background` runs from start to stop. `routers` bring further routes, behind the same keys but for the `open_paths`
    among them. Each of `around` wraps what is there so far, the last one outermost: it sees every request and the
    status of every answer, and must raise nothing.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.ensure_future(run()) for run in background]
        for task in tasks:
            task.add_done_callback(_tell_end)
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    api = FastAPI(
        title="toolsurface selector",
        version=__version__,
        lifespan=lifespan,
        max_body_size=MAX_BODY_BYTES,
        openapi_url=OPENAPI_PATH,
        redirect_slashes=False,  # it would repeat the path and the Host header as they were sent
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        telemetry=_SILENT,
    )
    for kind in (RankerUnavailable, RequestValidationError, HTTPException, Exception):
        api.add_exception_handler(kind, _answer_problem)
    for router in (
        ranking_routes(ranker),
        listing_routes(served, start),
        health_routes(served, unreadable, leaving, start),
        *routers,
    ):
        api.include_router(router)
    opened = (OPENAPI_PATH, *health.OPEN_PATHS, *open_paths)
    describe(api, open_paths=opened)

    app: ASGIApp = Door(api, access=access, rates=rates, open_paths=opened)
    app = Edge(Clock(app, patience=patience), served=served, leaving=leaving, max_body_bytes=MAX_BODY_BYTES)
    for wrap in around:
        app = wrap(app)
    return app


async def _answer_problem(_: Request, error: Exception) -> Response:
    return problem_of(error)


def _tell_end(task: asyncio.Future[None]) -> None:
    """What runs in the background ends when it is cancelled; that it ended before is told, and by its class why."""
    if not task.cancelled():
        error = task.exception()
        LOG.error("a task in the background ended with %s", "nothing" if error is None else type(error).__name__)
