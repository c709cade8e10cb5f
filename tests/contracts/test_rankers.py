"""The contract of the Ranker port, on the three rankers there are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from pydantic import BaseModel

from indexer.adapters.directory_store import DirectoryStore
from indexer.memory_store import MemoryStore
from models.adapters.onnx import default_embedder
from models.hashing import HashingEmbedder
from selector.ranking import LEGS, Leg
from selector.service import Selector
from surface.adapters.selector_client import SelectorClient
from surface.identity import catalog_digest as digest_of
from surface.identity import tool_digest
from surface.input_model import PydanticInput
from surface.lexical_ranker import LexicalRanker
from surface.limits import Limits
from surface.protocol import RankReply
from surface.ranking import Ranker, RankRequest
from surface.registry import CheckedSurface, Surface, build_registry
from surface.tool import Tool
from tests.contracts.ranker_contract import RankerContract
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, library_over, put
from tests.selector.server_process import running_server

BACKWARDS = dict(reversed(list(TOOLS.items())))


@pytest.fixture(scope="module")
def catalog_digest() -> str:
    schema = {"type": "object", "properties": {}}
    return digest_of(
        tool_digest(name=name, description=text, input_schema=schema, service=None) for name, text in TOOLS.items()
    )


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    store = DirectoryStore(folder / "store")
    put(store, {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    # The twin application holds the same tools in another order.
    put(store, {SURFACE: BACKWARDS}, application="twin", embedder=default_embedder(threads=1))
    with running_server(folder / "store", log=folder / "log") as server:
        yield server.url


class TestLexicalRanker(RankerContract):
    @pytest.fixture
    def ranker(self) -> Ranker:
        return LexicalRanker(_checked(TOOLS))

    @pytest.fixture
    def shuffled(self) -> Ranker:
        return LexicalRanker(_checked(BACKWARDS))

    @pytest.fixture
    def catalog_digest(self) -> str:
        (checked,) = _checked(TOOLS)
        return checked.catalog.digest


class TestSelector(RankerContract):
    @pytest.fixture(params=[leg for leg in LEGS if leg != "dense"])
    def leg(self, request: pytest.FixtureRequest) -> Leg:
        return request.param  # type: ignore[no-any-return]  # pytest does not type parameters

    @pytest.fixture
    def ranker(self, leg: Leg) -> Iterator[Ranker]:
        with ThreadPoolExecutor(2) as executor:
            yield _selector(TOOLS, leg, executor)

    @pytest.fixture
    def shuffled(self, leg: Leg) -> Iterator[Ranker]:
        with ThreadPoolExecutor(2) as executor:
            yield _selector(BACKWARDS, leg, executor)


class TestSelectorClient(RankerContract):
    @pytest.fixture
    async def ranker(self, url: str) -> AsyncIterator[Ranker]:
        async with SelectorClient(url, timeout=10) as client:
            yield client

    @pytest.fixture
    async def shuffled(self, url: str) -> AsyncIterator[Ranker]:
        async with SelectorClient(url, timeout=10) as client:
            yield _OfTwin(client)


class _OfTwin:
    """Asks the same of the twin application."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self.id = ranker.id

    async def rank(self, request: RankRequest) -> RankReply:
        return await self._ranker.rank(replace(request, application="twin"))


def _selector(tools: Mapping[str, str], leg: Leg, executor: ThreadPoolExecutor) -> Selector:
    store, embedder = MemoryStore(), HashingEmbedder()
    put(store, {SURFACE: tools}, embedder=embedder)
    library = library_over(store, embedder)
    library.refresh()
    # Hashed words are no yardstick of meaning: nothing would ever fit.
    return Selector(indexes=library, embedder=embedder, executor=executor, leg=leg, strictness=0.0)


class _NoInput(BaseModel):
    """Takes nothing."""


def _checked(tools: Mapping[str, str]) -> list[CheckedSurface]:
    made = [
        Tool(name=name, description=text, input=PydanticInput(_NoInput), handler=lambda *_: None)
        for name, text in tools.items()
    ]
    registry = build_registry(
        APPLICATION, [Surface(key=SURFACE, tools=made)], limits=Limits(), search_tool="search_tools"
    )
    return list(registry.surfaces.values())
