"""Ranking over HTTP: one query, or several of one surface at once, all or nothing.

A surface that its asker may not see goes the way of one that does not exist: the ranker is asked for a name that no
surface can have, so that the answer and the time it takes are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Final, TypeVar

from fastapi import APIRouter, Request

from selector.adapters.door import known_caller, spend_batch
from selector.adapters.edge import place_of
from selector.adapters.json_body import ShortWayRoute, StrictBodyRoute
from selector.adapters.openapi import body_problems, succeeds
from selector.ports import BatchRanker
from surface.errors import RankerUnavailable
from surface.protocol import RankBatchBody, RankBatchReply, RankBody, RankReply
from surface.ranking import RankRequest

LOG: Final = logging.getLogger("toolsurface.selector")
T = TypeVar("T")

_NOWHERE: Final = ""
"""No application has this name."""

RANKER_PROBLEMS: Final = body_problems(
    "unauthorised",
    "unknown_surface",
    "rate_limited",
    "ranker_failed",
    "internal",
    "overloaded",
    "too_many_connections",
    "index_unusable",
    "ranker_unavailable",
    "deadline_exceeded",
)
"""What a route may answer that asks a ranker."""


def surface_router(route_class: type[StrictBodyRoute] = StrictBodyRoute) -> APIRouter:
    """For routes that ask about one surface; a body is read strictly."""
    return APIRouter(
        prefix="/v1/applications/{application}/surfaces/{surface}", tags=["ranking"], route_class=route_class
    )


def ranking_routes(ranker: BatchRanker) -> APIRouter:
    """``POST /v1/applications/{application}/surfaces/{surface}/rank`` and ``…/rank-batch``."""
    router = surface_router(ShortWayRoute)

    @router.post("/rank", responses={**succeeds("several_tools", "nothing_fits"), **RANKER_PROBLEMS})
    async def rank(application: str, surface: str, body: RankBody, request: Request) -> RankReply:
        """The tools of a surface for one query, best first."""
        return await answered(ranker.rank(asked_of(request, application, surface, body, body.query)))

    @router.post("/rank-batch", responses={**succeeds("several_queries"), **RANKER_PROBLEMS})
    async def rank_batch(application: str, surface: str, body: RankBatchBody, request: Request) -> RankBatchReply:
        """The tools of a surface for each of several queries, in order; one that cannot be answered refuses all."""
        await spend_batch(request, len(body.queries))
        asked = [asked_of(request, application, surface, body, query) for query in body.queries]
        return RankBatchReply(replies=await answered(ranker.rank_many(asked)))

    return router


def asked_of(
    request: Request, application: str, surface: str, body: RankBody | RankBatchBody, query: str
) -> RankRequest:
    """What a ranker is asked for one query of a body; of an application that nobody has where its asker may not ask."""
    allowed = known_caller(request).allows(application, surface)
    return RankRequest(
        application=application if allowed else _NOWHERE,
        surface=surface,
        query=query,
        limit=body.limit,
        catalog_digest=body.catalog_digest,
    )


async def answered(answer: Awaitable[T]) -> T:
    """What a ranker answers; RankerUnavailable where it cannot, `ranker_failed` for what nobody foresaw."""
    try:
        return await answer
    except RankerUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - its message may quote the query, and telemetry would record it
        LOG.error("the ranker failed: %s", place_of(error))  # noqa: TRY400 - for the same reason
        raise RankerUnavailable("ranker_failed") from None
