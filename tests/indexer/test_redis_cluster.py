"""The store in a real Redis Cluster of six processes keeps the contract, and deploys go on under a failover."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import redis
from redis.cluster import RedisCluster

from indexer.adapters.redis_link import RedisPlace, RedisWaits, read_redis_url
from indexer.adapters.redis_store import redis_store
from indexer.artefact import Artefact
from indexer.errors import ActivationConflictError, StoreError, StoreUnavailableError
from indexer.placed_store import PlacedStore
from tests.contracts.artefact_store_contract import (
    ActivationHints,
    ArtefactStoreContract,
    Damage,
    KeptLedger,
    Rewrite,
    loaded,
)
from tests.indexer.redis_cluster import Cluster, running_cluster
from tests.indexer.redis_rights import documented_rights, grant, use_everything
from tests.indexer.redis_server import BINARIES, RedisServer, rewrite_key
from tests.indexer.samples import NOW, artefact, release

NAMESPACES = (f"test-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def home(cluster: Cluster) -> RedisPlace:
    return read_redis_url(f"{cluster.url}?namespace={next(NAMESPACES)}")


class TestRedisClusterStore(ActivationHints, KeptLedger, ArtefactStoreContract):
    damaged_places = 12

    @pytest.fixture
    def store(self, home: RedisPlace) -> PlacedStore:
        return redis_store(home)

    @pytest.fixture
    def twin(self, home: RedisPlace) -> PlacedStore:
        return redis_store(home)

    @pytest.fixture
    def damage(self, home: RedisPlace, store: PlacedStore) -> Damage:
        def change(one: Artefact, name: str, data: bytes) -> None:
            known = store.ledger("app").version(one.manifest.surface, one.version)
            assert known is not None
            copy = f"app/{known.surface}/{known.version}/{known.place}"
            with RedisCluster(port=home.port, host=home.host) as client:
                client.set(f"{home.namespace}:{{{copy}}}:{name}:0", data)

        return change

    @pytest.fixture
    def rewrite(self, home: RedisPlace) -> Rewrite:
        def change(of: Callable[[bytes], bytes | None]) -> None:
            with RedisCluster(port=home.port, host=home.host) as client:
                rewrite_key(client, f"{home.namespace}:{{app}}:ledger", of)

        return change


def test_one_server_of_a_cluster_is_not_taken_for_a_server_of_its_own(home: RedisPlace, cluster: Cluster) -> None:
    alone = read_redis_url(cluster.servers[0].url)
    elsewhere = next(
        name for name in "abcdefgh" if cluster.primary_of(f"toolsurface:{{{name}}}:ledger").port != alone.port
    )
    with pytest.raises(StoreError, match=r"is a node of a cluster; say redis\+cluster://"):
        redis_store(alone).active(elsewhere)


def test_an_application_counts_once_a_replica_of_the_list_has_its_name(cluster: Cluster, home: RedisPlace) -> None:
    listed = f"{home.namespace}:applications"
    name = next(
        name
        for name in "abcdefgh"
        if cluster.primary_of(f"{home.namespace}:{{{name}}}:ledger").port != cluster.primary_of(listed).port
    )
    store, one = redis_store(home, waits=RedisWaits(replica_s=0.1)), artefact(application=name)
    store.publish(one, at=NOW)
    with RedisCluster(port=home.port, host=home.host) as client:
        client.delete(listed)
    replica = cluster.replica_of(listed)
    replica.stop(signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailableError, match="a failover may take it off the list"):
            store.activate(release(one), expected=None, at=NOW)
    finally:
        replica.stop(signal.SIGCONT)
    store.activate(release(one), expected=release(one).id, at=NOW)
    assert store.applications() == (name,)


def test_a_change_is_told_by_the_server_that_took_it_whatever_hangs_besides(cluster: Cluster) -> None:
    home = next(
        home
        for home in (read_redis_url(f"{cluster.url}?namespace={name}") for name in NAMESPACES)
        if cluster.primary_of(f"{home.namespace}:applications") is not cluster.servers[0]
    )
    listed = f"{home.namespace}:applications"
    kept = cluster.primary_of(listed)
    name = next(name for name in "abcdefghijk" if cluster.primary_of(f"{home.namespace}:{{{name}}}:ledger") is kept)
    wait_s = 20.0
    store, one = redis_store(home, waits=RedisWaits(answer_s=wait_s, tries=0)), artefact(application=name)
    store.publish(one, at=NOW)
    needed = [kept.port, cluster.replica_of(listed).port]
    others = [server for server in cluster.servers if server.port not in needed]
    for server in others:
        server.stop(signal.SIGSTOP)
    try:
        began = time.monotonic()
        store.activate(release(one), expected=None, at=NOW)
        assert time.monotonic() - began < wait_s / 2
    finally:
        for server in others:
            server.stop(signal.SIGCONT)


def test_what_fits_on_all_servers_together_is_prepared_for_and_any_that_may_forget_is_refused(
    cluster: Cluster, home: RedisPlace
) -> None:
    store, each = redis_store(home), 100_000_000
    probed = cluster.primary_of(f"{home.namespace}:{{app}}:ledger")
    other = next(
        server
        for server in map(cluster.primary_of, (f"{home.namespace}:{{{name}}}:ledger" for name in "abcdefghijk"))
        if server is not probed
    )
    try:
        configure(cluster.servers, "maxmemory", each)
        store.prepare("app", size=2 * each)
        with pytest.raises(StoreError, match=r"300,000,001 bytes are needed and 2\d\d,\d{3},\d{3} are free"):
            store.prepare("app", size=3 * each + 1)
        configure([other], "maxmemory-policy", "allkeys-lru")
        with pytest.raises(StoreError, match=rf"127\.0\.0\.1:{other.port}: evicts keys"):
            store.prepare("app", size=1)
        configure([other], "maxmemory-policy", "noeviction")
        configure([other], "maxmemory", 0)
        store.prepare("app", size=100 * each)  # one of them takes whatever comes
    finally:
        configure(cluster.servers, "maxmemory-policy", "noeviction")
        configure(cluster.servers, "maxmemory", 0)


def configure(servers: Sequence[RedisServer], name: str, value: Any) -> None:
    for server in servers:
        with redis.Redis(port=server.port) as client:
            client.config_set(name, value)


def test_in_a_cluster_the_documented_rights_are_all_that_a_user_needs(cluster: Cluster, home: RedisPlace) -> None:
    for server in cluster.servers:
        grant(server, "deployer", home.namespace, [*itertools.chain(*documented_rights())])
    url = f"redis+cluster://deployer:open@{home.host}:{home.port}?namespace={home.namespace}"
    use_everything(redis_store(read_redis_url(url)))


def patiently(do: Callable[[], None]) -> int:
    """Does it, again where the store says that this may help; how often it said so."""
    deadline = time.monotonic() + 60
    for refused in itertools.count():
        try:
            do()
        except StoreUnavailableError:
            assert time.monotonic() < deadline
            continue
        except ActivationConflictError:
            if not refused:
                raise  # else an answer was lost, and it is active
        return refused
    raise AssertionError


@pytest.mark.parametrize("binary", ["redis-8", "valkey-9"])
def test_deploys_go_on_while_the_primary_of_the_ledger_is_killed(tmp_path: Path, binary: str) -> None:
    with running_cluster(tmp_path, binary=BINARIES[binary]) as cluster:
        home = read_redis_url(cluster.url)
        store, reader = redis_store(home), redis_store(home)
        versions = [artefact(f"tool_{number}") for number in range(4)]
        known = {release(one).id: one for one in versions}
        store.publish(versions[0], at=NOW)
        store.activate(release(versions[0]), expected=None, at=NOW)
        over = Event()

        def read() -> tuple[int, int]:
            whole = refused = 0
            while not over.is_set():
                try:
                    active = reader.active("app")
                    assert active is not None
                    assert loaded(reader, known[active.id]).files == known[active.id].files
                    whole += 1
                except StoreUnavailableError:
                    refused += 1
            return whole, refused

        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(read)
            try:
                cluster.primary_of("toolsurface:{app}:ledger").stop()
                for before, after in itertools.pairwise(versions):
                    patiently(lambda after=after: store.publish(after, at=NOW))  # type: ignore[misc]
                    patiently(
                        lambda before=before, after=after: store.activate(  # type: ignore[misc]
                            release(after), expected=release(before).id, at=NOW
                        )
                    )
            finally:
                over.set()
            whole, _ = reading.result(60)
        assert whole
        assert [one.release for one in reader.ledger("app").activations] == [release(one).id for one in versions]
        for one in versions:
            assert loaded(reader, one).files == one.files
