"""The store in memory keeps the contract of all stores."""

from __future__ import annotations

import pytest

from indexer.artefact import Artefact
from indexer.memory_store import MemoryStore
from tests.contracts.artefact_store_contract import ActivationHints, ArtefactStoreContract, Damage


class TestMemoryStore(ActivationHints, ArtefactStoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()

    @pytest.fixture
    def twin(self, store: MemoryStore) -> MemoryStore:
        return store

    @pytest.fixture
    def damage(self, store: MemoryStore) -> Damage:
        def change(one: Artefact, name: str, data: bytes) -> None:
            files = {**one.files, name: data}
            place = (one.manifest.application, one.manifest.surface, one.version)
            store._artefacts[place] = Artefact(manifest=one.manifest, files=files)

        return change
