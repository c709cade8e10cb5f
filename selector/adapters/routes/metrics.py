"""The Prometheus scrape, behind an operator's key: it names every application and surface."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.exceptions import HTTPException

from selector.adapters.door import known_caller


def metrics_routes(registry: CollectorRegistry) -> APIRouter:
    """``GET /metrics``; to a key that does not see everything there is no such path."""
    router = APIRouter(include_in_schema=False)

    @router.get("/metrics")
    def metrics(request: Request) -> Response:
        if not known_caller(request).sees_everything:
            raise HTTPException(404)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router
