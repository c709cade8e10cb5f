"""The store in an object store keeps the contract of all stores, as far as obstore's own stores go."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore, ObjectStore, S3Store

from indexer.adapters.object_store import placed_in
from indexer.adapters.opening import open_store
from indexer.artefact import Artefact
from indexer.errors import StoreError, StoreUnavailableError
from indexer.folder_name import folder_of
from indexer.placed_store import PlacedStore
from indexer.ports import ArtefactStore
from tests.contracts.artefact_store_contract import ArtefactStoreContract, Damage, damaged
from tests.indexer.redis_server import free_port
from tests.indexer.s3_server import serving_s3
from tests.indexer.samples import NOW, artefact

PREFIXES = (f"prefix-{number}" for number in itertools.count())
SECRET = "zebra-crossing-7731"  # noqa: S105 - that is the point


def damage_in(bucket: ObjectStore, store: ArtefactStore) -> Damage:
    def change(one: Artefact, name: str) -> None:
        known = store.ledger("app").version(one.manifest.surface, one.version)
        assert known is not None
        folder = f"applications/app/versions/{folder_of('surface', known.surface)}/{known.version}/{known.place}"
        obstore.put(bucket, f"{folder}/{name}", damaged(one.files[name]))

    return change


class TestObjectStoreInMemory(ArtefactStoreContract):
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


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving_s3("bucket") as url:
        yield url


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """What an operator sets."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


@pytest.mark.usefixtures("provider")
class TestObjectStoreOverS3(ArtefactStoreContract):
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


@pytest.mark.usefixtures("provider")
def test_a_bucket_that_is_not_there_is_no_empty_store() -> None:
    store = open_store("s3://nowhere/prefix")
    with pytest.raises(StoreError, match="the bucket is not there; make it"):
        store.active("app")
    with pytest.raises(StoreError, match="the bucket is not there; make it"):
        store.publish(artefact(), at=NOW)


@pytest.mark.usefixtures("provider")
def test_a_service_that_cannot_be_reached_is_unavailable_and_no_secret_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(StoreUnavailableError, match="cannot be reached now") as caught:
        open_store("s3://bucket/prefix").active("app")
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_object_store_without_conditional_puts_is_refused(tmp_path: Path) -> None:
    store = placed_in(LocalStore(tmp_path), name="file:///somewhere")
    with pytest.raises(StoreError, match=r"cannot replace an object conditionally.*use a directory"):
        store.publish(artefact(), at=NOW)
    assert store.ledger("app").versions == ()
