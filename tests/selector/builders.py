"""Small catalogs, stores and embedders for the selector's tests. All real code, nothing patched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime

from indexer.adapters.usual_index import open_artefact
from indexer.catalog_file import Catalog, CatalogTool, SurfaceCatalog
from indexer.deploy import deploy
from indexer.deployed import DeployResult
from indexer.ports import ArtefactStore
from models.embedder import Embedder, Vectors
from models.errors import EmbeddingError
from models.hashing import HashingEmbedder
from models.manifest import ModelManifest
from selector.library import Library
from surface.ranking import RankRequest

APPLICATION = "shop"
NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)
SURFACE = "reader"
TOOLS: Mapping[str, str] = {
    "invoices_list": "List the invoices of a customer",
    "invoices_send": "Send an invoice to a customer by mail",
    "weather_forecast": "Tell the weather forecast of a city",
    "file_delete": "Delete a file from the disk",
    "file_copy": "Copy a file to another folder",
    "translate_text": "Translate a text into another language",
    "calendar_add_event": "Add an event to the calendar",
    "currency_convert": "Convert an amount of money between currencies",
}


def catalog(surfaces: Mapping[str, Mapping[str, str]], *, application: str = APPLICATION, deploy: str = "1") -> Catalog:
    """A catalog from surface → name → description."""
    return Catalog(
        application=application,
        deploy=deploy,
        surfaces={
            key: SurfaceCatalog(
                tools=tuple(
                    CatalogTool(name=name, description=text, input_schema={"type": "object", "properties": {}})
                    for name, text in tools.items()
                )
            )
            for key, tools in surfaces.items()
        },
    )


def put(
    store: ArtefactStore,
    surfaces: Mapping[str, Mapping[str, str]],
    *,
    application: str = APPLICATION,
    embedder: Embedder | None = None,
) -> DeployResult:
    """Deploys a catalog to a store."""
    made = catalog(surfaces, application=application)
    return deploy(made, embedder=embedder or HashingEmbedder(), store=store, now=lambda: NOW)


def library_over(
    store: ArtefactStore,
    embedder: Embedder | None = None,
    *,
    budget: int | None = None,
    loader: Executor | None = None,
    monotonic: Callable[[], float] = float,
) -> Library:
    """A library of the store, not yet refreshed; a tool weighs one byte of the budget."""
    model = (embedder or HashingEmbedder()).manifest.identity
    return Library(
        store=store,
        open_artefact=open_artefact,
        model=model,
        weigh=lambda manifest: manifest.tools,
        budget=budget,
        loader=loader,
        monotonic=monotonic,
    )


def ask(
    query: str,
    *,
    surface: str = SURFACE,
    application: str = APPLICATION,
    limit: int = 5,
    catalog_digest: str | None = None,
) -> RankRequest:
    """One request."""
    return RankRequest(
        application=application, surface=surface, query=query, limit=limit, catalog_digest=catalog_digest
    )


class BrokenEmbedder:
    """An embedder whose engine fails on every query; its documents are those of the hashing one."""

    def __init__(self) -> None:
        self._real = HashingEmbedder()

    @property
    def manifest(self) -> ModelManifest:
        return self._real.manifest

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingError("the engine failed")

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._real.embed_documents(texts)
