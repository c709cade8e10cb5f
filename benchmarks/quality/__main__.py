"""Measures ranking quality: ``make bench-quality``, or ``python -m benchmarks.quality``.

    python -m benchmarks.quality --sets apibank,toolalpaca --sample 100        a look, in half a minute
    python -m benchmarks.quality --fold test --sample 0 --cache FILE           everything, in an hour

The tables of `docs/benchmarks.md` on standard output, one JSON line after them, progress on standard error. Embedding a
catalog of 20,000 tools takes minutes and is done once where `--cache` keeps it. `--baseline-model DIR` measures the
rankers that use vectors with a second encoder too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.encoder import read_encoder
from benchmarks.quality.groups import FOLDS, found_sets, groups_of, in_vain
from benchmarks.quality.measure import RANKERS, WITH_VECTORS, Measured, label_of, measure
from benchmarks.quality.tables import as_json, markdown, progress_line
from indexer.adapters.progress import shown_progress
from indexer.ports import VectorCache
from models.adapters.onnx import default_embedder
from models.embedder import Embedder
from models.errors import ModelError
from models.hashing import HashingEmbedder
from selector.adapters.evaluation_files import SetFiles, read_set_file
from selector.commands.opening import vectors_in
from selector.tool_sets import one_surface, surfaces_of
from surface.errors import ToolSurfaceError

BENCH: Final = Path(os.environ.get("TOOLSURFACE_BENCH") or Path(__file__).parents[3] / "shared" / "bench")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark; 0 done (also without sets), 1 a set or a model cannot be used, 2 wrong use."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if not arguments.bench.is_dir():
        _say(f"quality: left out, there are no sets at {arguments.bench}; set TOOLSURFACE_BENCH")
        return 0
    rankers = _chosen(parser, "--rankers", arguments.rankers, RANKERS)
    sets = _chosen(parser, "--sets", arguments.sets, found_sets(arguments.bench))
    try:
        encoders = _encoders(arguments.baseline_model, rankers)
        with vectors_in(arguments.cache) as cache:
            measured = [_measured(name, rankers, encoders, arguments, cache) for name in sets]
    except (ToolSurfaceError, ModelError) as error:
        _say(f"quality: {error}")
        return 1
    columns = list(dict.fromkeys(label_of(ranker, encoder) for encoder in encoders for ranker in rankers))
    if not arguments.json:
        print("\n".join(markdown(measured, columns)) + "\n")
    models = {label or "default": embedder.manifest.identity for label, embedder in encoders.items()}
    result: dict[str, Any] = {"benchmark": "quality", "models": models, "fold": arguments.fold}
    print(json.dumps({**result, "sample": arguments.sample, **as_json(measured, columns)}))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bench", type=Path, default=BENCH, metavar="DIR", help="the sets (default: %(default)s)")
    parser.add_argument("--sets", metavar="A,B", help="only these (default: every set with queries)")
    parser.add_argument("--rankers", metavar="A,B", help=f"only some of: {', '.join(RANKERS)}")
    parser.add_argument("--fold", choices=FOLDS, default="dev", help="of sets with folds (default: %(default)s)")
    parser.add_argument(
        "--sample", type=_count, default=300, metavar="N", help="queries of each group, 0 all (default: %(default)s)"
    )
    parser.add_argument(
        "--names", type=_count, default=200, metavar="N", help="tools of each set asked by name (default: %(default)s)"
    )
    parser.add_argument("--baseline-model", type=Path, metavar="DIR", help="a second encoder: an ONNX export")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="remembers the vectors of catalogs between runs")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("needs 0 or more")
    return value


def _chosen(parser: argparse.ArgumentParser, option: str, asked: str | None, known: Sequence[str]) -> Sequence[str]:
    if asked is None and known:
        return known
    chosen = [name.strip() for name in (asked or "").split(",") if name.strip()]
    if not chosen or not set(chosen) <= set(known):
        parser.error(f"{option}: needs some of {', '.join(known) or 'the sets in --bench, which holds none'}")
    return chosen


def _encoders(baseline: Path | None, rankers: Sequence[str]) -> dict[str, Embedder]:
    """By label, the one in the package without; one that embeds nothing where only words are asked."""
    if set(WITH_VECTORS).isdisjoint(rankers):
        return {"": HashingEmbedder(dimension=8)}
    encoders: dict[str, Embedder] = {"": default_embedder()}
    if baseline is not None:
        second = read_encoder(baseline)
        if second.manifest.identity == encoders[""].manifest.identity:
            raise ModelError("--baseline-model: is the encoder of the package; give another")
        encoders[second.manifest.name] = second
    return encoders


def _measured(
    name: str,
    rankers: Sequence[str],
    encoders: dict[str, Embedder],
    arguments: argparse.Namespace,
    cache: VectorCache | None,
) -> Measured:
    sample = arguments.sample or None
    files = SetFiles.in_folder(arguments.bench / name)
    tools = one_surface(
        surfaces_of(read_set_file(files.catalog, argument="--bench"), file=files.catalog.name),
        None,
        file=files.catalog.name,
    )
    groups = groups_of(files, fold=arguments.fold, sample=sample)
    wrong = in_vain(arguments.bench, name, fold=arguments.fold, sample=sample)
    _say(f"{name}: {len(tools):,} tools, {sum(len(group.queries) for group in groups):,} queries")
    with shown_progress() as progress:
        one = measure(
            name,
            tools,
            groups,
            wrong,
            rankers=rankers,
            encoders=encoders,
            named=arguments.names,
            cache=cache,
            progress=progress,
        )
    _say(progress_line(one, list(dict.fromkeys(ranker for _, ranker in one.evaluations))))
    return one


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
