"""Health over HTTP: what an orchestrator asks, open to everybody, and the detail for those with a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from selector.access import Grant
from selector.adapters.door import caller_of
from selector.adapters.openapi import KEY_IF_THERE_IS_ONE, problems, succeeds
from selector.adapters.problems import problem
from selector.reports import Alive, Ready, report_of
from selector.served import Served, Start

OPEN_PATHS: Final = ("/health/live", "/health/ready")


def health_routes(
    served: Callable[[], Served],
    unreadable: Callable[[], Mapping[str, str]],
    leaving: Callable[[], bool],
    start: Callable[[], Start],
) -> APIRouter:
    """``GET /health/live`` and ``GET /health/ready``; all are asked on each look at readiness."""
    router = APIRouter(prefix="/health", tags=["health"])

    @router.get("/live", responses={**succeeds("alive"), **problems()})
    async def live() -> Alive:
        """Whether the process answers."""
        return Alive()

    @router.get(
        "/ready",
        response_model=Ready,
        openapi_extra=dict(KEY_IF_THERE_IS_ONE),
        responses={
            **succeeds("ready", "ready_for_an_operator"),
            **problems("internal", "no_index", "loading", "store_unavailable", "leaving", "too_many_connections"),
        },
    )
    async def ready(request: Request) -> Response:
        """Whether at least one index is served; with a key also what is served and refused of its surfaces."""
        now, caller = served(), caller_of(request)
        detail = {} if caller is None else _detail(now, unreadable(), caller)
        if leaving():
            return problem("leaving", **detail)
        begun = start()
        if begun != "over":
            return problem(begun, **detail)
        if any(application.active for application in now.values()):
            return JSONResponse({"status": "ready", **detail})
        return problem("no_index", **detail)

    return router


def _detail(served: Served, unreadable: Mapping[str, str], caller: Grant) -> dict[str, Any]:
    reports = report_of(served, caller)
    detail: dict[str, Any] = {"applications": {key: report.model_dump(mode="json") for key, report in reports.items()}}
    return {**detail, "unreadable": dict(unreadable)} if caller.sees_everything else detail
