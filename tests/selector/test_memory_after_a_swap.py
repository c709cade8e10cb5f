"""What a real `serve` process holds in memory once it has taken up a new version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from models.embedder import Vectors
from models.hashing import HashingEmbedder
from tests.selector.builders import SURFACE, put
from tests.selector.server_process import ServerProcess, running_server, until

TOOLS = 16_000
"""Just too few for half precision, so 25 MB of vectors alone."""


class _Drawn:
    """Vectors as large as the real model's, under its name, in no time."""

    def __init__(self) -> None:
        self.manifest = default_embedder(threads=1).manifest
        self._drawn = HashingEmbedder(dimension=self.manifest.dimension)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._drawn.embed_queries(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._drawn.embed_documents(texts)


def _resident(server: ServerProcess) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * float(status.split("VmRSS:")[1].split()[0])


def _gauge(server: ServerProcess, name: str) -> float:
    lines = httpx2.get(f"{server.url}/metrics").text.splitlines()
    (line,) = [line for line in lines if line.startswith(f"toolsurface_{name} ")]
    return float(line.rpartition(" ")[2])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
async def test_the_memory_of_a_replaced_version_goes_back_to_the_system(tmp_path: Path) -> None:
    store, embedder = DirectoryStore(tmp_path / "store"), _Drawn()
    tools = {f"tool_{at}": f"Does thing {at} for customer {at % 97}" for at in range(TOOLS)}
    put(store, {SURFACE: tools}, embedder=embedder)
    with running_server(tmp_path / "store", "--keep-replaced", "0", log=tmp_path / "log") as server:
        await until(lambda: _gauge(server, "open_indexes") == 1)
        before, weight = _resident(server), _gauge(server, "open_index_bytes")
        put(store, {SURFACE: {**tools, "another": "Does another thing"}}, embedder=embedder)
        await until(lambda: _gauge(server, "index_loads_total") == 2 and _gauge(server, "open_indexes") == 1)
        await until(lambda: _resident(server) < before + weight / 2)
