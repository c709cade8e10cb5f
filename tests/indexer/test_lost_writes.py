"""What a primary that hangs acknowledged, and its replica never got, is not told as done: a real cluster and freeze."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.adapters.redis_link import read_redis_url
from indexer.adapters.redis_store import RedisShelf, redis_store
from indexer.errors import StoreUnavailableError
from indexer.placed_store import PlacedStore
from tests.contracts.artefact_store_contract import loaded
from tests.indexer.failing_over import WAITS, FailingOver
from tests.indexer.redis_cluster import Cluster, running_cluster
from tests.indexer.samples import NOW, artefact, release

OLD, NEW = artefact("old"), artefact("new")


@pytest.mark.parametrize("what", ["ledger", "copy"])
def test_what_the_new_primary_never_got_is_no_success_and_the_next_try_makes_it_true(tmp_path: Path, what: str) -> None:
    with running_cluster(tmp_path) as cluster:
        place = read_redis_url(cluster.url)
        store = redis_store(place, waits=WAITS)
        store.publish(OLD, at=NOW)
        store.activate(release(OLD), expected=None, at=NOW)
        if what == "ledger":
            store.publish(NEW, at=NOW)
        at = _place_beside_the_ledger(cluster)
        prefix = f"toolsurface:{{{'app' if what == 'ledger' else _copy(at)}}}:"
        link = FailingOver(place, cluster=cluster, prefix=prefix)
        link.arm()
        losing = PlacedStore(RedisShelf(link), new_place=lambda: at)
        writes: dict[str, Callable[[], None]] = {
            "ledger": lambda: losing.activate(release(NEW), expected=release(OLD).id, at=NOW),
            "copy": lambda: losing.publish(NEW, at=NOW),
        }
        with pytest.raises(StoreUnavailableError, match="a failover has undone what was written"):
            writes[what]()
        assert link.failed_over
        assert store.active("app") == release(OLD)
        store.publish(NEW, at=NOW)
        store.activate(release(NEW), expected=release(OLD).id, at=NOW)
        assert store.active("app") == release(NEW)
        assert loaded(store, NEW).files == NEW.files


def _copy(place: str) -> str:
    return f"app/reader/{NEW.version}/{place}"


def _place_beside_the_ledger(cluster: Cluster) -> str:
    """One whose copy is on another server than the ledger is."""
    ledger = cluster.primary_of("toolsurface:{app}:")
    places = (f"{number:x}" for number in range(100))
    return next(at for at in places if cluster.primary_of(f"toolsurface:{{{_copy(at)}}}:").port != ledger.port)
