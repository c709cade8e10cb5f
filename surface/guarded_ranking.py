"""Ranking that never breaks a run, whatever ranker an application brings (SRC-8).

The ranker gets most of the deadline; if it is slow, down, raises, answers garbage or only unknown names, the local
lexical ranker answers in what is left, and the provenance says `degraded` with a code. A code is a word of a closed
form, never a message.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Container
from dataclasses import dataclass

from pydantic import ValidationError

from surface.deadline import OutOfTimeError, within
from surface.errors import RankerUnavailable
from surface.protocol import RankReply
from surface.ranking import Ranker, RankRequest
from surface.receipt import Provenance

RANKER_SHARE = 0.8
"""The part of the deadline that belongs to the ranker; the rest is the fallback's."""

_CODE = re.compile(r"[a-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What was ranked, and by whom."""

    reply: RankReply
    provenance: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedRanking:
    """A ranker with its deadline and its fallback."""

    ranker: Ranker
    fallback: Ranker
    deadline: float
    """Seconds for the whole of a search."""

    async def rank(self, request: RankRequest, known: Container[str]) -> Ranking:
        """A ranking, degraded where it has to be. `known` holds the names of the surface's catalog."""
        try:
            reply = await self._ask(request)
        except RankerUnavailable as unavailable:
            code = unavailable.code if _CODE.fullmatch(unavailable.code) else "unavailable"
            return await self._fall_back(request, code)
        if reply.ranked and not any(ranked.name in known for ranked in reply.ranked):
            return await self._fall_back(request, "unknown_names")
        stale = request.catalog_digest is not None and reply.catalog_digest != request.catalog_digest
        return Ranking(
            reply=reply,
            provenance=Provenance(
                ranker=self.ranker.id,
                index_version=reply.index_version,
                degraded="stale_index" if stale else reply.degraded,
            ),
        )

    async def _ask(self, request: RankRequest) -> RankReply:
        try:
            answered = await within(self.deadline * RANKER_SHARE, self.ranker.rank(request))
        except RankerUnavailable:
            raise
        except OutOfTimeError:
            raise RankerUnavailable("timeout") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise RankerUnavailable("ranker_failed") from None
        except Exception as error:
            raise RankerUnavailable("ranker_failed") from error
        try:
            # A ranker is foreign code: what it answers is held against the wire form like bytes from a socket.
            reply = RankReply.model_validate(answered.model_dump())
        except (ValidationError, AttributeError, TypeError, ValueError):
            raise RankerUnavailable("malformed_reply") from None
        if reply.surface != request.surface:
            raise RankerUnavailable("wrong_surface")
        return reply

    async def _fall_back(self, request: RankRequest, code: str) -> Ranking:
        reply = await self.fallback.rank(request)
        return Ranking(
            reply=reply,
            provenance=Provenance(ranker=self.fallback.id, index_version=reply.index_version, degraded=code),
        )
