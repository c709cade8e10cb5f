"""A cluster whose primary hangs under a deploy and is replaced: the deploy goes on, and one whole release is active."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.adapters.patient_store import PatientStore
from indexer.adapters.redis_link import read_redis_url
from indexer.adapters.redis_store import RedisShelf
from indexer.deploy import deploy
from indexer.placed_store import PlacedStore
from tests.faults.deployers import NEW, OLD
from tests.indexer.failing_over import FailingOver
from tests.indexer.healths import health_of
from tests.indexer.redis_cluster import running_cluster
from tests.indexer.samples import EMBEDDER, NOW


@pytest.mark.parametrize("at", ["publishing", "activating"])
def test_a_deploy_goes_on_after_a_failover_that_loses_what_it_had_written(tmp_path: Path, at: str) -> None:
    with running_cluster(tmp_path) as cluster:
        link = FailingOver(read_redis_url(cluster.url), cluster=cluster, prefix="toolsurface:{app}:")
        places = (f"{number:x}" for number in range(1_000))
        said, begun = list[str](), list[str]()
        store = PatientStore(PlacedStore(RedisShelf(link), new_place=lambda: next(places)), wait_s=60, tell=said.append)
        old = deploy(OLD, embedder=EMBEDDER, store=store, now=lambda: NOW)

        def progress(stage: str, done: int, total: int) -> None:
            if stage == at and not begun:
                begun.append(stage)
                link.arm()

        new = deploy(NEW, embedder=EMBEDDER, store=store, now=lambda: NOW, progress=progress)
        assert link.failed_over
        assert "a failover has undone what was written" in said[0]
        health = health_of(store, "app")
        assert health.sound
        assert health.releases[0].release.id == new.release
        assert new.previous == old.release
        assert [line.deploy for line in store.ledger("app").activations] == ["old", "new"]
        assert deploy(NEW, embedder=EMBEDDER, store=store, now=lambda: NOW).unchanged
        assert deploy(OLD, embedder=EMBEDDER, store=store, now=lambda: NOW).release == old.release
        assert health_of(store, "app").sound
