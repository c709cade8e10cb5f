"""Health over HTTP: what an orchestrator asks, open to everybody, and the detail for those with a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from selector.access import Grant
from selector.adapters.door import caller_of
from selector.adapters.openapi import problems
from selector.adapters.problems import problem
from selector.reports import ApplicationReport, report_of
from selector.served import Served
from surface.protocol import Wire

OPEN_PATHS: Final = ("/health/live", "/health/ready")


class Alive(Wire):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Ready(Wire):
    """At least one index is served; without a valid key that is all that is told."""

    status: Literal["ready"] = "ready"
    applications: dict[str, ApplicationReport] | None = None
    unreadable: dict[str, str] | None = None
    """For keys that see everything: what cannot be read of the store now, by application (empty: all of it)."""


def health_routes(
    served: Callable[[], Served],
    unreadable: Callable[[], Mapping[str, str]],
    leaving: Callable[[], bool],
    loading: Callable[[], bool],
) -> APIRouter:
    """``GET /health/live`` and ``GET /health/ready``; all are asked on each look at readiness."""
    router = APIRouter(prefix="/health", tags=["health"])

    @router.get("/live", responses=problems(400))
    async def live() -> Alive:
        """Whether the process answers."""
        return Alive()

    @router.get(
        "/ready", responses={**problems(400, 500, 503), 200: {"model": Ready, "description": "At least one is served"}}
    )
    async def ready(request: Request) -> Response:
        """Whether at least one index is served; with a key also what is served and refused of its surfaces."""
        now, caller = served(), caller_of(request)
        detail = {} if caller is None else _detail(now, unreadable(), caller)
        if leaving():
            told = "this replica is about to end; ask another one"
            return problem(503, code="leaving", detail=told, headers={"retry-after": "1"}, **detail)
        if loading():
            told = "the indexes are being loaded; with a key this says what of the store cannot be read"
            return problem(503, code="loading", detail=told, headers={"retry-after": "1"}, **detail)
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


def _detail(served: Served, unreadable: Mapping[str, str], caller: Grant) -> dict[str, Any]:
    reports = report_of(served, caller)
    detail: dict[str, Any] = {"applications": {key: report.model_dump(mode="json") for key, report in reports.items()}}
    return {**detail, "unreadable": dict(unreadable)} if caller.sees_everything else detail
