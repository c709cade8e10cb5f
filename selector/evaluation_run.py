"""One evaluation: a catalog is built and served as in production, each query asks the ranker, and is judged.

Names are ranked as they are: an evaluation set may hold tools that no catalog would take. Nothing here is deployed;
the index lives in memory.

Not done here: reading files, printing. The clock is an argument, in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from indexer.artefact import Artefact
from indexer.build import build
from indexer.catalog_file import CatalogTool
from indexer.document import documents_of
from indexer.index import SurfaceIndex
from indexer.memory_store import MemoryStore
from indexer.progress import Progress, silent
from indexer.release import Release, ReleasedSurface
from models.embedder import Embedder
from selector.errors import EvaluationError
from selector.evaluation import DEPTH, Quality, judge, mean, percentile
from selector.evaluation_set import JudgedQuery
from selector.library import Library
from surface.ranking import Ranker, RankRequest

APPLICATION: Final = "evaluation"
SURFACE: Final = "catalog"
MAX_NAME: Final = 1_024
"""Characters of a name that a reply can carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How a ranker did on a set."""

    quality: Quality
    """Means over the queries."""
    queries: int
    p50_ms: float
    """Of one whole request, asked one after another."""
    p95_ms: float
    degraded: int
    """Answers that were weaker than usual, such as those whose vectors failed."""


def build_for_evaluation(
    tools: Iterable[CatalogTool],
    *,
    embedder: Embedder,
    previous: Artefact | None = None,
    progress: Progress = silent,
) -> Artefact:
    """The index version of a catalog; raises EvaluationError where it is empty, else what `indexer.build` raises."""
    documents = documents_of(tools)
    if not documents:
        raise EvaluationError("--catalog: the file holds no tool; needs one JSON object a line")
    unsayable = sum(not 1 <= len(document.name) <= MAX_NAME for document in documents)
    if unsayable:
        raise EvaluationError(f"--catalog: name: {unsayable} tool(s) need one of 1-{MAX_NAME} characters")
    return build(
        documents,
        application=APPLICATION,
        surface=SURFACE,
        embedder=embedder,
        previous=previous,
        progress=progress,
    )


def library_of(artefact: Artefact, *, open_artefact: Callable[[Artefact], SurfaceIndex]) -> Library:
    """A library that serves this one version, put there the way a deploy would."""
    manifest = artefact.manifest
    store = MemoryStore()
    store.publish(artefact)
    released = ReleasedSurface(version=artefact.version, catalog_digest=manifest.catalog_digest)
    release = Release(application=APPLICATION, deploy="evaluation", surfaces={SURFACE: released})
    store.activate(release, expected=None)
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
    judged: list[Quality] = []
    seconds: list[float] = []
    degraded = 0
    for done, query in enumerate(queries):
        progress("ranking", done, len(queries))
        request = RankRequest(
            application=APPLICATION, surface=SURFACE, query=query.query, limit=limit, catalog_digest=None
        )
        started = clock()
        reply = await ranker.rank(request)
        seconds.append(clock() - started)
        degraded += reply.degraded is not None
        names = [ranked.name for ranked in reply.ranked]
        judged.append(judge(names, query.relevant, interchangeable=query.match == "any"))
    progress("ranking", len(queries), len(queries))
    return Evaluation(
        quality=mean(judged),
        queries=len(queries),
        p50_ms=1000.0 * percentile(seconds, 0.5),
        p95_ms=1000.0 * percentile(seconds, 0.95),
        degraded=degraded,
    )


def report_of(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as flat names and rounded numbers, for a table or a JSON object."""
    quality = evaluation.quality
    return {
        "queries": evaluation.queries,
        **{f"recall@{depth}": round(value, 4) for depth, value in quality.recall.items()},
        "ndcg@10": round(quality.ndcg, 4),
        "mrr": round(quality.mrr, 4),
        "complete@5": round(quality.complete, 4),
        "p50_ms": round(evaluation.p50_ms, 2),
        "p95_ms": round(evaluation.p95_ms, 2),
        "degraded": evaluation.degraded,
    }
