"""`toolsurface lint`: what makes the tools of a catalog hard to find, for people and for CI."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from indexer.adapters.progress import shown_progress
from indexer.adapters.usual_index import open_artefact
from indexer.catalog_file import CatalogTool
from indexer.commands.numbers import cores, several
from indexer.contents import read_contents
from indexer.ports import VectorCache
from indexer.progress import Progress
from models.adapters.choice import chosen_embedder
from models.adapters.model_arguments import add_model
from models.embedder import Embedder
from selector.adapters.evaluation_files import read_set_file
from selector.commands.opening import FAILURES, ranking_threads, vectors_in
from selector.evaluation_run import build_for_evaluation, library_of
from selector.lint import Code, Finding, lint_texts
from selector.lint_likeness import lint_likeness
from selector.lint_report import SurfaceLint, failing, lint_json, lint_lines
from selector.lint_shadows import lint_shadows
from selector.service import Selector
from selector.tool_sets import one_surface, surfaces_of
from surface.adapters.command_line import DONE, FAILED, Command, print_json, say, show

_WITH_A_RANKER: Final = frozenset({Code.SHADOWED, Code.ALWAYS_BEHIND})
_WITH_VECTORS: Final = _WITH_A_RANKER | {Code.INDISTINGUISHABLE}
"""Checks that embed the catalog, which takes minutes for a large one."""


def _configure_lint(parser: argparse.ArgumentParser) -> None:
    listed = ", ".join(Code)
    parser.add_argument("catalog", type=Path, metavar="CATALOG", help="an export or .jsonl, packed by gzip or not")
    parser.add_argument("--surface", metavar="S", help="only this surface of an export (default: each of them)")
    parser.add_argument("--only", type=_codes, metavar="A,B", help=f"only these checks (default: all of {listed})")
    parser.add_argument("--fail-on", type=_codes, metavar="A,B", help="exit 1 on a finding of these, or of 'any'")
    parser.add_argument("--show", type=several, default=10, metavar="N", help="findings of a kind (default: 10)")
    parser.add_argument("--threads", type=cores, metavar="N", help="cores to embed with (default: all, ≤ 4)")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="remembers vectors: a rerun embeds what changed")
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def _lint(arguments: argparse.Namespace) -> int:
    checks: Sequence[Code] = arguments.only or tuple(Code)
    file = arguments.catalog.name
    surfaces = surfaces_of(read_set_file(arguments.catalog, argument="CATALOG"), file=str(arguments.catalog))
    if arguments.surface is not None:
        surfaces = {arguments.surface: one_surface(surfaces, arguments.surface, file=file)}
    wanted = set(checks)
    embedder: Embedder | None = None
    if wanted & _WITH_VECTORS:
        embedder = chosen_embedder(arguments.model, threads=arguments.threads, download=arguments.model_download)
    reports: list[SurfaceLint] = []
    with shown_progress() as progress, vectors_in(arguments.cache if embedder is not None else None) as cache:
        for key, tools in surfaces.items():
            ordered = sorted(tools, key=lambda tool: tool.name)
            findings = list(lint_texts(ordered))
            if embedder is not None and ordered:
                findings += _ranked(ordered, embedder, wanted, cache=cache, progress=progress)
            kept = [finding for finding in findings if finding.code in wanted]
            reports.append(SurfaceLint(surface=key, tools=len(ordered), findings=kept))
    if arguments.json:
        print_json(lint_json(reports, checks=checks))
    else:
        show(lint_lines(reports, show=arguments.show))
    failed = failing(reports, arguments.fail_on or ())
    if failed:
        say("lint: failed on " + ", ".join(f"{code} ({count:,})" for code, count in failed.items()))
    return FAILED if failed else DONE


def _ranked(
    tools: Sequence[CatalogTool],
    embedder: Embedder,
    wanted: set[Code],
    *,
    cache: VectorCache | None,
    progress: Progress,
) -> list[Finding]:
    """The findings that need the index of the surface; rows of an index are tools by name, as `tools` are."""
    artefact = build_for_evaluation(tools, embedder=embedder, cache=cache, progress=progress)
    found = list(lint_likeness(tools, read_contents(artefact).vectors))
    if wanted & _WITH_A_RANKER:
        library = library_of(artefact, open_artefact=open_artefact)
        with ranking_threads(1) as threads:
            selector = Selector(indexes=library, embedder=embedder, executor=threads, strictness=0.0)
            found += asyncio.run(lint_shadows(tools, selector, progress=progress))
    return found


def _codes(text: str) -> tuple[Code, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["any"]:
        return tuple(Code)
    if not names or not set(names) <= set(Code):
        raise argparse.ArgumentTypeError(f"needs some of {', '.join(Code)}, or any")
    return tuple(code for code in Code if code in names)


LINT = Command(
    name="lint",
    summary="report tools of a catalog that are hard to find or to tell apart",
    configure=_configure_lint,
    run=_lint,
    failures=FAILURES,
)
