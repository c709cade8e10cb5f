"""`toolsurface evaluate`: how well a ranker finds the right tools."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from indexer.adapters.progress import shown_progress
from indexer.tool_lines import tool_lines_as_they_are
from models.adapters.onnx import default_embedder
from models.embedder import Embedder
from models.hashing import HashingEmbedder
from selector.adapters.evaluation_files import read_set_file
from selector.commands.opening import FAILURES, limit, open_artefact, positive, ranking_threads
from selector.evaluation import DEPTH
from selector.evaluation_run import build_for_evaluation, evaluate, library_of, report_of
from selector.evaluation_set import choose, parse_queries
from selector.ranking import LEGS
from selector.service import Selector
from surface.adapters.command_line import Command, print_json


def _configure_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--catalog", type=Path, required=True, metavar="FILE", help="tools, .jsonl or .jsonl.gz")
    parser.add_argument("--queries", type=Path, required=True, metavar="FILE", help="judged queries, likewise")
    parser.add_argument("--fold", metavar="NAME", help="only queries of this fold")
    parser.add_argument("--split", metavar="NAME", help="only queries of this split")
    parser.add_argument("--ranker", choices=LEGS, default="hybrid", help="(default: %(default)s)")
    parser.add_argument(
        "--limit", type=limit, default=DEPTH, metavar="N", help="names per query (default: %(default)s)"
    )
    parser.add_argument("--sample", type=positive, metavar="N", help="that many queries, the same ones each time")
    parser.add_argument("--threads", type=positive, metavar="N", help="cores to build with (default: all, ≤ 4)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def _evaluate(arguments: argparse.Namespace) -> None:
    lines = read_set_file(arguments.queries, argument="--queries").split(b"\n")
    queries = choose(
        parse_queries(lines, source=str(arguments.queries)),
        fold=arguments.fold,
        split=arguments.split,
        sample=arguments.sample,
    )
    tools = tool_lines_as_they_are(read_set_file(arguments.catalog, argument="--catalog"))
    # Words need no vectors, and those of a large catalog take minutes.
    words_only = arguments.ranker == "lexical"
    embedder: Embedder = HashingEmbedder(dimension=8) if words_only else default_embedder(threads=arguments.threads)
    with shown_progress() as progress:
        started = time.perf_counter()
        artefact = build_for_evaluation(tools, embedder=embedder, progress=progress)
        library = library_of(artefact, open_artefact=open_artefact)
        built = time.perf_counter() - started
        with ranking_threads(1) as threads:
            selector = Selector(indexes=library, embedder=embedder, executor=threads, leg=arguments.ranker)
            evaluation = asyncio.run(
                evaluate(selector, queries, clock=time.perf_counter, limit=arguments.limit, progress=progress)
            )
    report = {"ranker": arguments.ranker, "tools": len(tools), **report_of(evaluation), "build_s": round(built, 2)}
    if arguments.json:
        print_json(report)
        return
    width = max(len(name) for name in report)
    for name, value in report.items():
        print(f"{name:<{width}}  {value:.3f}" if isinstance(value, float) else f"{name:<{width}}  {value}")


EVALUATE = Command(
    name="evaluate",
    summary="measure how well a ranker finds the right tools of a catalog",
    configure=_configure_evaluate,
    run=_evaluate,
    failures=FAILURES,
)
