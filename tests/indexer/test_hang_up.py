"""A deploy whose terminal is closed: a real process on a terminal of its own, which the test takes away."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from indexer.adapters.directory_store import DirectoryStore
from indexer.deploying import deploy_catalog
from indexer.embedding import AT_ONCE, LOT
from tests.indexer.samples import EMBEDDER, catalog_json, tool_json

# A deploy that leads the terminal of its standard input. Each lot of texts says that it is begun and waits.
LEADING = """
import fcntl, os, signal, sys, termios
from indexer.commands import deploy
from surface.adapters.command_line import run
from tests.indexer.samples import EMBEDDER

begun, go = int(sys.argv.pop(1)), int(sys.argv.pop(1))
under_nohup = sys.argv[1] == "nohup"
del sys.argv[1 : 1 + under_nohup]
signal.signal(signal.SIGHUP, signal.SIG_IGN if under_nohup else signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)

class Waiting:
    manifest, embed_queries = EMBEDDER.manifest, EMBEDDER.embed_queries
    def embed_documents(self, texts):
        os.write(begun, b".")
        os.read(go, 1)
        return EMBEDDER.embed_documents(texts)

deploy.chosen_embedder = lambda *_, **__: Waiting()
sys.exit(run((deploy.DEPLOY,), "toolsurface"))
"""


@dataclass(slots=True)
class Deploying:
    process: subprocess.Popen[str]
    terminal: int
    go: int

    def hang_up(self) -> None:
        os.close(self.terminal)
        self.terminal = -1

    def end(self) -> int:
        os.close(self.go)
        self.go = -1
        return self.process.wait(timeout=120)


@contextmanager
def deploying(catalog: Path, *how: str, stdout: int | None = None) -> Iterator[Deploying]:
    """A deploy on a terminal, with as many lots of texts under way as there may be."""
    terminal, inside = pty.openpty()
    reads_begun, begun = os.pipe()
    reads_go, go = os.pipe()
    words = [*how, "deploy", catalog, "--store", catalog.parent / "store", "--cache", catalog.parent / "cache.sqlite3"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", LEADING, str(begun), str(reads_go), *map(str, words)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=inside,
        stdout=inside if stdout is None else stdout,
        stderr=inside,
        pass_fds=(begun, reads_go),
        start_new_session=True,
        text=True,
    )
    for each in (inside, begun, reads_go):
        os.close(each)
    one = Deploying(process=process, terminal=terminal, go=go)
    try:
        for _ in range(AT_ONCE):
            assert os.read(reads_begun, 1), process.wait(timeout=10)
        yield one
    finally:
        process.kill()
        process.wait()
        for each in (reads_begun, one.terminal, one.go):
            if each != -1:
                os.close(each)


@pytest.fixture
def catalog(memory: Path) -> Path:
    """One of three lots of texts; another one is served."""
    served = memory / "served.json"
    served.write_bytes(catalog_json(tool_json("a"), deploy="d1"))
    deploy_catalog(served, store=memory / "store", embedder=EMBEDDER, remember=False)
    path = memory / "catalog.json"
    path.write_bytes(catalog_json(*(tool_json(f"tool_{number}") for number in range(3 * LOT)), deploy="d2"))
    return path


def active_deploy(catalog: Path) -> str:
    active = DirectoryStore(catalog.parent / "store").active("app")
    assert active is not None
    return active.deploy


def test_a_closed_terminal_ends_a_deploy_as_ctrl_c_does_and_no_vector_is_lost(catalog: Path) -> None:
    with deploying(catalog) as one:
        one.hang_up()
        os.kill(one.process.pid, 1)  # as the shell that is told too does
        assert one.end() == 129
    assert active_deploy(catalog) == "d1"
    result = deploy_catalog(
        catalog, store=catalog.parent / "store", embedder=EMBEDDER, cache=catalog.parent / "cache.sqlite3"
    )
    assert (result.recalled, result.embedded) == (AT_ONCE * LOT, (3 - AT_ONCE) * LOT)


def test_a_deploy_under_nohup_outlives_its_terminal(catalog: Path, tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as output, deploying(catalog, "nohup", stdout=output.fileno()) as one:
        one.hang_up()
        assert one.end() == 0
    assert active_deploy(catalog) == "d2"
