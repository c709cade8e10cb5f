"""The `Embedder` port: texts in, unit vectors out.

Rules every embedder keeps (`tests/contracts/embedder_contract.py` holds each implementation to them):

1. Row *i* of the answer belongs to text *i*, whatever order or batches the work was done in.
2. Rows have length 1 (L2), so an inner product is a cosine.
3. A text's vector does not depend on its neighbours in the call: alone or among others, at most 1e-5
   apart in any dimension. An index is built in batches and asked one query at a time.
4. The same text gives the same vector in every process with the same `manifest.identity`.
5. Any `str` is accepted: empty, very long, control characters, lone surrogates.
6. Threads may share one embedder.

Not here: prefixes and limits (the manifest's), reading models from disk and running them (adapters).
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from models.manifest import ModelManifest

__all__ = ["Embedder", "Vectors"]

Vectors: TypeAlias = NDArray[np.float32]
"""Shape (number of texts, dimension), float32, each row of length 1."""


class Embedder(Protocol):
    """A pinned model that turns texts into vectors."""

    @property
    def manifest(self) -> ModelManifest:
        """Which model this is; an index records `manifest.identity` beside its vectors."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what people or models ask: shape (len(texts), dimension), also for no texts.

        Raises `InvalidTextsError` for anything but a sequence of strings, `EmbeddingError` if the engine fails.
        """
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what is searched: shape (len(texts), dimension), also for no texts.

        Raises `InvalidTextsError` for anything but a sequence of strings, `EmbeddingError` if the engine fails.
        """
        ...
