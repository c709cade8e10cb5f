"""What a primary that hangs acknowledged, and its replica never got, is not told as done: a real cluster and freeze."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from indexer.adapters.redis_link import RedisLink, RedisPlace, RedisWaits, read_redis_url
from indexer.adapters.redis_store import RedisShelf, redis_store
from indexer.errors import StoreUnavailableError
from indexer.placed_store import PlacedStore
from tests.contracts.artefact_store_contract import loaded
from tests.indexer.redis_cluster import Cluster, running_cluster, until
from tests.indexer.samples import NOW, artefact, release

OLD, NEW = artefact("old"), artefact("new")
WAITS = RedisWaits(connect_s=0.5, answer_s=0.5, tries=1, replica_s=0.2)


class FailingOver(RedisLink):
    """Its primary hangs for good just after it answered the writes below a prefix, which no replica had got."""

    def __init__(self, place: RedisPlace, *, cluster: Cluster, prefix: str) -> None:
        super().__init__(place, waits=WAITS)
        self._prefix = prefix
        self._primary, self._replica = cluster.primary_of(prefix), cluster.replica_of(prefix)
        self._replica.stop(signal.SIGSTOP)
        with redis.Redis(port=self._primary.port) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")
        self.failed_over = False

    @contextmanager
    def node(self, key: str) -> Iterator[redis.Redis]:
        if key.startswith(self._prefix) and not self.failed_over:
            self.failed_over = True
            self._primary.stop(signal.SIGSTOP)
            self._replica.stop(signal.SIGCONT)
            with redis.Redis(port=self._replica.port) as client:
                until(lambda: client.execute_command("ROLE")[0] == b"master")
        with super().node(key) as node:
            yield node


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
