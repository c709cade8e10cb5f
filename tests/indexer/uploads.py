"""A place for vectors that remembers what was uploaded to it."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from indexer.adapters.faiss_index import FaissVectorIndex
from indexer.artefact import IndexManifest
from indexer.ports import VectorIndex


class Uploads:
    """Implements `indexer.ports.VectorStore` in memory."""

    def __init__(self) -> None:
        self.surfaces: list[str] = []

    def prepare(self, application: str) -> None:
        """Memory is always ready."""

    def index_of(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> VectorIndex:
        self.upload(manifest, vectors)
        return FaissVectorIndex(vectors)

    def upload(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> None:
        assert vectors.shape == (manifest.tools, manifest.dimension)
        self.surfaces.append(manifest.surface)

    def prune(
        self, application: str, *, kept: Callable[[], Collection[tuple[str, str]]]
    ) -> tuple[tuple[str, str], ...]:
        raise NotImplementedError
