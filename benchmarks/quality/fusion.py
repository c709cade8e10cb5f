"""Reciprocal rank fusion as it usually comes (Cormack, Clarke and Büttcher, 2009), to be compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from surface.protocol import MAX_LIMIT, RankedName, RankReply
from surface.ranking import Ranker, RankRequest

CONSTANT: Final = 60


class RankFusion:
    """The names by the sum of 1 / (60 + position) over two rankers, each asked for as many names as it may give."""

    id = "rrf"

    def __init__(self, first: Ranker, second: Ranker) -> None:
        self._legs = (first, second)

    async def rank(self, request: RankRequest) -> RankReply:
        """The fused names, best first, equal sums in the order of names."""
        replies = [await leg.rank(replace(request, limit=MAX_LIMIT)) for leg in self._legs]
        sums: dict[str, float] = {}
        for reply in replies:
            for position, ranked in enumerate(reply.ranked, start=1):
                sums[ranked.name] = sums.get(ranked.name, 0.0) + 1.0 / (CONSTANT + position)
        best = sorted(sums, key=lambda name: (-sums[name], name))[: request.limit]
        fused = tuple(RankedName(name=name, score=sums[name]) for name in best)
        return replies[0].model_copy(update={"ranked": fused, "abstained": not best})
