"""One key's flood and another key's single requests, in a real process: the quiet one is served in its turn."""

from __future__ import annotations

import asyncio
import statistics
import time
from itertools import count
from pathlib import Path

import httpx2

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from selector.access import KEY_BYTES, hashed, key_of
from selector.service import MAX_WAITING
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, put
from tests.selector.server_process import DEADLINE, running_server

FLOOD, QUIET = key_of(b"f" * KEY_BYTES), key_of(b"q" * KEY_BYTES)
NUMBERS = count()


async def test_a_quiet_key_is_neither_refused_nor_queued_behind_the_flood_of_another(tmp_path: Path) -> None:
    put(DirectoryStore(tmp_path / "store"), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    (tmp_path / "keys.toml").write_text(
        "".join(
            f'[[key]]\nid = "{name}"\nhashes = ["{hashed(key)}"]\nsurfaces = {{ {APPLICATION} = ["*"] }}\n'
            for name, key in (("flood", FLOOD), ("quiet", QUIET))
        )
    )
    path = f"/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"
    took: list[float] = []
    stop, answered = asyncio.Event(), asyncio.Event()
    with running_server(tmp_path / "store", "--keys", str(tmp_path / "keys.toml"), log=tmp_path / "log") as server:
        limits = httpx2.Limits(max_connections=2 * MAX_WAITING)
        async with httpx2.AsyncClient(base_url=server.url, timeout=DEADLINE, limits=limits) as http:

            async def asked(key: str) -> tuple[int, float]:
                body = {"query": f"delete file number {next(NUMBERS)} and send an invoice", "limit": 3}
                began = time.monotonic()
                answer = await http.post(path, json=body, headers={"authorization": f"Bearer {key}"})
                return answer.status_code, time.monotonic() - began

            async def flood() -> None:
                while not stop.is_set():
                    status, seconds = await asked(FLOOD)
                    if status == 200:
                        took.append(seconds)
                        answered.set()

            flooding = [asyncio.create_task(flood()) for _ in range(MAX_WAITING)]
            await answered.wait()  # so that the others wait in the queue
            quiet = [await asked(QUIET) for _ in range(15)]
            stop.set()
            await asyncio.gather(*flooding)
    assert {status for status, _ in quiet} == {200}
    # In one queue for all they would take as long; the flood's own wait for each other.
    assert 4 * statistics.median(seconds for _, seconds in quiet) < statistics.median(took)
