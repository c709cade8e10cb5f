"""The Prometheus scrape, behind an operator's key: it names every application and surface."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.exceptions import HTTPException

from selector.adapters.door import known_caller
from selector.adapters.openapi import problems
from selector.adapters.openapi_examples import METRICS

_MEDIA_TYPE: Final = "text/plain"


def metrics_routes(registry: CollectorRegistry) -> APIRouter:
    """``GET /metrics``; to a key that does not see everything there is no such path."""
    router = APIRouter(tags=["metrics"])

    @router.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses={
            200: {
                "description": "The metrics, as Prometheus reads them",
                "content": {_MEDIA_TYPE: {"schema": {"type": "string"}, "example": METRICS}},
            },
            **problems(
                "unauthorised",
                "unknown_path",
                "rate_limited",
                "internal",
                "too_many_connections",
                "deadline_exceeded",
            ),
        },
    )
    def metrics(request: Request) -> Response:
        """The Prometheus scrape, for a key that sees everything."""
        if not known_caller(request).sees_everything:
            raise HTTPException(404)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router
