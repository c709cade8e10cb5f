"""What may be asked about: applications, surfaces and versions, as far as the caller's key goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import APIRouter, Request

from selector.adapters.door import known_caller
from selector.adapters.openapi import problems, succeeds
from selector.adapters.problems import Code
from selector.reports import ApplicationReport, ServedReport, report_of
from selector.served import Served, Start
from surface.errors import RankerUnavailable

_CODES: Final[tuple[Code, ...]] = (
    "unauthorised",
    "rate_limited",
    "internal",
    "loading",
    "too_many_connections",
    "deadline_exceeded",
)


def listing_routes(served: Callable[[], Served], start: Callable[[], Start]) -> APIRouter:
    """``GET /v1/applications`` and ``GET /v1/applications/{application}``; neither lists a part before all is known."""
    router = APIRouter(prefix="/v1", tags=["listing"])

    @router.get("/applications", responses={**succeeds("served"), **problems(*_CODES)})
    async def list_applications(request: Request) -> ServedReport:
        """The applications, surfaces and versions that this key may ask about."""
        if start() != "over":
            raise RankerUnavailable("loading")
        return ServedReport(applications=report_of(served(), known_caller(request)))

    @router.get(
        "/applications/{application}", responses={**succeeds("one_application"), **problems("unknown_surface", *_CODES)}
    )
    async def list_surfaces(application: str, request: Request) -> ApplicationReport:
        """The surfaces and versions of one application that this key may ask about."""
        found = report_of(served(), known_caller(request)).get(application)
        if found is None:
            raise RankerUnavailable("unknown_surface" if start() == "over" else "loading")
        return found

    return router
