"""A version is asked before it serves exactly as it will be asked when it does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from indexer.adapters.usual_index import open_artefact
from indexer.canaries import Canary
from indexer.deploy import deploy
from indexer.errors import CanaryError, RehearsalError
from indexer.memory_store import MemoryStore
from models.embedder import Embedder
from models.hashing import HashingEmbedder
from selector.rehearsal import SelectorRehearsal
from selector.service import Selector
from tests.selector.builders import APPLICATION, NOW, SURFACE, TOOLS, BrokenEmbedder, ask, catalog, library_over, put


@pytest.fixture
def executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def rehearsal(executor: Executor, embedder: Embedder) -> SelectorRehearsal:
    return SelectorRehearsal(open_artefact=open_artefact, embedder=embedder, executor=executor)


async def test_the_answers_are_those_of_the_service(executor: Executor) -> None:
    store, embedder = MemoryStore(), HashingEmbedder()
    put(store, {SURFACE: TOOLS})
    library = library_over(store)
    library.refresh()
    selector = Selector(indexes=library, embedder=embedder, executor=executor)
    active = store.active(APPLICATION)
    assert active is not None
    artefact = store.load(APPLICATION, SURFACE, active.surfaces[SURFACE].version)
    queries = ["send an invoice", "copy a file", "file_delete", "weather"]
    served = [[one.name for one in (await selector.rank(ask(query, limit=4))).ranked] for query in queries]
    asked = await asyncio.to_thread(rehearsal(executor, embedder), artefact, queries, 4)
    assert list(asked) == served


def test_a_deploy_is_held_back_by_a_canary_that_its_ranking_misses(executor: Executor) -> None:
    store, embedder = MemoryStore(), HashingEmbedder()
    found = Canary(line=1, surface=SURFACE, query="send an invoice by mail", tool="invoices_send", first=1)
    missed = Canary(line=2, surface=SURFACE, query="send an invoice by mail", tool="file_delete", first=1)
    made = catalog({SURFACE: TOOLS})
    with pytest.raises(CanaryError, match="line 2: file_delete"):
        deploy(
            made,
            embedder=embedder,
            store=store,
            now=lambda: NOW,
            canaries=[found, missed],
            rehearse=rehearsal(executor, embedder),
        )
    assert store.active(APPLICATION) is None
    deploy(
        made,
        embedder=embedder,
        store=store,
        now=lambda: NOW,
        canaries=[found],
        rehearse=rehearsal(executor, embedder),
    )
    assert store.active(APPLICATION) is not None


def test_a_degraded_ranking_judges_no_canary(executor: Executor) -> None:
    canary = Canary(line=1, surface=SURFACE, query="send an invoice by mail", tool="invoices_send", first=1)
    with pytest.raises(RehearsalError, match="degraded"):
        deploy(
            catalog({SURFACE: TOOLS}),
            embedder=HashingEmbedder(),
            store=MemoryStore(),
            now=lambda: NOW,
            canaries=[canary],
            rehearse=rehearsal(executor, BrokenEmbedder()),
        )
