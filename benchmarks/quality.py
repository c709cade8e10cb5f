"""How well the rankers find tools: sets of queries by third parties and rankers, through the code that serves.

    python -m benchmarks.quality [--sample N] [--sets metatool,…] [--json]

Sets with folds are judged on `dev`, where choices were made; the others are `transfer`, where nothing ever is, and
count most. `rrf` is plain reciprocal rank fusion of the two legs, here for comparison only.

Building a catalog of 20,000 tools takes minutes; `--cache` keeps what was built.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.faiss_index import FaissVectorIndex
from indexer.adapters.lexical_index import ArrayLexicalIndex
from indexer.adapters.progress import shown_progress
from indexer.artefact import Artefact
from indexer.errors import IndexerError
from indexer.index import open_index
from indexer.progress import Progress
from indexer.release import Release, ReleasedSurface
from indexer.tool_lines import tool_lines_as_they_are
from models.adapters.onnx import default_embedder
from models.embedder import Embedder
from selector.adapters.evaluation_files import read_set_file
from selector.evaluation_report import evaluation_json
from selector.evaluation_run import SURFACE, build_for_evaluation, evaluate, library_of
from selector.evaluation_set import JudgedQuery, choose, parse_queries
from selector.ranking import LEGS
from selector.service import Selector
from surface.protocol import MAX_LIMIT, RankedName, RankReply
from surface.ranking import Ranker, RankRequest

BENCH: Final = Path(os.environ.get("TOOLSURFACE_BENCH") or Path(__file__).parents[2] / "shared" / "bench")
RRF_CONSTANT: Final = 60
RANKERS: Final = (*LEGS, "rrf")


class RankFusion:
    """Reciprocal rank fusion of two rankers, as it is usually done."""

    id = "rrf"

    def __init__(self, first: Ranker, second: Ranker) -> None:
        self._legs = (first, second)

    async def rank(self, request: RankRequest) -> RankReply:
        """The names by the sum of 1 / (60 + position) over both legs."""
        deep = RankRequest(
            application=request.application,
            surface=request.surface,
            query=request.query,
            limit=MAX_LIMIT,
            catalog_digest=request.catalog_digest,
        )
        replies = [await leg.rank(deep) for leg in self._legs]
        scores: dict[str, float] = {}
        for reply in replies:
            for position, ranked in enumerate(reply.ranked, start=1):
                scores[ranked.name] = scores.get(ranked.name, 0.0) + 1.0 / (RRF_CONSTANT + position)
        best = sorted(scores, key=lambda name: (-scores[name], name))[: request.limit]
        ranked_names = tuple(RankedName(name=name, score=scores[name]) for name in best)
        return replies[0].model_copy(update={"ranked": ranked_names, "abstained": not best})


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark; results on standard output, progress on standard error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=BENCH, metavar="DIR", help="the sets (default: %(default)s)")
    parser.add_argument("--sets", metavar="A,B", help="only these (default: every set with queries)")
    parser.add_argument("--rankers", default=",".join(RANKERS), metavar="A,B", help="(default: %(default)s)")
    parser.add_argument(
        "--sample", type=int, default=300, metavar="N", help="queries of each set (default: %(default)s)"
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keeps built catalogs between runs")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    arguments = parser.parse_args(argv)
    rankers = arguments.rankers.split(",")
    if not set(rankers) <= set(RANKERS):
        parser.error(f"--rankers: needs some of {', '.join(RANKERS)}")
    found = sorted(path.parent.name for path in arguments.bench.glob("*/queries.jsonl.gz"))
    sets = arguments.sets.split(",") if arguments.sets else found
    if not arguments.bench.is_dir():
        print(f"quality: left out, there are no sets at {arguments.bench}; set TOOLSURFACE_BENCH", file=sys.stderr)
        return 0
    if not sets or not set(sets) <= set(found):
        parser.error(f"--sets: needs some of {', '.join(found) or 'the sets in --bench, which holds none'}")
    embedder = default_embedder()
    if not arguments.json:
        print(_head(rankers), flush=True)
    results: list[dict[str, Any]] = []
    for name in sets:
        folder = arguments.bench / name
        results.append(_judge_set(folder, embedder, rankers, sample=arguments.sample, cache=arguments.cache))
        if not arguments.json:
            print(_row(results[-1], rankers), flush=True)
    if not arguments.json:
        print()
    print(json.dumps({"benchmark": "quality", "model": embedder.manifest.identity, "sets": results}))
    return 0


def _judge_set(
    folder: Path, embedder: Embedder, rankers: Sequence[str], *, sample: int, cache: Path | None
) -> dict[str, Any]:
    queries = _queries(folder / "queries.jsonl.gz", sample=sample)
    fold = queries[0].fold
    with shown_progress() as progress:
        print(f"{folder.name} ({fold}, {len(queries)} queries)", file=sys.stderr)
        artefact = _built(folder / "catalog.jsonl.gz", embedder, cache=cache, progress=progress)
    reports = {ranker: _judge(artefact, embedder, ranker, queries) for ranker in rankers}
    return {"set": folder.name, "fold": fold, "tools": artefact.manifest.tools, "rankers": reports}


def _judge(artefact: Artefact, embedder: Embedder, ranker: str, queries: Sequence[JudgedQuery]) -> Mapping[str, Any]:
    with _ranker(artefact, embedder, ranker) as asked:
        return evaluation_json(asyncio.run(evaluate(asked, queries, clock=time.perf_counter)))


@contextmanager
def _ranker(artefact: Artefact, embedder: Embedder, name: str) -> Iterator[Ranker]:
    opened = partial(open_index, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
    library = library_of(artefact, open_artefact=opened)
    with ThreadPoolExecutor(1) as executor:
        legs = {leg: Selector(indexes=library, embedder=embedder, executor=executor, leg=leg) for leg in LEGS}
        yield RankFusion(legs["lexical"], legs["dense"]) if name == "rrf" else legs[name]  # type: ignore[index]


def _queries(path: Path, *, sample: int) -> list[JudgedQuery]:
    queries = parse_queries(read_set_file(path, argument="--bench").split(b"\n"), source=str(path))
    transfer = any(query.fold == "transfer" for query in queries)
    return choose(queries, folds={"transfer" if transfer else "dev"}, sample=sample)


def _built(path: Path, embedder: Embedder, *, cache: Path | None, progress: Progress) -> Artefact:
    """The index of a catalog; vectors that an earlier run made are carried over from the cache."""
    tools = tool_lines_as_they_are(read_set_file(path, argument="--bench"))
    store = None if cache is None else DirectoryStore(cache / path.parent.name)
    application = "evaluation"
    active, previous = None, None
    if store is not None and (active := store.active(application)) is not None:
        try:
            previous = store.load(application, SURFACE, active.surfaces[SURFACE].version)
        except IndexerError:
            previous = None  # a damaged cache costs time and nothing else
    artefact = build_for_evaluation(tools, embedder=embedder, previous=previous, progress=progress)
    if store is not None:
        now = datetime.now(UTC)
        store.publish(artefact, at=now)
        released = ReleasedSurface(version=artefact.version, catalog_digest=artefact.manifest.catalog_digest)
        release = Release(application=application, deploy="benchmark", surfaces={SURFACE: released})
        store.activate(release, expected=active.id if active is not None else None, at=now)
    return artefact


def _head(rankers: Sequence[str]) -> str:
    head = f"{'set':<18}{'fold':<10}{'tools':>7}{'queries':>9}" + "".join(f"{ranker:>16}" for ranker in rankers)
    return f"recall@5 / ndcg@10 in percent, then the milliseconds of the median query\n{head}\n{'-' * len(head)}"


def _row(result: Mapping[str, Any], rankers: Sequence[str]) -> str:
    reports = result["rankers"]
    queries = reports[rankers[0]]["queries"]
    cells = "".join(
        f"{100 * report['recall@5']:>6.1f}/{100 * report['ndcg@10']:4.1f} {report['p50_ms']:>4.0f}"
        for report in (reports[ranker] for ranker in rankers)
    )
    return f"{result['set']:<18}{result['fold']:<10}{result['tools']:>7}{queries:>9}{cells}"


if __name__ == "__main__":
    sys.exit(main())
