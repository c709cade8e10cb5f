"""A ranker that answers from a script: real code behind the port, for tests that must not depend on ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from surface.errors import RankerUnavailable
from surface.protocol import RankedName, RankReply
from surface.ranking import RankRequest


@dataclass(kw_only=True)
class ScriptedRanker:
    """Answers a query with the names written for it; abstains on any other query."""

    answers: Mapping[str, Sequence[str]]
    """Query → names, best first."""
    unavailable: str | None = None
    """A code: every request fails with it."""
    id: str = "scripted"
    requests: list[RankRequest] = field(default_factory=list)
    """Every request so far."""

    async def rank(self, request: RankRequest) -> RankReply:
        """The scripted answer; raises RankerUnavailable where the script says so."""
        self.requests.append(request)
        if self.unavailable is not None:
            raise RankerUnavailable(self.unavailable)
        names = self.answers.get(request.query, ())[: request.limit]
        return RankReply(
            surface=request.surface,
            index_version="script",
            catalog_digest=request.catalog_digest or "0" * 32,
            ranked=tuple(RankedName(name=name, score=-float(rank)) for rank, name in enumerate(names)),
            abstained=not names,
        )
