"""Ranking over HTTP.

A surface that its asker may not see goes the way of one that does not exist: the ranker is asked for a name that no
surface can have, so that the answer and the time it takes are the same.
"""

from __future__ import annotations

import logging
from typing import Final

from fastapi import APIRouter, Request

from selector.access import Grant
from selector.adapters.door import known_caller
from selector.adapters.edge import place_of
from selector.adapters.openapi import problems
from surface.errors import RankerUnavailable
from surface.protocol import RankBody, RankReply
from surface.ranking import Ranker, RankRequest

LOG: Final = logging.getLogger("toolsurface.selector")

_NOWHERE: Final = ""
"""No application has this name."""


def ranking_routes(ranker: Ranker) -> APIRouter:
    """``POST /v1/applications/{application}/surfaces/{surface}/rank``."""
    router = APIRouter(prefix="/v1/applications/{application}/surfaces/{surface}", tags=["ranking"])

    @router.post("/rank", responses=problems(400, 401, 404, 408, 413, 422, 429, 500, 503, 504))
    async def rank(application: str, surface: str, body: RankBody, request: Request) -> RankReply:
        """The tools of a surface for one query, best first."""
        asked = _asked(known_caller(request), application, surface, body)
        try:
            return await ranker.rank(asked)
        except RankerUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - its message may quote the query, and telemetry would record it
            LOG.error("the ranker failed: %s", place_of(error))  # noqa: TRY400 - for the same reason
            raise RankerUnavailable("ranker_failed") from None

    return router


def _asked(caller: Grant, application: str, surface: str, body: RankBody) -> RankRequest:
    return RankRequest(
        application=application if caller.allows(application, surface) else _NOWHERE,
        surface=surface,
        query=body.query,
        limit=body.limit,
        catalog_digest=body.catalog_digest,
    )
