"""What the library call adds to `deploy`: how much is embedded together."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import pytest

from indexer.deploying import deploy_catalog
from indexer.embedding import AT_ONCE, LOT
from indexer.memory_store import MemoryStore
from models.embedder import Vectors
from tests.indexer.embedders import Listening
from tests.indexer.samples import catalog, tool


class TakingTurns(Listening):
    """An embedder of one call at a time, in whose first call somebody presses Ctrl-C."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = Lock()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        with self._turn:
            vectors = super().embed_documents(texts)
            if len(self.batches) == 1:
                raise KeyboardInterrupt
            return vectors


def test_an_interruption_waits_for_few_lots_of_an_embedder_that_takes_turns_however_many_cores_there_are() -> None:
    embedder = TakingTurns()
    tools = [tool(f"tool_{number}", f"Does thing {number}.") for number in range(20 * LOT)]
    with pytest.raises(KeyboardInterrupt):
        deploy_catalog(catalog(reader=tools), store=MemoryStore(), embedder=embedder, remember=False, threads=16)
    assert len(embedder.batches) <= AT_ONCE
