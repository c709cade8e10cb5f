"""`prune --vectors` says what left the Vector Sets, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.__main__ import COMMANDS
from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.redis_link import read_redis_url
from indexer.adapters.redis_vectors import RedisVectors
from indexer.deploy import deploy
from surface.adapters.command_line import run
from tests.indexer.redis_server import BINARIES, running
from tests.indexer.samples import EMBEDDER, NOW, catalog, tool


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with running(BINARIES["redis-8"], tmp_path) as server:
        yield server.url


def test_what_left_the_vector_sets_is_told(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "store"
    store, vectors = DirectoryStore(place), RedisVectors(read_redis_url(url))
    for text in ("Old.", "New."):
        deploy(catalog(reader=[tool("a", text)]), embedder=EMBEDDER, store=store, now=lambda: NOW, vectors=vectors)
    old = store.ledger("app").releases[1].surfaces["reader"].version
    usual = ["prune", "--store", str(place), "--keep", "1", "--spare-hours", "0"]

    def said(*more: str) -> Any:
        assert run(COMMANDS, "toolsurface", [*usual, *more, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["vectors"]

    assert said("--vectors", url, "--dry-run") is None  # only a store knows beforehand
    assert said() is None
    assert said("--vectors", url) == [{"surface": "reader", "version": old}]
    assert said("--vectors", url) == []
    assert run(COMMANDS, "toolsurface", [*usual, "--vectors", url]) == 0
    assert "the vectors of 0 versions are gone from --vectors" in capsys.readouterr().out
