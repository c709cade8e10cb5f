"""The store in an object store keeps the contract of all stores, as far as obstore's own stores go."""

from __future__ import annotations

from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore, ObjectStore

from indexer.adapters.object_store import placed_in
from indexer.artefact import Artefact
from indexer.errors import StoreError
from indexer.folder_name import folder_of
from indexer.placed_store import PlacedStore
from tests.contracts.artefact_store_contract import ArtefactStoreContract, Damage, damaged
from tests.indexer.samples import NOW, artefact


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
        def change(one: Artefact, name: str) -> None:
            known = store.ledger("app").version(one.manifest.surface, one.version)
            assert known is not None
            folder = f"applications/app/versions/{folder_of('surface', known.surface)}/{known.version}/{known.place}"
            obstore.put(bucket, f"{folder}/{name}", damaged(one.files[name]))

        return change


def test_an_object_store_without_conditional_puts_is_refused(tmp_path: Path) -> None:
    store = placed_in(LocalStore(tmp_path), name="file:///somewhere")
    with pytest.raises(StoreError, match=r"cannot replace an object conditionally.*use a directory"):
        store.publish(artefact(), at=NOW)
    assert store.ledger("app").versions == ()
