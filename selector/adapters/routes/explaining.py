"""Why a ranking is what it is, over HTTP: what the console asks. The same body, keys and errors as `rank`."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from selector.adapters.openapi import succeeds
from selector.adapters.routes.ranking import RANKER_PROBLEMS, answered, asked_of, surface_router
from selector.explaining import Explainer
from selector.explanation import ExplainReply
from surface.protocol import RankBody


def explaining_routes(explainer: Explainer) -> APIRouter:
    """``POST /v1/applications/{application}/surfaces/{surface}/explain``."""
    router = surface_router()

    @router.post("/explain", responses={**succeeds("explanation"), **RANKER_PROBLEMS})
    async def explain(
        application: str, surface: str, body: RankBody, request: Request, response: Response
    ) -> ExplainReply:
        """The ranking of one query with what each leg says of each tool, and what was left out; for people."""
        response.headers["cache-control"] = "no-store"  # it repeats words of the query
        return await answered(explainer.explain(asked_of(request, application, surface, body, body.query)))

    return router
