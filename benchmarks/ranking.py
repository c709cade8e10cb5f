"""What ranking costs in process beside the embedding of its query, as served: with vectors of the model, abstaining.

    python -m benchmarks.ranking [--set awscli] [--queries 300] [--rounds 3] [--cache FILE]

Each query is ranked by the service's own selector and then embedded alone, on one core; `embed` is what the ranking's
own embedding took of it, of the query and its clauses. What is compared is measured in the same moment, so that a busy
machine hits it alike, and the least of the rounds counts. Half of the queries are the set's own and half another
set's, which nothing in the catalog fits: an answer and a refusal take different ways. Embedding the 20,027 tools of
awscli takes minutes and is done once where `--cache` keeps it. Needs the sets; see TOOLSURFACE_BENCH.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from indexer.adapters.progress import shown_progress
from indexer.adapters.usual_index import open_artefact
from indexer.catalog_file import CatalogTool
from indexer.commands.numbers import several
from models.adapters.onnx import default_embedder
from models.embedder import Embedder
from selector.adapters.evaluation_files import SetFiles, read_set_file
from selector.answering import Stage
from selector.clauses import clauses
from selector.commands.opening import ranking_threads, vectors_in
from selector.evaluation_run import APPLICATION, SURFACE, build_for_evaluation, library_of
from selector.evaluation_set import choose, parse_queries
from selector.service import Selector
from selector.tool_sets import one_surface, surfaces_of
from surface.ranking import RankRequest

BENCH: Final = Path(os.environ.get("TOOLSURFACE_BENCH", "../shared/bench"))
FOLD: Final = "dev"
LIMIT: Final = 5
IN_VAIN: Final = ("metatool", "azurecli")
"""Sets whose queries nothing in the catalog fits; the first that is not the catalog's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One query, with what each part of it took: the least of the rounds, in milliseconds."""

    query: str
    answered: bool
    took: dict[str, float]


class Watch:
    """What the selector is told to enter around its stages: how long each took, in milliseconds."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: Stage) -> Iterator[None]:
        """Times one stage."""
        began = time.perf_counter()
        yield
        self.stages[stage] = 1000 * (time.perf_counter() - began)


def ask(selector: Selector, watch: Watch, embedder: Embedder, queries: Sequence[str], *, rounds: int) -> list[Asked]:
    """Ranks every query and embeds it alone, so many times; `watch` is what the selector enters."""
    answered: dict[str, bool] = {}
    least: dict[str, dict[str, float]] = {query: {} for query in queries}
    loop = asyncio.new_event_loop()
    try:
        for _ in range(rounds):
            for query, so_far in least.items():
                request = RankRequest(
                    application=APPLICATION, surface=SURFACE, query=query, limit=LIMIT, catalog_digest=None
                )
                watch.stages.clear()
                began = time.perf_counter()
                reply = loop.run_until_complete(selector.rank(request))
                ranked = time.perf_counter()
                embedder.embed_queries((query,))
                took = {"query alone": 1000 * (time.perf_counter() - ranked), "ranking": 1000 * (ranked - began)}
                took |= watch.stages
                took |= {f"beyond {of}": took["ranking"] - took[of] for of in ("query alone", "embed")}
                answered[query] = not reply.abstained
                so_far |= {part: min(ms, so_far.get(part, ms)) for part, ms in took.items()}
    finally:
        loop.close()
    return [Asked(query=query, answered=answered[query], took=took) for query, took in least.items()]


def medians(asked: Sequence[Asked]) -> dict[str, Any]:
    """Of each part over the queries that have it."""
    parts = dict.fromkeys(part for one in asked for part in one.took)
    of_parts = {part: [one.took[part] for one in asked if part in one.took] for part in parts}
    return {"queries": len(asked)} | {part: round(statistics.median(took), 2) for part, took in of_parts.items()}


@contextmanager
def one_core() -> Iterator[None]:
    """Keeps what this thread does, and the threads that it starts meanwhile, on one core."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark; a table and a JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranking", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bench", type=Path, default=BENCH, metavar="DIR", help="the sets (default: %(default)s)")
    parser.add_argument("--set", default="awscli", metavar="NAME", help="whose catalog (default: %(default)s)")
    parser.add_argument("--queries", type=several, default=300, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--rounds", type=several, default=3, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="remembers the vectors of the catalog between runs")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    arguments = parser.parse_args(argv)
    other = next(name for name in IN_VAIN if name != arguments.set)
    for name in (arguments.set, other):
        if not (arguments.bench / name).is_dir():
            print(f"ranking: left out, {name} is not at {arguments.bench}; set TOOLSURFACE_BENCH", file=sys.stderr)
            return 0
    tools = _tools(arguments.bench / arguments.set)
    half = max(1, arguments.queries // 2)
    queries = [query for name in (arguments.set, other) for query in _queries(arguments.bench / name, half)]
    with vectors_in(arguments.cache) as cache, shown_progress() as progress:
        artefact = build_for_evaluation(tools, embedder=default_embedder(), cache=cache, progress=progress)
    with one_core(), ranking_threads(1) as threads:
        embedder, watch = default_embedder(threads=1), Watch()
        library = library_of(artefact, open_artefact=open_artefact)
        selector = Selector(indexes=library, embedder=embedder, executor=threads, around=watch)
        asked = ask(selector, watch, embedder, queries, rounds=arguments.rounds)
    parts = {
        "all": asked,
        "one clause": [one for one in asked if not clauses(one.query)],
        "answered": [one for one in asked if one.answered],
        "refused": [one for one in asked if not one.answered],
    }
    found = {name: medians(part) for name, part in parts.items() if part}
    if not arguments.json:
        columns = list(found["all"])
        print(f"| {len(tools):,} tools, median ms | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
        for name, row in found.items():
            print(f"| {name} | {' | '.join(str(row[column]) for column in columns)} |")
    print(json.dumps({"benchmark": "ranking", "set": arguments.set, "tools": len(tools), "medians": found}))
    return 0


def _tools(folder: Path) -> Sequence[CatalogTool]:
    catalog = SetFiles.in_folder(folder).catalog
    return one_surface(
        surfaces_of(read_set_file(catalog, argument="--set"), file=catalog.name), None, file=catalog.name
    )


def _queries(folder: Path, most: int) -> list[str]:
    file = SetFiles.in_folder(folder).queries
    queries = parse_queries(read_set_file(file, argument="--set").split(b"\n"), source=str(file))
    return [query.query for query in choose(queries, folds={FOLD}, sample=most)]


if __name__ == "__main__":
    sys.exit(main())
