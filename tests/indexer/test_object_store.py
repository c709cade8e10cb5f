"""The store in an object store keeps the contract of all stores, as far as obstore's own stores go."""

from __future__ import annotations

import itertools
import signal
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore, ObjectStore, S3Store

from indexer.adapters.object_store import (
    ObjectShelf,
    ObjectWaits,
    followed_object_store,
    object_store,
    placed_in,
    read_object_url,
)
from indexer.adapters.opening import open_store
from indexer.artefact import Artefact
from indexer.errors import StoreError, StoreUnavailableError
from indexer.folder_name import folder_of
from indexer.placed_store import PlacedStore
from indexer.ports import ArtefactStore
from indexer.shelf import Address
from tests.contracts.artefact_store_contract import (
    ArtefactStoreContract,
    Damage,
    KeptLedger,
    Rewrite,
)
from tests.indexer.redis_cluster import until
from tests.indexer.redis_server import free_port
from tests.indexer.s3_server import running_s3, s3_settings, serving_s3
from tests.indexer.samples import NOW, artefact, release

PREFIXES = (f"prefix-{number}" for number in itertools.count())
SECRET = "zebra-crossing-7731"  # noqa: S105 - that is the point


def damage_in(bucket: ObjectStore, store: ArtefactStore) -> Damage:
    def change(one: Artefact, name: str, data: bytes) -> None:
        known = store.ledger("app").version(one.manifest.surface, one.version)
        assert known is not None
        folder = f"applications/app/versions/{folder_of('surface', known.surface)}/{known.version}/{known.place}"
        obstore.put(bucket, f"{folder}/{name}", data)

    return change


def rewrite_in(bucket: ObjectStore) -> Rewrite:
    def change(of: Callable[[bytes], bytes | None]) -> None:
        path = "applications/app/ledger.json"
        data = of(bytes(obstore.get(bucket, path).bytes()))
        if data is None:
            obstore.delete(bucket, path)
        else:
            obstore.put(bucket, path, data)

    return change


class TestObjectStoreInMemory(KeptLedger, ArtefactStoreContract):
    @pytest.fixture
    def bucket(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def store(self, bucket: ObjectStore) -> PlacedStore:
        return placed_in(bucket, name="s3://bucket")

    @pytest.fixture
    def twin(self, bucket: ObjectStore) -> PlacedStore:
        return placed_in(bucket, name="s3://bucket")

    @pytest.fixture
    def damage(self, bucket: ObjectStore, store: PlacedStore) -> Damage:
        return damage_in(bucket, store)

    @pytest.fixture
    def rewrite(self, bucket: ObjectStore) -> Rewrite:
        return rewrite_in(bucket)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving_s3("bucket") as url:
        yield url


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    for name, value in s3_settings(endpoint, secret=SECRET).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("provider")
class TestObjectStoreOverS3(KeptLedger, ArtefactStoreContract):
    damaged_places = 12

    @pytest.fixture
    def url(self) -> str:
        return f"s3://bucket/{next(PREFIXES)}"

    @pytest.fixture
    def store(self, url: str, provider: None) -> ArtefactStore:
        return open_store(url)

    @pytest.fixture
    def twin(self, url: str, provider: None) -> ArtefactStore:
        return open_store(url)

    @pytest.fixture
    def damage(self, url: str, store: ArtefactStore) -> Damage:
        return damage_in(S3Store.from_url(url, client_options={"allow_http": True}), store)

    @pytest.fixture
    def rewrite(self, url: str, provider: None) -> Rewrite:
        return rewrite_in(S3Store.from_url(url, client_options={"allow_http": True}))


@pytest.mark.usefixtures("provider")
def test_a_bucket_that_is_not_there_is_no_empty_store() -> None:
    store = open_store("s3://nowhere/prefix")
    with pytest.raises(StoreError, match="the bucket is not there; make it"):
        store.active("app")
    with pytest.raises(StoreError, match="the bucket is not there; make it"):
        store.publish(artefact(), at=NOW)


@pytest.mark.usefixtures("provider")
def test_a_service_that_cannot_be_reached_is_unavailable_and_no_secret_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://user:{SECRET}@127.0.0.1:{free_port()}")
    with pytest.raises(StoreUnavailableError, match="cannot be reached now") as caught:
        open_store("s3://bucket/prefix").active("app")
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value)


RANGE = 16 * 1024 * 1024


@pytest.mark.parametrize("size", [0, 1, RANGE - 1, RANGE, RANGE + 1, 2 * RANGE, 2 * RANGE + 1])
def test_an_object_of_any_size_is_read_whole_and_never_further_than_one_byte_past_the_ceiling(size: int) -> None:
    shelf = ObjectShelf(MemoryStore(), name="s3://bucket")
    address = Address(application="app", surface="s", version="0" * 32, place="1")
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    shelf.write(address, {"file": data})
    for ceiling in (size, size + 1, 2 * size + RANGE):
        assert shelf.read(address, "file", ceiling=ceiling) == data
    for ceiling in (0, size // 2, max(0, size - 1)):
        assert shelf.read(address, "file", ceiling=ceiling) == data[: ceiling + 1]
    assert shelf.read(address, "other", ceiling=size) is None


@pytest.mark.usefixtures("provider")
def test_an_object_of_no_bytes_is_told_from_one_that_is_not_there_over_s3_too() -> None:
    store = S3Store.from_url(f"s3://bucket/{next(PREFIXES)}", client_options={"allow_http": True})
    shelf = ObjectShelf(store, name="s3://bucket")
    address = Address(application="app", surface="s", version="0" * 32, place="1")
    shelf.write(address, {"file": b""})
    assert shelf.read(address, "file", ceiling=10) == b""
    assert shelf.read(address, "other", ceiling=10) is None


@pytest.mark.usefixtures("provider")
def test_a_service_that_is_away_is_not_asked_a_second_time_for_the_size_of_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(obstore, "head", lambda *what: asked.append(what))
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    away = S3Store.from_url(
        "s3://bucket",
        client_options={"allow_http": True},
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=1)},
    )
    address = Address(application="app", surface="s", version="0" * 32, place="1")
    with pytest.raises(StoreUnavailableError, match="cannot be reached now"):
        ObjectShelf(away, name="s3://bucket").read(address, "file", ceiling=10)
    assert asked == []


class Forgetful(ObjectShelf):
    """Somebody else is always faster at deleting, on a service that says so (S3 does not; Google and Azure do)."""

    def _deleted(self, paths: Sequence[str]) -> None:
        with suppress(FileNotFoundError):
            obstore.delete(self._opened, paths)
        super()._deleted(paths)


def test_what_somebody_else_has_deleted_is_deleted(tmp_path: Path) -> None:
    bucket = LocalStore(tmp_path)
    with pytest.raises(FileNotFoundError):
        obstore.delete(bucket, "nothing")  # so this store says it
    shelf = Forgetful(bucket, name="s3://bucket")
    address = Address(application="app", surface="s", version="0" * 32, place="1")
    shelf.write(address, {"a": b"1", "b": b"2", "c": b"3"})
    shelf.delete(address)
    assert [one for found in obstore.list(bucket) for one in found] == []


def test_probes_at_once_do_not_disturb_each_other_and_clear_away_what_a_kill_left(tmp_path: Path) -> None:
    bucket = LocalStore(tmp_path)
    obstore.put(bucket, "applications/app/probes/left", b"probe")
    shelf = ObjectShelf(bucket, name="s3://bucket")
    with ThreadPoolExecutor(8) as pool:
        for probed in [pool.submit(shelf.prepare, "app", size=1) for _ in range(40)]:
            probed.result(60)
    assert [one for found in obstore.list(bucket) for one in found] == []


def test_a_ledger_that_came_without_an_etag_is_not_replaced() -> None:
    bucket, one = MemoryStore(), artefact()
    placed_in(bucket, name="s3://bucket").publish(one, at=NOW)
    shelf = ObjectShelf(bucket, name="s3://bucket")
    before = shelf.read_ledger("app")
    with pytest.raises(StoreError, match="s3://bucket: gives its objects no ETag"):
        shelf.replace_ledger("app", b"another", tag={})
    assert shelf.read_ledger("app") == before


def test_an_object_store_without_conditional_puts_is_refused(tmp_path: Path) -> None:
    store = placed_in(LocalStore(tmp_path), name="file:///somewhere")
    with pytest.raises(StoreError, match=r"cannot replace an object conditionally.*use a directory"):
        store.publish(artefact(), at=NOW)
    assert store.ledger("app").versions == ()


WAIT_S = 0.5
QUICK = ObjectWaits(connect_s=WAIT_S, silence_s=WAIT_S, tries=0, tries_s=0.0)


def test_who_follows_a_service_waits_once_for_it_where_it_hangs_and_not_for_each_thing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, asked = artefact(), 100
    with running_s3("bucket") as server:
        for name, value in s3_settings(server.url).items():
            monkeypatch.setenv(name, value)
        url = read_object_url("s3://bucket/prefix")
        store = object_store(url, allow_http=True)
        store.publish(one, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
        followed = followed_object_store(url, allow_http=True, waits=QUICK)
        assert _loaded(followed, one) == one
        server.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        for _ in range(asked):
            with pytest.raises(StoreUnavailableError, match="cannot be reached now"):
                followed.active("app")
            with pytest.raises(StoreUnavailableError, match="cannot be reached now"):
                _loaded(followed, one)
            with pytest.raises(StoreUnavailableError, match="cannot be reached now"):
                followed.applications()
        assert time.monotonic() - began < asked * WAIT_S / 2
        server.process.send_signal(signal.SIGCONT)
        until(lambda: _names(followed) == ("app",))
        assert _loaded(followed, one) == one


def test_who_follows_a_service_waits_as_long_for_one_that_falls_silent_in_the_middle_of_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def begin_to_answer(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(
                b'HTTP/1.1 200 OK\r\nETag: "1"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n'
                b"Content-Length: 1000\r\n\r\nsome of it"
            )
            connection.recv(1)  # until the other side gives up

    with closing(socket.create_server(("127.0.0.1", 0))) as listening, ThreadPoolExecutor(1) as pool:
        for name, value in s3_settings(f"http://127.0.0.1:{listening.getsockname()[1]}").items():
            monkeypatch.setenv(name, value)
        answering = pool.submit(begin_to_answer, listening)
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError, match="cannot be reached now"):
            followed_object_store("s3://bucket/prefix", allow_http=True, waits=QUICK).active("app")
        assert time.monotonic() - began < 20 * WAIT_S
        answering.result(20)


def _loaded(store: ArtefactStore, one: Artefact) -> Artefact:
    return store.load("app", one.manifest.surface, one.version)


def _names(store: ArtefactStore) -> tuple[str, ...] | None:
    try:
        return store.applications()
    except StoreUnavailableError:
        return None
