"""`toolsurface evaluate`: how well rankers find the right tools, and which of two does better."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from indexer.adapters.progress import shown_progress
from indexer.adapters.usual_index import open_artefact
from indexer.catalog_file import CatalogTool
from indexer.commands.numbers import cores, several
from indexer.progress import Progress
from models.adapters.choice import chosen_embedder
from models.adapters.model_arguments import add_model
from models.embedder import Embedder
from models.hashing import HashingEmbedder
from selector.adapters.evaluation_files import SetFiles, read_set_file
from selector.commands.opening import FAILURES, add_strictness, limit, ranking_threads, vectors_in
from selector.comparison import RESAMPLES, SEED, Pairs, compare
from selector.errors import EvaluationError
from selector.evaluation import DEPTH
from selector.evaluation_report import Comparison, RankerReport, SetReport, report_json, report_lines
from selector.evaluation_run import build_for_evaluation, count_false_returns, evaluate, library_of
from selector.evaluation_set import JudgedQuery, UnknownRelevant, choose, parse_queries, serveable, unknown_relevant
from selector.library import Library
from selector.per_query import EarlierRun, per_query_lines, read_per_query
from selector.ranking import LEGS, Leg
from selector.service import Selector
from selector.tool_sets import one_surface, surfaces_of
from surface.adapters.command_line import Command, CommandFailedError, WrongUseError, print_json, say, show
from surface.adapters.output_file import is_standard_output, write_whole


def _configure_evaluate(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("what is evaluated", "one set or several, as folders or as pairs of files")
    files.add_argument("sets", nargs="*", type=Path, metavar="SET", help="a folder with catalog.jsonl, queries.jsonl")
    files.add_argument("--catalog", type=Path, action="append", metavar="FILE", help=".jsonl or an export, or .gz")
    files.add_argument("--queries", type=Path, action="append", metavar="FILE", help="judged queries, .jsonl or .gz")
    files.add_argument("--surface", metavar="S", help="which surface of an export (default: the only one)")
    files.add_argument(
        "--unserveable", type=Path, metavar="FILE", help="queries that nothing fits: counts how many get a tool anyway"
    )
    files.add_argument("--fold", type=_names, metavar="A,B", help="only queries of these folds, in every file")
    files.add_argument("--split", metavar="NAME", help="only judged queries of this split")
    files.add_argument("--sample", type=several, metavar="N", help="that many queries a file, always the same")
    rankers = parser.add_argument_group("how")
    rankers.add_argument("--ranker", choices=LEGS, help=f"(default: {LEGS[0]})")
    rankers.add_argument("--limit", type=limit, default=DEPTH, metavar="N", help="names a query (default: %(default)s)")
    rankers.add_argument("--compare", type=_two_rankers, metavar="A,B", help="both rankers, query by query")
    rankers.add_argument("--against", type=Path, metavar="FILE", help="an earlier run's --per-query file, likewise")
    rankers.add_argument(
        "--resamples", type=several, default=RESAMPLES, metavar="N", help="of the bootstrap (default: %(default)s)"
    )
    rankers.add_argument("--threads", type=cores, metavar="N", help="cores to build with (default: all, ≤ 4)")
    rankers.add_argument("--cache", type=Path, metavar="FILE", help="remembers vectors: a rerun embeds what changed")
    add_strictness(rankers)
    add_model(parser)
    output = parser.add_argument_group("what comes out")
    output.add_argument("--per-query", type=Path, metavar="FILE", help="ids and numbers of every query, .jsonl")
    output.add_argument("--json", action="store_true", help="one JSON object on standard output")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadSet:
    """One set, read whole before anything is embedded, so that a wrong file is told at once."""

    name: str
    tools: Sequence[CatalogTool]
    queries: Sequence[JudgedQuery]
    unknown: UnknownRelevant


def _evaluate(arguments: argparse.Namespace) -> None:
    rankers: Sequence[Leg] = arguments.compare or [arguments.ranker or LEGS[0]]
    _refuse_contradictions(arguments)
    if arguments.per_query is not None and (arguments.per_query.is_dir() or not arguments.per_query.parent.is_dir()):
        # Told before anything is embedded, which may take minutes.
        raise CommandFailedError(f"--per-query: {arguments.per_query}: is no file in a folder that is there")
    earlier = None
    if arguments.against is not None:
        data = read_set_file(arguments.against, argument="--against")
        earlier = read_per_query(data, source=f"--against {arguments.against}")
    in_vain = _queries(arguments.unserveable, arguments, "--unserveable") if arguments.unserveable else []
    sets = [_read(files, arguments, in_vain) for files in _set_files(arguments)]
    # Words need no vectors, and those of a large catalog take minutes.
    words_only = set(rankers) == {"lexical"}
    embedder: Embedder = (
        HashingEmbedder(dimension=8)
        if words_only
        else chosen_embedder(arguments.model, threads=arguments.threads, download=arguments.model_download)
    )
    reports: list[SetReport] = []
    compared: list[Pairs] = []
    with shown_progress() as progress, vectors_in(None if words_only else arguments.cache) as cache:
        for one in sets:
            started = time.perf_counter()
            artefact = build_for_evaluation(one.tools, embedder=embedder, cache=cache, progress=progress)
            library = library_of(artefact, open_artefact=open_artefact)
            built = time.perf_counter() - started
            reports_of = _asked(
                one,
                rankers,
                in_vain,
                library,
                embedder,
                limit=arguments.limit,
                strictness=arguments.strictness,
                progress=progress,
            )
            report = SetReport(
                name=one.name, tools=len(one.tools), unknown=one.unknown, build_s=built, rankers=reports_of
            )
            pairs = _pairs(report, earlier)
            if pairs is not None:
                compared.append(pairs)
                report = replace(report, comparison=compare([pairs], resamples=arguments.resamples))
            reports.append(report)
    comparison = None
    if compared:
        first, second = rankers if arguments.compare else (arguments.against.name, rankers[0])
        over_sets = compare(compared, resamples=arguments.resamples)
        comparison = Comparison(
            first=first, second=second, resamples=arguments.resamples, seed=SEED, over_sets=over_sets
        )
    if arguments.per_query is not None:
        _write_per_query(arguments.per_query, reports)
    if arguments.json:
        print_json(report_json(reports, comparison, model=None if words_only else embedder.manifest.identity))
        return
    show(report_lines(reports, comparison))


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    if arguments.compare and arguments.ranker:
        raise WrongUseError("--ranker, --compare: give one of them")
    if arguments.compare and arguments.against:
        raise WrongUseError("--compare, --against: give one of them")
    if arguments.per_query is not None and is_standard_output(arguments.per_query):
        raise WrongUseError("--per-query -: standard output has the report; name a file")


def _set_files(arguments: argparse.Namespace) -> list[SetFiles]:
    catalogs, queries = arguments.catalog or [], arguments.queries or []
    if len(catalogs) != len(queries):
        raise WrongUseError("--catalog, --queries: come in pairs; give as many of one as of the other")
    found = [SetFiles.in_folder(folder) for folder in arguments.sets]
    found += [SetFiles.of_pair(*pair) for pair in zip(catalogs, queries, strict=True)]
    if not found:
        raise WrongUseError("SET: say what to evaluate: a folder, or --catalog FILE --queries FILE")
    names = [files.name for files in found]
    for name in names:
        if names.count(name) > 1:
            raise WrongUseError(f"SET: two sets are called {name}; rename a folder or a catalog file")
    return found


def _read(files: SetFiles, arguments: argparse.Namespace, in_vain: Sequence[JudgedQuery]) -> _ReadSet:
    data = read_set_file(files.catalog, argument="--catalog")
    surfaces = surfaces_of(data, file=str(files.catalog))
    tools = one_surface(surfaces, arguments.surface, file=files.catalog.name)
    queries = _queries(files.queries, arguments, "--queries", split=arguments.split)
    names = {tool.name for tool in tools}
    unknown = unknown_relevant(queries, names)
    if unknown.queries:
        say(
            f"{files.name}: {unknown.queries} of {len(queries)} queries want tools that the catalog does not hold "
            f"({unknown.names} names); nothing can find those, and they count as missed"
        )
    fitting = serveable(in_vain, names)
    if fitting:
        say(
            f"{files.name}: --unserveable: {fitting} of {len(in_vain)} queries want a tool that this catalog holds; "
            "take them out, or answering them counts as a false return"
        )
    return _ReadSet(name=files.name, tools=tools, queries=queries, unknown=unknown)


def _queries(
    path: Path, arguments: argparse.Namespace, argument: str, *, split: str | None = None
) -> list[JudgedQuery]:
    lines = read_set_file(path, argument=argument).split(b"\n")
    queries = parse_queries(lines, source=f"{argument} {path}")
    return choose(queries, source=argument, folds=arguments.fold or (), split=split, sample=arguments.sample)


def _asked(
    one: _ReadSet,
    rankers: Sequence[Leg],
    in_vain: Sequence[JudgedQuery],
    library: Library,
    embedder: Embedder,
    *,
    limit: int,
    strictness: float,
    progress: Progress,
) -> list[RankerReport]:
    """Every ranker on one set, over its open index."""
    reports: list[RankerReport] = []
    with ranking_threads(1) as threads:
        for leg in rankers:
            selector = Selector(indexes=library, embedder=embedder, executor=threads, leg=leg, strictness=strictness)
            asked = evaluate(selector, one.queries, clock=time.perf_counter, limit=limit, progress=progress)
            evaluation = asyncio.run(asked)
            wrong = None
            if in_vain:
                wrong = asyncio.run(count_false_returns(selector, in_vain, limit=limit, progress=progress))
            reports.append(RankerReport(ranker=leg, evaluation=evaluation, false_returns=wrong))
    return reports


def _pairs(report: SetReport, earlier: EarlierRun | None) -> Pairs | None:
    """What is compared on one set: its two rankers, or its ranker now and in an earlier run."""
    now = report.rankers[-1].evaluation
    if len(report.rankers) == 2:
        before = report.rankers[0].evaluation
        return [(a.quality, b.quality) for a, b in zip(before.replies, now.replies, strict=True)]
    if earlier is None:
        return None
    ranker = report.rankers[-1].ranker
    known = earlier.get((report.name, ranker))
    if known is None:
        listed = ", ".join(f"{name} by {by}" for name, by in earlier)
        raise EvaluationError(f"--against: the file holds nothing of {report.name} by {ranker}; it holds {listed}")
    pairs = [(known[reply.id], reply.quality) for reply in now.replies if reply.id in known]
    if not pairs:
        raise EvaluationError(f"--against: the file holds none of the {len(now.replies)} queries of {report.name}")
    if len(pairs) < len(now.replies):
        say(f"{report.name}: compared on the {len(pairs)} of {len(now.replies)} queries that the earlier run has too")
    return pairs


def _write_per_query(path: Path, reports: Sequence[SetReport]) -> None:
    lines = [
        line
        for report in reports
        for by in report.rankers
        for line in per_query_lines(report.name, by.ranker, by.evaluation)
    ]
    try:
        write_whole(path, b"".join(lines))
    except OSError as error:
        raise CommandFailedError(f"--per-query: {path}: cannot be written ({error.strerror})") from error


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError("needs at least one name")
    return names


def _two_rankers(text: str) -> tuple[str, ...]:
    names = _names(text)
    if len(names) != 2 or names[0] == names[1] or not set(names) <= set(LEGS):
        raise argparse.ArgumentTypeError(f"needs two of {', '.join(LEGS)}, with a comma between")
    return names


EVALUATE = Command(
    name="evaluate",
    summary="measure how well a ranker finds the right tools of a catalog",
    configure=_configure_evaluate,
    run=_evaluate,
    failures=FAILURES,
)
