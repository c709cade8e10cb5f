"""One query as ranking sees it, the ranking it gets, and the key under which a cache remembers that. Pure.

Rules kept here:

1. A query is made even before anything else: blanks at its ends go and runs of blanks become one. What is ranked is the
   even query, so two queries with one key have one ranking.
2. A key is a keyed hash over everything that decides a ranking: the program, the index version, the leg, the
   strictness, the limit and the query. Nobody without the secret can tell from a key what was asked, not even by
   guessing; and nothing that is ranked on another version is ever found.
3. A remembered ranking holds names and scores of that version, and no text. A degraded one is not remembered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from surface._version import __version__
from surface.protocol import MAX_LIMIT, MAX_QUERY_CHARACTERS, RankedName, RankReply
from surface.ranking import RankRequest

LEAST_SECRET: Final = 16
MOST_SECRET: Final = 64
"""Bytes; BLAKE2b takes no more."""

_BLANKS: Final = re.compile(r"[ \t]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request asks, within the bounds."""

    query: str
    """Even, at most `MAX_QUERY_CHARACTERS` long."""
    limit: int
    """1 to `MAX_LIMIT`."""

    @staticmethod
    def of(request: RankRequest) -> Asked:
        """What this request asks."""
        query = _BLANKS.sub(" ", request.query[:MAX_QUERY_CHARACTERS].strip())
        return Asked(query=query, limit=max(1, min(request.limit, MAX_LIMIT)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Names with scores, best first; none where nothing fits."""

    ranked: tuple[tuple[str, float], ...]
    degraded: str | None = None
    """Why it is weaker than usual."""

    def reply(self, *, surface: str, index_version: str, catalog_digest: str) -> RankReply:
        """This ranking as it goes over the wire."""
        return RankReply(
            surface=surface,
            index_version=index_version,
            catalog_digest=catalog_digest,
            ranked=tuple(RankedName(name=name, score=score) for name, score in self.ranked),
            abstained=not self.ranked,
            degraded=self.degraded,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Makes the keys of one ranker."""

    secret: bytes
    """`LEAST_SECRET` to `MOST_SECRET` bytes; replicas that share a cache share it."""
    leg: str
    strictness: float

    def __post_init__(self) -> None:
        if not LEAST_SECRET <= len(self.secret) <= MOST_SECRET:
            raise ValueError(f"secret: needs {LEAST_SECRET} to {MOST_SECRET} bytes")

    def __repr__(self) -> str:
        return f"Keys(leg={self.leg}, strictness={self.strictness})"

    def of(self, index_version: str, asked: Asked) -> bytes:
        """32 bytes."""
        return _hashed(
            self.secret,
            (__version__, index_version, self.leg, repr(self.strictness), str(asked.limit), asked.query),
        )


def _hashed(secret: bytes, parts: Sequence[str]) -> bytes:
    hashed = blake2b(key=secret, digest_size=32)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        # With its length before it, no two lists of parts are the same bytes.
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.digest()
