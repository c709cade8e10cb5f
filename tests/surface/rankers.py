"""A ranker that answers what a test scripts: a small real implementation of the port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from surface import RankedName, RankReply, RankRequest
from surface.call import settle


def ranking(request: RankRequest, *names: str, **changes: Any) -> RankReply:
    """A good reply to a request, with these names best first."""
    made: dict[str, Any] = {
        "surface": request.surface,
        "index_version": "index-1",
        "catalog_digest": request.catalog_digest or "0" * 32,
        "ranked": tuple(RankedName(name=name, score=len(names) - at) for at, name in enumerate(names)),
    }
    return RankReply(**{**made, **changes})


class ScriptedRanker:
    """Answers with what its script makes of a request, sync or async, and keeps the requests."""

    id = "scripted"

    def __init__(self, script: Callable[[RankRequest], Awaitable[Any] | Any]) -> None:
        self._script = script
        self.asked: list[RankRequest] = []

    async def rank(self, request: RankRequest) -> RankReply:
        self.asked.append(request)
        answered: RankReply = await settle(self._script(request))
        return answered


def proposing(*names: str, **changes: Any) -> ScriptedRanker:
    """A ranker that proposes these names, whatever it is asked."""
    return ScriptedRanker(lambda request: ranking(request, *names, **changes))


def raising(error: BaseException) -> ScriptedRanker:
    """A ranker that raises, whatever it is asked."""

    def fail(request: RankRequest) -> Any:
        raise error

    return ScriptedRanker(fail)
