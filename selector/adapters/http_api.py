"""The Selector behind HTTP. Routes translate, nothing more.

    POST /v1/applications/{application}/surfaces/{surface}/rank    RankBody → RankReply
    GET  /healthz                                                  200 while the process answers
    GET  /readyz                                                   200 while at least one index is served

Not done here: ranking, sockets (`http_server.py`), who may ask (a service mesh or gateway in front).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from selector.adapters.edge import Edge, place_of
from selector.adapters.problems import problem, problem_of
from selector.library import Served
from surface._version import __version__
from surface.errors import RankerUnavailable
from surface.protocol import RankBody, RankReply
from surface.ranking import Ranker, RankRequest

LOG: Final = logging.getLogger("toolsurface.selector")

MAX_BODY_BYTES: Final = 131_072
"""The longest query fits, written in escapes throughout."""


def build_app(
    *,
    ranker: Ranker,
    served: Callable[[], Served],
    background: Callable[[], Awaitable[None]] | None = None,
) -> ASGIApp:
    """The application. `served` is asked on each `/readyz`; `background` runs from start to stop."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.ensure_future(background()) if background is not None else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    app = FastAPI(
        title="toolsurface selector",
        version=__version__,
        lifespan=lifespan,
        max_body_size=MAX_BODY_BYTES,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
    )
    for kind in (RankerUnavailable, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _answer_problem)

    @app.post("/v1/applications/{application}/surfaces/{surface}/rank")
    async def rank(application: str, surface: str, body: RankBody) -> RankReply:
        request = RankRequest(
            application=application,
            surface=surface,
            query=body.query,
            limit=body.limit,
            catalog_digest=body.catalog_digest,
        )
        try:
            return await ranker.rank(request)
        except RankerUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - its message may quote the query, and telemetry would record it
            LOG.error("the ranker failed: %s", place_of(error))  # noqa: TRY400 - for the same reason
            raise RankerUnavailable("ranker_failed") from None

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", response_model=None)
    async def readyz() -> Response:
        applications = _report(served())
        if any(report["surfaces"] for report in applications.values()):
            return JSONResponse({"status": "ready", "applications": applications})
        detail = "no index is served; deploy an application to this store"
        return problem(503, code="no_index", detail=detail, applications=applications)

    return Edge(app, max_body_bytes=MAX_BODY_BYTES)


async def _answer_problem(_: Request, error: Exception) -> Response:
    return problem_of(error)


def _report(served: Served) -> dict[str, Any]:
    return {
        application: {
            "release": now.release,
            "surfaces": {
                surface: {
                    "version": index.version,
                    "catalog_digest": index.manifest.catalog_digest,
                    "tools": len(index.names),
                    "model": index.manifest.model,
                }
                for surface, index in now.active.items()
            },
            "refused": {surface: {"code": no.code, "detail": no.detail} for surface, no in now.refused.items()},
        }
        for application, now in served.items()
    }
