"""What a deploy costs: a whole catalog, then one with 1 % of its tools edited.

    python -m benchmarks.deploy [--tools 1000,20000] [--embedder model|sampled|hashing] [--json]
    python -m benchmarks.deploy --throughput 512

Catalogs are real tools (cat_toucan and awscli, from TOOLSURFACE_BENCH), beyond 37,000 again under other names and with
other first words. Each deploy runs in a process of its own, whose peak memory is the system's own count. `hashing`
makes vectors of the same size without a model: for what a deploy costs beside it. `sampled` sends one text in twenty
through the model, for the memory of a catalog that would take half an hour. `--throughput` holds the embedding of a
deploy against the bare model on the same texts, by turns that change their order, and takes the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from indexer.adapters.catalog_reader import read_catalog_bytes
from indexer.catalog_file import read_catalog
from indexer.deploying import deploy_catalog
from indexer.document import documents_of
from indexer.embedding import AT_ONCE, embed
from models.adapters.onnx import default_embedder, usable_cores
from models.embedder import Embedder, Vectors
from models.hashing import HashingEmbedder
from models.manifest import ModelManifest

BENCH: Final = Path(os.environ.get("TOOLSURFACE_BENCH", "../shared/bench"))
SETS: Final = ("cat_toucan", "awscli")
EDITED: Final = 100
"""Every hundredth tool is edited."""
SAMPLED: Final = 20
"""With `sampled`, one text in so many goes through the model."""
ROUNDS: Final = 10
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]")


class SampledEmbedder:
    """The model for one text in twenty, always the same ones, and hashed vectors of the same size for the others."""

    def __init__(self) -> None:
        self._model = default_embedder(threads=usable_cores())
        self._hashing = HashingEmbedder(dimension=self._model.manifest.dimension)

    @property
    def manifest(self) -> ModelManifest:
        """The model's."""
        return self._model.manifest

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), all by the model."""
        return self._model.embed_queries(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension)."""
        vectors = self._hashing.embed_documents(texts)
        chosen = [row for row, text in enumerate(texts) if crc32(text.encode("utf-8", "replace")) % SAMPLED == 0]
        vectors[chosen] = self._model.embed_documents([texts[row] for row in chosen])
        return vectors


def tools(bench: Path) -> Iterator[dict[str, Any]]:
    """Ever more tools, in the form of a catalog file; every name once."""
    real = [
        json.loads(line) for name in SETS for line in read_catalog_bytes(bench / name / "catalog.jsonl.gz").splitlines()
    ]
    seen: set[str] = set()
    for edition in count():
        for tool in real:
            name, description = _ODD.sub("_", tool["name"])[:110], tool["description"]
            schema = tool.get("parameters") or {"type": "object", "properties": {}}
            if edition:
                name, description = f"{name}_{edition}", f"Edition {edition}: {description}"
            if name not in seen and description.strip() and schema.get("type") == "object":
                seen.add(name)
                yield {"name": name, "description": description, "input_schema": schema, "service": tool.get("server")}


def write_catalog(path: Path, chosen: Sequence[dict[str, Any]], *, deploy: str) -> None:
    """One application with one surface."""
    surfaces = {"all": {"tools": chosen}}
    path.write_text(json.dumps({"version": 1, "application": "bench", "deploy": deploy, "surfaces": surfaces}))


def _embedder(named: str) -> Embedder | None:
    if named == "model":
        return None  # as a deploy chooses it
    return SampledEmbedder() if named == "sampled" else HashingEmbedder(dimension=384)


def measured(catalog: Path, store: Path, embedder: str) -> dict[str, Any]:
    """One deploy in this process, from reading the file to the active release."""
    started = time.monotonic()
    result = deploy_catalog(
        read_catalog(read_catalog_bytes(catalog), skip_invalid=True).catalog,
        store=store,
        embedder=_embedder(embedder),
        remember=False,
    )
    return {
        "seconds": round(time.monotonic() - started, 2),
        "cpu_seconds": round(time.process_time(), 2),
        "peak_mb": _peak_mb(),
        "index_mb": round(result.surfaces[0].size / 1e6, 1),
        "tools": result.surfaces[0].tools,
        "embedded": result.embedded,
    }


def _peak_mb() -> int:
    # Not `ru_maxrss`: that counts from before this process was another program, with the catalogs its parent made.
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM:"))


def run(size: int, *, bench: Path, embedder: str) -> dict[str, Any]:
    """A whole deploy and one with edits, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        chosen = list(islice(tools(bench), size))
        write_catalog(home / "whole.json", chosen, deploy="whole")
        for tool in chosen[::EDITED]:
            tool["description"] = f"Newly worded. {tool['description']}"
        write_catalog(home / "edited.json", chosen, deploy="edited")
        del chosen
        whole, edited = (_apart(home / f"{name}.json", home / "store", embedder) for name in ("whole", "edited"))
        return {
            "size": size,
            "embedder": embedder,
            "catalog_mb": round((home / "whole.json").stat().st_size / 1e6, 1),
            "whole": whole,
            "edited": edited,
            "edited_share": round(edited["seconds"] / whole["seconds"], 4),
        }


def _apart(catalog: Path, store: Path, embedder: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.deploy", "--one", str(catalog), str(store), "--embedder", embedder]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def throughput(texts: int, *, bench: Path) -> dict[str, Any]:
    """Texts a second: the bare model in one call, and the embedding of a deploy."""
    cores = usable_cores()
    model = default_embedder(threads=cores)
    lines = {"surfaces": {"all": {"tools": list(islice(tools(bench), texts))}}, "version": 1, "application": "bench"}
    catalog = read_catalog(json.dumps(lines).encode(), skip_invalid=True).catalog
    documents = documents_of(catalog.surfaces["all"].tools)
    ways: dict[str, Callable[[], object]] = {
        "bare": lambda: model.embed_documents([document.text for document in documents]),
        "deploy": lambda: embed(documents, embedder=model, carried={}, at_once=max(AT_ONCE, cores)),
    }
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS):
        for name in sorted(ways, reverse=bool(number % 2)):
            started, worked = time.perf_counter(), time.process_time()
            ways[name]()
            wall[name].append(time.perf_counter() - started)
            cpu[name].append(time.process_time() - worked)
    return {
        "texts": len(documents),
        "cores": cores,
        "bare_per_s": round(len(documents) / statistics.median(wall["bare"]), 1),
        "deploy_per_s": round(len(documents) / statistics.median(wall["deploy"]), 1),
        "share": _share(wall),
        "share_of_cpu": _share(cpu),
    }


def _share(seconds: Mapping[str, Sequence[float]]) -> float:
    """Of the bare model's throughput, round by round: the median."""
    return round(statistics.median(bare / own for bare, own in zip(seconds["bare"], seconds["deploy"], strict=True)), 3)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark; results on standard output."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deploy", description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=BENCH, metavar="DIR", help="the sets (default: %(default)s)")
    parser.add_argument("--tools", default="1000", metavar="N,M", help="sizes of catalogs (default: %(default)s)")
    parser.add_argument(
        "--embedder", choices=("model", "sampled", "hashing"), default="model", help="(default: %(default)s)"
    )
    parser.add_argument("--throughput", type=int, metavar="N", help="embed N texts both ways instead")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    parser.add_argument("--one", nargs=2, type=Path, metavar=("CATALOG", "STORE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.one is not None:
        print(json.dumps(measured(arguments.one[0], arguments.one[1], arguments.embedder)))
        return 0
    if not all((arguments.bench / name).is_dir() for name in SETS):
        print(
            f"deploy: left out, {' and '.join(SETS)} are not at {arguments.bench}; set TOOLSURFACE_BENCH",
            file=sys.stderr,
        )
        return 0
    if arguments.throughput is not None:
        print(json.dumps({"benchmark": "deploy_throughput", **throughput(arguments.throughput, bench=arguments.bench)}))
        return 0
    results = []
    if not arguments.json:
        print("| tools | deploy | s | CPU s | peak MB | index MB | embedded |\n|--:|---|--:|--:|--:|--:|--:|")
    for size in map(int, arguments.tools.split(",")):
        results.append(run(size, bench=arguments.bench, embedder=arguments.embedder))
        for name in ("whole", "edited"):
            one = results[-1][name]
            if not arguments.json:
                print(
                    f"| {one['tools']:,} | {name} | {one['seconds']} | {one['cpu_seconds']} | {one['peak_mb']:,} | "
                    f"{one['index_mb']} | {one['embedded']:,} |",
                    flush=True,
                )
    print(json.dumps({"benchmark": "deploy", "runs": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
