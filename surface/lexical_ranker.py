"""The offline ranker: the lexical rule over an application's own surfaces, in plain Python.

It needs no service and no index file, answers in microseconds to milliseconds, and is what every search falls back
to. Tools that the query calls by name come first. It abstains where no word of the query stands anywhere in the
catalog. A query whose words stand in very many places is ranked in a thread, so that it holds up no other run and the
deadline of its search can end the waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surface.catalog import Catalog, build_catalog
from surface.errors import RankerUnavailable
from surface.lexical import RULE_VERSION, Postings, best_first, build_postings, query_words, score, tool_text
from surface.names import NameIndex, standing_first
from surface.protocol import RankedName, RankReply
from surface.ranking import RankRequest
from surface.registry import CheckedSurface, Surface
from surface.worker_thread import run_aside

MANY_PLACES = 20_000
"""Places of a query's words in the catalog that the event loop may wait for: about 4 ms of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    names: tuple[str, ...]
    named: NameIndex
    postings: Postings
    catalog_digest: str


class LexicalRanker:
    """Ranks by words alone. Construction is linear in the words of the catalogs."""

    id = "lexical"

    def __init__(self, surfaces: Iterable[Surface | CheckedSurface]) -> None:
        self._indexes = {
            surface.key: _index(
                surface.catalog if isinstance(surface, CheckedSurface) else build_catalog(surface.tools)
            )
            for surface in surfaces
        }

    async def rank(self, request: RankRequest) -> RankReply:
        """Names by the lexical rule, best first; raises RankerUnavailable("unknown_surface")."""
        index = self._indexes.get(request.surface)
        if index is None:
            raise RankerUnavailable("unknown_surface")
        terms = query_words(request.query)
        if sum(len(index.postings.rows.get(term, ())) for term in terms) <= MANY_PLACES:
            return _reply(index, request, terms)
        return await run_aside(lambda: _reply(index, request, terms))


def _reply(index: _Index, request: RankRequest, terms: Sequence[str]) -> RankReply:
    scores = score(index.postings, terms)
    scores |= standing_first(index.named.called(request.query), best=max(scores.values(), default=0.0))
    best = best_first(index.names, scores, request.limit)
    return RankReply(
        surface=request.surface,
        index_version=RULE_VERSION,
        catalog_digest=index.catalog_digest,
        ranked=tuple(RankedName(name=name, score=points) for name, points in best),
        abstained=not best,
    )


def _index(catalog: Catalog) -> _Index:
    texts = [
        tool_text(
            name=name,
            description=made.entry.description,
            input_schema=made.entry.input_schema,
            service=made.tool.service,
        )
        for name, made in catalog.tools.items()
    ]
    names = tuple(catalog.tools)
    return _Index(names=names, named=NameIndex(names), postings=build_postings(texts), catalog_digest=catalog.digest)
