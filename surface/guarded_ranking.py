"""Ranking that never breaks a run, whatever ranker an application brings (SRC-8).

The ranker gets most of the deadline; if it is slow, down, raises, answers garbage or only unknown names, the local
lexical ranker answers in what is left, and the provenance says `degraded` with a code. A code is a word of a closed
form, never a message.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from itertools import islice

from surface.deadline import OutOfTimeError, cancellations, is_being_cancelled, within
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


class GuardedRanking:
    """A ranker with its deadline and its fallback."""

    def __init__(self, *, ranker: Ranker, fallback: Ranker, deadline: float) -> None:
        """`deadline`: seconds for the whole of a search. The ids are read once, here."""
        self._ranker = ranker
        self._ranker_id = ranker.id
        self._fallback = fallback
        self._fallback_id = fallback.id
        self._deadline = deadline

    async def rank(self, request: RankRequest, known: Container[str]) -> Ranking:
        """A ranking, degraded where it has to be. `known` holds the names of the surface's catalog."""
        try:
            reply = _checked(await self._ask(request), request)
        except RankerUnavailable as unavailable:
            code: object = getattr(unavailable, "code", None)
            is_code = isinstance(code, str) and _CODE.fullmatch(code) is not None
            return await self._fall_back(request, str(code) if is_code else "unavailable")
        if reply.ranked and not any(ranked.name in known for ranked in reply.ranked):
            return await self._fall_back(request, "unknown_names")
        stale = request.catalog_digest is not None and reply.catalog_digest != request.catalog_digest
        return Ranking(
            reply=reply,
            provenance=Provenance(
                ranker=self._ranker_id,
                index_version=reply.index_version,
                degraded="stale_index" if stale else reply.degraded,
            ),
        )

    async def _ask(self, request: RankRequest) -> RankReply:
        since = await cancellations()
        try:
            return await within(self._deadline * RANKER_SHARE, self._asked(request))
        except (RankerUnavailable, KeyboardInterrupt):
            raise
        except OutOfTimeError:
            raise RankerUnavailable("timeout") from None
        except BaseException as error:
            if is_being_cancelled(since):
                raise
            raise RankerUnavailable("ranker_failed") from error

    async def _asked(self, request: RankRequest) -> RankReply:
        """A ranker may fail before it returns anything to wait for."""
        return await self._ranker.rank(request)

    async def _fall_back(self, request: RankRequest, code: str) -> Ranking:
        reply = await self._fallback.rank(request)
        return Ranking(
            reply=reply,
            provenance=Provenance(ranker=self._fallback_id, index_version=reply.index_version, degraded=code),
        )


def _checked(answered: object, request: RankRequest) -> RankReply:
    """The answer held against the wire form like bytes from a socket: a ranker is foreign code.

    Names beyond the number asked for are not even looked at.
    """
    if type(answered) is not RankReply:
        raise RankerUnavailable("malformed_reply")
    try:
        fields = {name: getattr(answered, name) for name in RankReply.model_fields}
        asked_for = islice(iter(fields.pop("ranked")), request.limit)
        ranked = [{"name": each.name, "score": each.score} for each in asked_for]
        reply = RankReply.model_validate({**fields, "ranked": ranked})
    except Exception:  # noqa: BLE001 - a half-made reply can raise anything when it is read
        raise RankerUnavailable("malformed_reply") from None
    if reply.surface != request.surface:
        raise RankerUnavailable("wrong_surface")
    return reply
