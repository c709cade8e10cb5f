"""One evaluation: a catalog is built and served as in production, each query asks the ranker, and is judged.

Names are ranked as they are: an evaluation set may hold tools that no catalog would take. Nothing here is deployed;
the index lives in memory. A ranker that abstains has answered nothing, whatever else its reply holds.

Not done here: reading files, printing. The clock is an argument, in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from indexer.artefact import Artefact
from indexer.build import build
from indexer.catalog_file import CatalogTool
from indexer.document import documents_of
from indexer.index import SurfaceIndex
from indexer.memory_store import MemoryStore
from indexer.ports import VectorCache
from indexer.progress import Progress, silent
from indexer.release import Release, ReleasedSurface
from models.embedder import Embedder
from selector.errors import EvaluationError
from selector.evaluation import DEPTH, Quality, judge, mean
from selector.evaluation_set import JudgedQuery
from selector.library import Library
from surface.protocol import RankReply
from surface.ranking import Ranker, RankRequest

APPLICATION: Final = "evaluation"
SURFACE: Final = "catalog"
_ANY_TIME: Final = datetime.fromtimestamp(0, UTC)
"""The index lives in memory, and nobody reads its history."""
MAX_NAME: Final = 1_024
"""Characters of a name that a reply can carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReply:
    """How a ranker did on one query: its id and numbers, nothing of what it says."""

    id: str
    quality: Quality
    hard: bool
    """See `JudgedQuery.hard`."""
    answered: int
    """Names in the answer; 0 where the ranker abstained."""
    degraded: bool
    """The answer was weaker than usual, as when its vectors failed."""
    ms: float
    """Of the whole request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How a ranker did on a set, query by query, in the set's order."""

    replies: tuple[JudgedReply, ...]

    @property
    def quality(self) -> Quality:
        """Means over the queries."""
        return mean([reply.quality for reply in self.replies])

    @property
    def hard(self) -> Quality | None:
        """Means over the hard queries; None where there are none."""
        hard = [reply.quality for reply in self.replies if reply.hard]
        return mean(hard) if hard else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseReturns:
    """How often a ranker answered with a tool where no tool fits."""

    queries: int
    answered: int

    @property
    def rate(self) -> float:
        """From 0 to 1."""
        return self.answered / self.queries


def build_for_evaluation(
    tools: Iterable[CatalogTool],
    *,
    embedder: Embedder,
    cache: VectorCache | None = None,
    progress: Progress = silent,
) -> Artefact:
    """The index version of a catalog; raises EvaluationError where it is empty, else what `indexer.build` raises."""
    documents = documents_of(tools)
    if not documents:
        raise EvaluationError("catalog: the file holds no tool; needs one JSON object a line")
    unsayable = sum(not 1 <= len(document.name) <= MAX_NAME for document in documents)
    if unsayable:
        raise EvaluationError(f"catalog: name: {unsayable} tool(s) need one of 1-{MAX_NAME} characters")
    return build(
        documents,
        application=APPLICATION,
        surface=SURFACE,
        embedder=embedder,
        cache=cache,
        progress=progress,
    )


def library_of(artefact: Artefact, *, open_artefact: Callable[[Artefact], SurfaceIndex]) -> Library:
    """A library that serves this one version, put there the way a deploy would."""
    manifest = artefact.manifest
    store = MemoryStore()
    store.publish(artefact, at=_ANY_TIME)
    released = ReleasedSurface(version=artefact.version, catalog_digest=manifest.catalog_digest)
    release = Release(application=APPLICATION, deploy="evaluation", surfaces={SURFACE: released})
    store.activate(release, expected=None, at=_ANY_TIME)
    library = Library(store=store, open_artefact=open_artefact, model=manifest.model)
    library.refresh()
    return library


async def evaluate(
    ranker: Ranker,
    queries: Sequence[JudgedQuery],
    *,
    clock: Callable[[], float],
    limit: int = DEPTH,
    progress: Progress = silent,
) -> Evaluation:
    """Asks every query, one after another, for `limit` names; raises what the ranker raises, ValueError for none."""
    replies: list[JudgedReply] = []
    for done, query in enumerate(queries):
        progress("ranking", done, len(queries))
        started = clock()
        reply = await ranker.rank(_request(query, limit))
        seconds = clock() - started
        names = _answered(reply)
        replies.append(
            JudgedReply(
                id=query.id,
                quality=judge(names, query.relevant, interchangeable=query.match == "any"),
                hard=query.hard,
                answered=len(names),
                degraded=reply.degraded is not None,
                ms=1000.0 * seconds,
            )
        )
    progress("ranking", len(queries), len(queries))
    if not replies:
        raise ValueError("queries: needs at least one")
    return Evaluation(replies=tuple(replies))


async def count_false_returns(
    ranker: Ranker, queries: Sequence[JudgedQuery], *, limit: int = DEPTH, progress: Progress = silent
) -> FalseReturns:
    """Asks queries that nothing in the catalog fits; raises what the ranker raises, ValueError for none."""
    if not queries:
        raise ValueError("queries: needs at least one")
    answered = 0
    for done, query in enumerate(queries):
        progress("asking in vain", done, len(queries))
        answered += bool(_answered(await ranker.rank(_request(query, limit))))
    progress("asking in vain", len(queries), len(queries))
    return FalseReturns(queries=len(queries), answered=answered)


def _request(query: JudgedQuery, limit: int) -> RankRequest:
    return RankRequest(application=APPLICATION, surface=SURFACE, query=query.query, limit=limit, catalog_digest=None)


def _answered(reply: RankReply) -> list[str]:
    return [] if reply.abstained else [ranked.name for ranked in reply.ranked]
