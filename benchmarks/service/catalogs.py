"""Stores with one surface of any size, made in seconds: real tools, drawn vectors.

A search compares the query with every vector whatever they hold, so drawn ones cost what real ones cost; embedding
100,000 tools would take half an hour. What they answer means nothing, and the service is told never to abstain.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.deploy import tools
from indexer.adapters.directory_store import DirectoryStore
from indexer.catalog_file import read_catalog
from indexer.deploy import deploy
from models.adapters.onnx import default_embedder
from models.embedder import Vectors
from models.hashing import HashingEmbedder
from models.manifest import ModelManifest

APPLICATION: Final = "bench"
SURFACE: Final = "all"


class DrawnVectors:
    """Vectors of the real model's size, under its name."""

    def __init__(self) -> None:
        self.manifest: ModelManifest = default_embedder(threads=1).manifest
        self._drawn = HashingEmbedder(dimension=self.manifest.dimension)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """By the words' hashes."""
        return self._drawn.embed_queries(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """By the words' hashes."""
        return self._drawn.embed_documents(texts)


def put_catalog(store: Path, size: int, *, bench: Path, edition: str = "1") -> None:
    """Deploys a catalog of so many tools; each edition has one tool that no other has."""
    chosen = list(islice(tools(bench), size - 1))
    chosen.append({"name": f"edition_{edition}", "description": "Says which", "input_schema": {"type": "object"}})
    written = {"version": 1, "application": APPLICATION, "surfaces": {SURFACE: {"tools": chosen}}}
    catalog = read_catalog(json.dumps(written).encode(), skip_invalid=True).catalog
    deploy(catalog, embedder=DrawnVectors(), store=DirectoryStore(store), now=lambda: datetime.now(UTC))
