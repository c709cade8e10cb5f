"""A Redis that dies or pauses in the middle of a deploy: one release is active, whole, and the next deploy succeeds."""

from __future__ import annotations

import signal
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest

from indexer.adapters.patient_store import PatientStore
from indexer.adapters.redis_link import RedisWaits, read_redis_url
from indexer.adapters.redis_store import redis_store
from indexer.adapters.vector_cache import VectorFile
from indexer.deploy import deploy
from indexer.errors import StoreUnavailableError
from indexer.ports import ArtefactStore
from tests.faults.deployers import NEW, OLD
from tests.indexer.healths import health_of
from tests.indexer.redis_server import BINARIES, free_port, running, start
from tests.indexer.samples import EMBEDDER, NOW

OPTIONS = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.mark.parametrize("at", ["publishing", "activating"])
def test_a_server_that_dies_under_a_deploy_leaves_the_old_release(at: str, tmp_path: Path) -> None:
    binary, port = BINARIES["redis-8"], free_port()
    server = start(binary, tmp_path, *OPTIONS, port=port)
    store = redis_store(read_redis_url(server.url))

    struck: list[str] = []

    def progress(stage: str, done: int, total: int) -> None:
        if stage == at and not struck:
            struck.append(stage)
            server.stop()

    with closing(VectorFile(tmp_path / "cache.sqlite3")) as cache:
        try:
            old = deploy(OLD, embedder=EMBEDDER, store=store, now=lambda: NOW)
            with pytest.raises(StoreUnavailableError):
                deploy(NEW, embedder=EMBEDDER, store=store, now=lambda: NOW, cache=cache, progress=progress)
        finally:
            server.stop()
        server = start(binary, tmp_path, *OPTIONS, port=port)
        try:
            health = health_of(store, "app")
            assert health.sound
            assert health.releases[0].release.id == old.release
            again = deploy(NEW, embedder=EMBEDDER, store=store, now=lambda: NOW, cache=cache)
            assert (again.previous, again.embedded) == (old.release, 0)
            assert health_of(store, "app").sound
        finally:
            server.stop()


def away(store: ArtefactStore) -> str:
    try:
        store.active("app")
    except StoreUnavailableError:
        return "away"
    return "there"


@pytest.mark.parametrize("at", ["reading", "publishing", "activating"])
def test_a_server_that_pauses_for_longer_than_any_client_waits_is_waited_for(at: str, tmp_path: Path) -> None:
    # The proportions of the real waits: a pause of 30 s, of which a client sits through less.
    waits, pause_s = RedisWaits(connect_s=0.1, answer_s=0.2, tries=1, replica_s=0.1), 1.2
    with running(BINARIES["redis-8"], tmp_path) as server:
        store = redis_store(read_redis_url(server.url), waits=waits)
        deploy(OLD, embedder=EMBEDDER, store=store, now=lambda: NOW)
        struck: list[str] = []
        said: list[str] = []

        def progress(stage: str, done: int, total: int) -> None:
            if stage == at and not struck:
                struck.append(stage)
                server.stop(signal.SIGSTOP)
                Timer(pause_s, server.stop, [signal.SIGCONT]).start()
                struck.append(away(store))  # so no client waits long enough

        result = deploy(
            NEW,
            embedder=EMBEDDER,
            store=PatientStore(store, wait_s=60, tell=said.append),
            now=lambda: NOW,
            progress=progress,
        )
        assert struck == [at, "away"]
        assert "waiting for it, up to 60 s" in said[0]
        active = store.active("app")
        assert active is not None
        assert active.id == result.release
        assert [line.deploy for line in store.ledger("app").activations] == ["old", "new"]
        assert health_of(store, "app").sound
