"""The deploys of a soak: each changes every name of every surface, so that an answer shows which one it is from."""

from __future__ import annotations

from datetime import UTC, datetime

from indexer.deploy import deploy
from indexer.memory_store import MemoryStore
from indexer.ports import ArtefactStore
from models.embedder import Embedder
from tests.selector.builders import TOOLS, catalog
from tests.soak.history import Deployed

APPLICATION = "soak"
SURFACES = ("reader", "writer", "clerk")


def rehearsed(number: int, embedder: Embedder) -> Deployed:
    """What deploy number so and so puts into a store, known before it does."""
    store = MemoryStore()
    versions = put(store, number, embedder)
    digests = {
        surface: store.load(APPLICATION, surface, version).manifest.catalog_digest
        for surface, version in versions.items()
    }
    return Deployed(number=number, versions=versions, digests=digests)


def put(store: ArtefactStore, number: int, embedder: Embedder) -> dict[str, str]:
    """Deploys it; the versions by surface. Raises `indexer.errors.IndexerError` where the store is away."""
    surfaces = {surface: {_name(number, surface, tool): text for tool, text in TOOLS.items()} for surface in SURFACES}
    made = catalog(surfaces, application=APPLICATION, deploy=str(number))
    result = deploy(made, embedder=embedder, store=store, now=lambda: datetime.now(UTC))
    return {each.surface: each.version for each in result.surfaces}


def names_of(number: int) -> dict[str, tuple[int, str]]:
    """Of each tool's name of that deploy, the deploy and the surface."""
    return {_name(number, surface, tool): (number, surface) for surface in SURFACES for tool in TOOLS}


def _name(number: int, surface: str, tool: str) -> str:
    return f"v{number}_{surface}_{tool}"
