"""Whether time tells a surface that a key may not ask from one that does not exist.

    python -m benchmarks.tenants [--rounds 3000] [--json]

A real `serve` process with keys, one connection, requests of about equal length: all are answered 404. Each round asks
every path once; a row gives the median of its differences from a surface that nobody has, with a 99 % bootstrap
interval. One that holds zero tells nothing, and those of `exists, not granted` have to; the others are for comparison.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.service.process import service
from indexer.adapters.directory_store import DirectoryStore
from indexer.catalog_file import Catalog, CatalogTool, SurfaceCatalog
from indexer.deploy import deploy
from models.adapters.onnx import default_embedder
from selector.access import KEY_BYTES, hashed, key_of

KEY = key_of(bytes(KEY_BYTES))
KEY_FILE = f'[[key]]\nid = "bench"\nhashes = ["{hashed(KEY)}"]\nsurfaces = {{ mine = ["granted"], ours = ["*"] }}\n'
SURFACES = {"mine": ("granted", "private"), "ours": ("granted",), "them": ("granted", "private")}
NOBODYS = "mine/nothing"
ASKED = {
    NOBODYS: "does not exist, not granted",
    "none/granted": "application does not exist",
    "mine/private": "exists, not granted",
    "them/granted": "exists, not granted",
    "them/private": "exists, not granted",
    "ours/nothing": "does not exist, granted",
}
WARM_UP = 200
RESAMPLES = 2_000


def main() -> int:
    """Prints the table; the exit status says whether time told anything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tenants", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--rounds", type=int, default=3_000, metavar="N", help="requests of each kind (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="the JSON line alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _deploy(folder / "store")
        (folder / "keys.toml").write_text(KEY_FILE)
        with service(folder / "store", "--keys", str(folder / "keys.toml")) as running:
            host, port = running.url.removeprefix("http://").split(":")
            took = _measured(http.client.HTTPConnection(host, int(port), timeout=30), arguments.rounds)
    rows = [_row(path, took) for path in ASKED if path != NOBODYS]
    if not arguments.json:
        print(f"{'asked':16}{'what it is':30}{'median µs':>10}{'difference µs':>15}{'99 % interval':>20}")
        for row in rows:
            interval = f"[{row['low']:+.2f}, {row['high']:+.2f}]"
            print(f"{row['path']:16}{row['kind']:30}{row['median']:10.1f}{row['difference']:+15.2f}{interval:>20}")
    print(json.dumps({"benchmark": "tenants", "rounds": arguments.rounds, "rows": rows}))
    return int(any(row["tells"] for row in rows if row["kind"] == "exists, not granted"))


def _deploy(store: Path) -> None:
    embedder = default_embedder(threads=1)
    tools = tuple(
        CatalogTool(name=f"tool_{at}", description=f"Does the work number {at}.", input_schema={"type": "object"})
        for at in range(20)
    )
    for application, surfaces in SURFACES.items():
        catalog = Catalog(
            application=application,
            deploy="1",
            surfaces={surface: SurfaceCatalog(tools=tools) for surface in surfaces},
        )
        deploy(catalog, embedder=embedder, store=DirectoryStore(store), now=lambda: datetime.now(UTC))


def _measured(connection: http.client.HTTPConnection, rounds: int) -> Mapping[str, NDArray[np.float64]]:
    """By path: microseconds in each round, which asks every path once, in random order."""
    order, shuffling = list(ASKED), random.Random(1)
    body = json.dumps({"query": "do the work", "limit": 5})
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    took: dict[str, list[float]] = {path: [] for path in ASKED}
    for _ in range(rounds + WARM_UP):
        shuffling.shuffle(order)
        for path in order:
            application, surface = path.split("/")
            began = time.perf_counter()
            connection.request("POST", f"/v1/applications/{application}/surfaces/{surface}/rank", body, headers)
            answer = connection.getresponse()
            answer.read()
            took[path].append(1e6 * (time.perf_counter() - began))
            if answer.status != 404:
                raise RuntimeError(f"{path} was answered {answer.status}")
    return {path: np.array(times[WARM_UP:]) for path, times in took.items()}


def _row(path: str, took: Mapping[str, NDArray[np.float64]]) -> dict[str, str | float | bool]:
    generator = np.random.default_rng(1)
    # Within a round, because a busy machine is not as busy a second later.
    differences = took[path] - took[NOBODYS]
    medians = [np.median(generator.choice(differences, len(differences))) for _ in range(RESAMPLES)]
    low, high = np.quantile(medians, (0.005, 0.995))
    return {
        "path": path,
        "kind": ASKED[path],
        "median": float(np.median(took[path])),
        "difference": float(np.median(differences)),
        "low": float(low),
        "high": float(high),
        "tells": not low <= 0.0 <= high,
    }


if __name__ == "__main__":
    sys.exit(main())
