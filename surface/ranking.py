"""The Ranker port: the one question a surface asks of whatever orders its tools.

A ranker proposes names. It can never widen a surface (SRC-3), and no failure of it breaks a run (SRC-8): deadline,
fallback and intersection belong to the search, so an application's own ranker gets them too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from surface.protocol import RankReply


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRequest:
    """One query against one surface."""

    application: str
    surface: str
    query: str
    limit: int
    """The most names worth returning, 1 to `surface.protocol.MAX_LIMIT`."""
    catalog_digest: str | None
    """The catalog the asker holds, so that a hosted ranker can answer from the same version."""


class Ranker(Protocol):
    """Orders the tools of one surface for a query."""

    @property
    def id(self) -> str:
        """A short constant for receipts and evidence: 1-64 of ``A-Za-z0-9_.-``."""
        ...

    async def rank(self, request: RankRequest) -> RankReply:
        """Names best first, at most `request.limit`.

        Raises `surface.errors.RankerUnavailable` with a code where it cannot answer.
        """
        ...
