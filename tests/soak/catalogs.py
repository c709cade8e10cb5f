"""The deploys of a soak: each changes every name of every surface, so that an answer shows which one it is from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from indexer.deploy import deploy
from indexer.ports import ArtefactStore
from models.embedder import Embedder
from tests.selector.builders import TOOLS, catalog

APPLICATION = "soak"
SURFACES = ("reader", "writer", "clerk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """What a deploy put into the store."""

    number: int
    versions: dict[str, str]
    """By surface."""


def put(store: ArtefactStore, number: int, embedder: Embedder) -> Deployed:
    """Deploys number so and so; raises `indexer.errors.IndexerError` where the store is away."""
    surfaces = {surface: {f"v{number}_{surface}_{name}": text for name, text in TOOLS.items()} for surface in SURFACES}
    made = catalog(surfaces, application=APPLICATION, deploy=str(number))
    result = deploy(made, embedder=embedder, store=store, now=lambda: datetime.now(UTC))
    return Deployed(number=number, versions={each.surface: each.version for each in result.surfaces})


def number_of(name: str) -> int:
    """Which deploy a tool's name is of."""
    return int(name.split("_", 1)[0].removeprefix("v"))
