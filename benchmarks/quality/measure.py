"""Asks every ranker every query of a set; everything goes through the code that serves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from benchmarks.quality.bm25 import PlainBm25
from benchmarks.quality.fusion import RankFusion
from benchmarks.quality.groups import Group
from benchmarks.quality.names import name_queries
from indexer.adapters.usual_index import open_artefact
from indexer.catalog_file import CatalogTool
from indexer.ports import VectorCache
from indexer.progress import Progress
from models.embedder import Embedder
from selector.abstaining import STRICTNESS
from selector.evaluation_run import (
    Evaluation,
    FalseReturns,
    build_for_evaluation,
    count_false_returns,
    evaluate,
    library_of,
)
from selector.evaluation_set import JudgedQuery
from selector.library import Library
from selector.ranking import Leg
from selector.service import Selector
from surface.ranking import Ranker

WITH_VECTORS: Final = ("hybrid", "hybrid all", "dense", "rrf", "rrf bm25")
"""Rankers that there are once for each encoder. `hybrid all` is `hybrid` without abstaining and cutting; `rrf`
fuses our two legs, `rrf bm25` plain BM25 and the encoder."""
RANKERS: Final = ("hybrid", "hybrid all", "lexical", "dense", "rrf", "rrf bm25", "bm25", "bm25+parameters")
NAMED: Final = ("hybrid", "lexical")
"""Rankers that are asked for tools by name: those that are ever served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One set, by every ranker; rankers of a second encoder are called `RANKER, ENCODER`."""

    set: str
    tools: int
    groups: Sequence[Group]
    evaluations: Mapping[tuple[str, str], Evaluation]
    """By group and ranker."""
    false_returns: Mapping[tuple[str, str], FalseReturns] = field(default_factory=dict)
    """By the set the queries are from and ranker."""
    names: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """By kind of query and ranker: the share of tools that came first."""


def measure(
    name: str,
    tools: Sequence[CatalogTool],
    groups: Sequence[Group],
    in_vain: Mapping[str, Sequence[JudgedQuery]],
    *,
    rankers: Sequence[str],
    encoders: Mapping[str, Embedder],
    named: int,
    cache: VectorCache | None,
    progress: Progress,
) -> Measured:
    """Everything about one set; `encoders` by label, the first one empty, and `named` tools are asked for by name."""
    evaluations: dict[tuple[str, str], Evaluation] = {}
    false_returns: dict[tuple[str, str], FalseReturns] = {}
    shares: dict[tuple[str, str], float] = {}
    by_name = name_queries([tool.name for tool in tools], sample=named) if named else {}
    with _rankers(tools, rankers, encoders, cache=cache, progress=progress) as asked:
        for label, ranker in asked.items():
            watched = _under(label, progress)
            for group in groups:
                evaluations[group.name, label] = _evaluated(ranker, group.queries, watched)
            for source, queries in in_vain.items():
                false_returns[source, label] = asyncio.run(count_false_returns(ranker, queries, progress=watched))
            for kind, queries in by_name.items() if label in NAMED else ():
                if queries:
                    shares[kind, label] = _evaluated(ranker, queries, watched).quality.recall[1]
    return Measured(
        set=name,
        tools=len(tools),
        groups=groups,
        evaluations=evaluations,
        false_returns=false_returns,
        names=shares,
    )


def label_of(ranker: str, encoder: str) -> str:
    """What tables call a ranker with an encoder; the encoder of the package goes without saying."""
    return f"{ranker}, {encoder}" if encoder and ranker in WITH_VECTORS else ranker


def _under(label: str, progress: Progress) -> Progress:
    """The same progress, told by ranker instead of by stage."""
    return lambda _stage, done, total: progress(label, done, total)


def _evaluated(ranker: Ranker, queries: Sequence[JudgedQuery], progress: Progress) -> Evaluation:
    return asyncio.run(evaluate(ranker, queries, clock=time.perf_counter, progress=progress))


@contextmanager
def _rankers(
    tools: Sequence[CatalogTool],
    rankers: Sequence[str],
    encoders: Mapping[str, Embedder],
    *,
    cache: VectorCache | None,
    progress: Progress,
) -> Iterator[Mapping[str, Ranker]]:
    """The rankers by label, in the order of `rankers`, those of the first encoder first."""
    bm25 = PlainBm25(tools, parameters=False)
    with_parameters = PlainBm25(tools, parameters=True)
    made: dict[str, Ranker] = {}
    with ThreadPoolExecutor(1) as threads:
        for encoder, embedder in encoders.items():
            artefact = build_for_evaluation(tools, embedder=embedder, cache=cache, progress=progress)
            legs = _Legs(library_of(artefact, open_artefact=open_artefact), embedder, threads)
            offered: dict[str, Ranker] = {
                "hybrid": legs.leg("hybrid", strictness=STRICTNESS),
                "hybrid all": legs.leg("hybrid"),
                "lexical": legs.leg("lexical"),
                "dense": legs.leg("dense"),
                "rrf": RankFusion(legs.leg("lexical"), legs.leg("dense")),
                "rrf bm25": RankFusion(bm25, legs.leg("dense")),
                "bm25": bm25,
                "bm25+parameters": with_parameters,
            }
            for ranker in rankers:
                made.setdefault(label_of(ranker, encoder), offered[ranker])
        yield made


@dataclass(frozen=True, slots=True)
class _Legs:
    library: Library
    embedder: Embedder
    threads: Executor

    def leg(self, leg: Leg, *, strictness: float = 0.0) -> Selector:
        return Selector(
            indexes=self.library,
            embedder=self.embedder,
            executor=self.threads,
            leg=leg,
            strictness=strictness,
        )
