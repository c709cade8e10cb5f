"""Damage in a Redis: a changed byte or a cut value is found in every key, and a deploy puts it right."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import redis

from indexer.adapters.redis_link import read_redis_url
from indexer.adapters.redis_store import redis_store
from indexer.adapters.vector_cache import VectorFile
from indexer.artefact import FILES, MANIFEST
from indexer.deploy import deploy
from indexer.errors import ArtefactError
from tests.contracts.artefact_store_contract import damages
from tests.faults.deployers import OLD
from tests.indexer.healths import health_of
from tests.indexer.redis_server import BINARIES, running
from tests.indexer.samples import EMBEDDER, NOW


def test_a_damaged_byte_in_any_key_of_a_redis_is_found_and_a_deploy_puts_it_right(tmp_path: Path) -> None:
    with (
        running(BINARIES["redis-8"], tmp_path) as server,
        redis.Redis(port=server.port) as client,
        closing(VectorFile(tmp_path / "cache.sqlite3")) as cache,
    ):
        store = redis_store(read_redis_url(server.url))
        release = deploy(OLD, embedder=EMBEDDER, store=store, now=lambda: NOW, cache=cache).release
        ledger = "toolsurface:{app}:ledger"
        for name in ("ledger", MANIFEST, *sorted(FILES)):
            (known,) = (one for one in store.ledger("app").versions if one.surface == "reader")
            copy = f"toolsurface:{{app/reader/{known.version}/{known.place}}}"  # another place after each repair
            key = ledger if name == "ledger" else f"{copy}:{name}:0"
            data = client.get(key)
            for damaged in damages(data, places=24):
                client.set(key, damaged)
                assert not health_of(store, "app").sound, name
            if name == "ledger":
                with pytest.raises(ArtefactError, match="delete it and deploy again"):
                    deploy(OLD, embedder=EMBEDDER, store=store, now=lambda: NOW, cache=cache)
                client.delete(key)
            assert deploy(OLD, embedder=EMBEDDER, store=store, now=lambda: NOW, cache=cache).embedded == 0
            health = health_of(store, "app")
            assert health.sound
            assert health.releases[0].release.id == release
