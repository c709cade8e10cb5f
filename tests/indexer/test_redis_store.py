"""The store in Redis and Valkey keeps the contract of all stores, on real servers."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
import redis

from indexer.adapters.redis_link import RedisLink, RedisPlace, RedisWaits, read_redis_url
from indexer.adapters.redis_store import CHUNK_BYTES, RedisShelf, followed_redis_store, redis_store
from indexer.artefact import Artefact
from indexer.commands.deploy import DEPLOY
from indexer.errors import ArtefactError, StoreError, StoreUnavailableError
from indexer.placed_store import PlacedStore
from indexer.shelf import Address
from selector.commands.rank import RANK
from surface.adapters.command_line import run
from tests.contracts.artefact_store_contract import (
    ActivationHints,
    ArtefactStoreContract,
    Damage,
    KeptLedger,
    Rewrite,
    loaded,
)
from tests.indexer.redis_cluster import until
from tests.indexer.redis_rights import documented_rights, grant, use_everything
from tests.indexer.redis_server import BINARIES, RedisServer, free_port, rewrite_key, running, start
from tests.indexer.samples import NOW, artefact, catalog_json, release, tool_json

NAMESPACES = (f"test-{number}" for number in itertools.count())


@pytest.fixture(scope="module", params=sorted(BINARIES))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(BINARIES[request.param], tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def home(server: RedisServer) -> RedisPlace:
    return read_redis_url(f"{server.url}?namespace={next(NAMESPACES)}")


def key_of(home: RedisPlace, store: PlacedStore, one: Artefact, name: str, chunk: int = 0) -> str:
    known = store.ledger("app").version(one.manifest.surface, one.version)
    assert known is not None
    return f"{home.namespace}:{{app/{known.surface}/{known.version}/{known.place}}}:{name}:{chunk}"


class TestRedisStore(ActivationHints, KeptLedger, ArtefactStoreContract):
    damaged_places = 60

    @pytest.fixture
    def store(self, home: RedisPlace) -> PlacedStore:
        return redis_store(home)

    @pytest.fixture
    def twin(self, home: RedisPlace) -> PlacedStore:
        return redis_store(home)

    @pytest.fixture
    def damage(self, home: RedisPlace, store: PlacedStore, server: RedisServer) -> Damage:
        def change(one: Artefact, name: str, data: bytes) -> None:
            with redis.Redis(port=server.port) as client:
                client.set(key_of(home, store, one, name), data)

        return change

    @pytest.fixture
    def rewrite(self, home: RedisPlace, server: RedisServer) -> Rewrite:
        def change(of: Callable[[bytes], bytes | None]) -> None:
            with redis.Redis(port=server.port) as client:
                rewrite_key(client, f"{home.namespace}:{{app}}:ledger", of)

        return change


def test_a_file_of_several_chunks_comes_back_and_leaves_nothing_when_it_is_pruned(
    home: RedisPlace, server: RedisServer
) -> None:
    address = Address(application="app", surface="s", version="0" * 32, place="1")
    shelf = RedisShelf(RedisLink(home))
    data = bytes(range(256)) * (CHUNK_BYTES // 128)  # two chunks to the byte
    files = {"vectors.npy": data, "rows.npy": b"", "words.json": data + b"x"}
    shelf.write(address, files)
    for name, content in files.items():
        assert shelf.read(address, name, ceiling=len(content)) == content
    assert shelf.read(address, "vectors.npy", ceiling=10) == data[:11]
    assert shelf.read(address, "names.json", ceiling=10) is None
    with redis.Redis(port=server.port) as client:
        keys = list(client.scan_iter(f"{home.namespace}:*"))
        assert sorted(client.strlen(key) for key in keys) == [0, 1, 1, *[CHUNK_BYTES] * 4]  # and that it is whole
        shelf.delete(address)
        assert list(client.scan_iter(f"{home.namespace}:*")) == []


def test_a_crash_after_the_announcement_leaves_nothing_that_the_next_prune_does_not_find(
    home: RedisPlace, server: RedisServer
) -> None:
    class Dying(RedisShelf):
        def write(self, address: Address, files: Mapping[str, bytes]) -> None:
            super().write(address, dict(list(files.items())[:4]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PlacedStore(Dying(RedisLink(home)), new_place=lambda: "0").publish(artefact(), at=NOW)
    store = redis_store(home)
    assert store.ledger("app").versions == ()
    assert len(store.ledger("app").writing) == 1
    store.prune("app", keep=1, unused_since=NOW)
    assert len(store.ledger("app").writing) == 1  # it may still be at work
    store.prune("app", keep=1, unused_since=NOW + timedelta(hours=1))
    assert store.ledger("app").writing == ()
    with redis.Redis(port=server.port) as client:
        keys = sorted(key for key in client.scan_iter(f"{home.namespace}:*") if client.ttl(key) < 0)
    assert keys == [f"{home.namespace}:applications".encode(), f"{home.namespace}:{{app}}:ledger".encode()]


def test_hints_that_come_in_a_flood_are_one_hint(home: RedisPlace, server: RedisServer) -> None:
    store, channel, flood = redis_store(home), f"{home.namespace}:activations", 2_000
    with redis.Redis(port=server.port) as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.wait_for_change, 30.0)
        until(lambda: dict(client.pubsub_numsub(channel))[channel.encode()] == 1)
        with client.pipeline(transaction=False) as pipeline:
            for _ in range(flood):
                pipeline.publish(channel, "app")
            pipeline.execute()
        waiting.result(60)
        more = 0
        while more < flood and _is_hinted(store, within=0.2):
            more += 1
    assert more < 20  # those that were still on their way


def test_who_could_not_listen_for_a_while_is_told_so_once_the_server_is_back(tmp_path: Path) -> None:
    server = start(BINARIES["redis-8"], tmp_path)
    place = read_redis_url(server.url)
    with ThreadPoolExecutor(1) as pool:
        try:
            waiting = pool.submit(_is_hinted, followed_redis_store(place), within=60.0)
            with redis.Redis(port=server.port) as client:
                until(lambda: client.pubsub_channels() != [])
        finally:
            server.stop()
        server = start(BINARIES["redis-8"], tmp_path, port=server.port)
        try:
            assert waiting.result(30)
        finally:
            server.stop()


def _is_hinted(store: PlacedStore, *, within: float) -> bool:
    began = time.monotonic()
    store.wait_for_change(within)
    return time.monotonic() - began < within


def test_a_damaged_ledger_is_named_by_its_key(home: RedisPlace, server: RedisServer) -> None:
    store = redis_store(home)
    store.publish(artefact(), at=NOW)
    with redis.Redis(port=server.port) as client:
        client.set(f"{home.namespace}:{{app}}:ledger", b"{}")
    with pytest.raises(ArtefactError, match=r"\{app\}:ledger: .*; delete it and deploy again"):
        store.active("app")
    assert store.applications() == ("app",)


def test_a_server_that_may_forget_or_is_full_is_refused_beforehand(home: RedisPlace, server: RedisServer) -> None:
    store = redis_store(home)
    with redis.Redis(port=server.port) as client:
        try:
            client.config_set("maxmemory", 50_000_000)
            store.prepare("app", size=1)
            with pytest.raises(StoreError, match=r"are needed and .* are free"):
                store.prepare("app", size=10**9)
            client.config_set("maxmemory-policy", "allkeys-lru")
            with pytest.raises(StoreError, match="maxmemory-policy allkeys-lru"):
                store.prepare("app", size=1)
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", 1)
            with pytest.raises(StoreError, match="memory is full"):
                store.publish(artefact(), at=NOW)
        finally:
            client.config_set("maxmemory", 0)


def test_each_refusal_of_the_server_says_what_mends_it(home: RedisPlace, server: RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        client.execute_command(
            "ACL", "SETUSER", "reader", "on", ">open", "~*", "+get", "+getrange", "+client", "+hello"
        )
    at = f"127.0.0.1:{server.port}"
    for url, told in (
        (f"redis://reader:wrong@{at}", "refuses the user or the password"),
        (f"redis+cluster://{at}", r"is no cluster; say redis://"),
    ):
        with pytest.raises(StoreError, match=told):
            redis_store(read_redis_url(url)).active("app")
    reader = redis_store(read_redis_url(f"redis://reader:open@{at}?namespace={home.namespace}"))
    assert reader.active("app") is None
    with pytest.raises(StoreError, match="lacks a right"):
        reader.publish(artefact(), at=NOW)


def test_the_rights_that_the_documentation_names_are_all_that_a_user_needs(
    home: RedisPlace, server: RedisServer
) -> None:
    alone, newer, replicas, _ = documented_rights()
    with redis.Redis(port=server.port) as client:
        older = client.info("server")["redis_version"].startswith("7.0.")
    for rights in (alone, alone + replicas) if older else (alone, alone + newer, alone + newer + replicas):
        grant(server, "deployer", home.namespace, rights)
        url = f"redis://deployer:open@{home.host}:{home.port}?namespace={home.namespace}"
        use_everything(redis_store(read_redis_url(url)))


def test_a_server_that_takes_no_writes_for_want_of_replicas_may_be_waited_for(
    home: RedisPlace, server: RedisServer
) -> None:
    store = redis_store(home)
    with redis.Redis(port=server.port) as client:
        client.config_set("min-replicas-to-write", 1)
        try:
            with pytest.raises(StoreUnavailableError, match="min-replicas-to-write"):
                store.publish(artefact(), at=NOW)
        finally:
            client.config_set("min-replicas-to-write", 0)
    store.publish(artefact(), at=NOW)


def test_a_server_that_goes_away_is_unavailable_and_serves_again_when_it_is_back(tmp_path: Path) -> None:
    binary, port = BINARIES["redis-8"], free_port()
    options = ("--appendonly", "yes", "--appendfsync", "always")
    one = artefact()
    first = start(binary, tmp_path, *options, port=port)
    store = redis_store(read_redis_url(first.url))
    try:
        store.publish(one, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
    finally:
        first.stop()
    with pytest.raises(StoreUnavailableError, match="cannot be reached now"):
        store.active("app")
    second = start(binary, tmp_path, *options, port=port)
    try:
        assert store.active("app") == release(one)
        assert loaded(store, one).files == one.files
    finally:
        second.stop()


def test_who_follows_a_store_waits_once_for_a_server_that_hangs_and_not_for_each_thing(tmp_path: Path) -> None:
    one, wait_s, asked = artefact(), 0.5, 100
    with running(BINARIES["redis-8"], tmp_path) as server:
        place = read_redis_url(server.url)
        store = redis_store(place)
        store.publish(one, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
        followed = followed_redis_store(place, waits=RedisWaits(connect_s=wait_s, answer_s=wait_s, tries=0))
        assert loaded(followed, one) == one
        server.stop(signal.SIGSTOP)
        began = time.monotonic()
        for _ in range(asked):
            with pytest.raises(StoreUnavailableError):
                followed.active("app")
            with pytest.raises(StoreUnavailableError):
                loaded(followed, one)
            with pytest.raises(StoreUnavailableError):
                followed.applications()
        assert time.monotonic() - began < asked * wait_s / 2
        server.stop(signal.SIGCONT)
        until(lambda: _names(followed) == ("app",))
        assert loaded(followed, one) == one


def _names(store: PlacedStore) -> tuple[str, ...] | None:
    try:
        return store.applications()
    except StoreUnavailableError:
        return None


def test_a_catalog_is_deployed_to_a_server_and_served_from_it(
    home: RedisPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = tmp_path / "catalog.json"
    catalog.write_bytes(catalog_json(tool_json("create_issue"), tool_json("list_files")))
    at = ("--store", f"{home.name}?namespace={home.namespace}")
    assert run((DEPLOY,), "toolsurface", ["deploy", str(catalog), *at]) == 0
    assert run((RANK,), "toolsurface", ["rank", "reader", "list my files", *at]) == 0
    assert "list_files" in capsys.readouterr().out


def test_an_application_that_a_failover_took_off_the_list_is_on_it_again_after_a_deploy_that_changes_nothing(
    home: RedisPlace, server: RedisServer
) -> None:
    store, one = redis_store(home), artefact()
    store.publish(one, at=NOW)
    store.activate(release(one), expected=None, at=NOW)
    with redis.Redis(port=server.port) as client:
        client.delete(f"{home.namespace}:applications")
    assert store.applications() == ()
    store.activate(release(one), expected=release(one).id, at=NOW)
    assert store.applications() == ("app",)


def test_what_a_replica_has_not_confirmed_is_no_success_and_a_second_try_confirms_it(tmp_path: Path) -> None:
    one, waits = artefact(), RedisWaits(replica_s=0.2)
    with (
        running(BINARIES["redis-8"], tmp_path, "--repl-diskless-sync-delay", "0") as primary,
        running(BINARIES["redis-8"], tmp_path, "--replicaof", f"127.0.0.1 {primary.port}") as replica,
    ):
        store = redis_store(read_redis_url(primary.url), waits=waits)
        with redis.Redis(port=primary.port) as client:
            until(lambda: client.info("replication").get("slave0", {}).get("state") == "online")
        store.publish(one, at=NOW)
        replica.stop(signal.SIGSTOP)
        # A first try, one that finds it active, and one whose first answer was lost.
        for expected in (None, release(one).id, None):
            with pytest.raises(StoreUnavailableError, match="a failover may undo it"):
                store.activate(release(one), expected=expected, at=NOW)
        replica.stop(signal.SIGCONT)
        store.activate(release(one), expected=release(one).id, at=NOW)
        primary.stop()
        with redis.Redis(port=replica.port) as client:
            client.execute_command("REPLICAOF", "NO", "ONE")
        promoted = redis_store(read_redis_url(replica.url))
        assert promoted.applications() == ("app",)
        assert promoted.active("app") == release(one)
        assert loaded(promoted, one).files == one.files
