"""Health over HTTP: what an orchestrator asks, open to everybody, and the detail for those with a key.

GET /health/live     200 while the process answers
GET /health/ready    200 while at least one index is served, else 503; with a key also what is served and refused,
                     of the surfaces that the key grants
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from selector.access import Grant
from selector.adapters.door import caller_of
from selector.adapters.problems import problem
from selector.served import Served

OPEN_PATHS: Final = ("/health/live", "/health/ready")


def health_routes(served: Callable[[], Served]) -> APIRouter:
    """`served` is asked on each look at readiness."""
    router = APIRouter(tags=["health"])

    @router.get("/health/live")
    async def live() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/health/ready", response_model=None)
    async def ready(request: Request) -> Response:
        now, caller = served(), caller_of(request)
        detail: Mapping[str, Any] = {} if caller is None else {"applications": _report(now, caller)}
        if any(application.active for application in now.values()):
            return JSONResponse({"status": "ready", **detail})
        return problem(
            503,
            code="no_index",
            detail="no index is served; deploy an application to this store",
            headers={"retry-after": "1"},
            **detail,
        )

    return router


def _report(served: Served, caller: Grant) -> dict[str, Any]:
    reports = {
        application: {
            "release": now.release,
            "refused_release": now.refused_release,
            "surfaces": {
                surface: {
                    "version": version.version,
                    "catalog_digest": version.manifest.catalog_digest,
                    "tools": version.manifest.tools,
                    "model": version.manifest.model,
                }
                for surface, version in now.active.items()
                if caller.allows(application, surface)
            },
            "refused": {
                surface: {"code": no.code, "detail": no.detail}
                for surface, no in now.refused.items()
                if caller.allows(application, surface)
            },
        }
        for application, now in served.items()
    }
    return {application: report for application, report in reports.items() if report["surfaces"] or report["refused"]}
