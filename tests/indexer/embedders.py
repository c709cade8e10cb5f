"""Embedders that listen, lie or stop, around one that works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from models.embedder import Embedder, Vectors
from models.manifest import ModelManifest
from tests.indexer.samples import EMBEDDER


class Listening:
    """An embedder that remembers what it was asked."""

    def __init__(self, inner: Embedder = EMBEDDER) -> None:
        self._inner = inner
        self.batches: list[list[str]] = []

    @property
    def manifest(self) -> ModelManifest:
        return self._inner.manifest

    @property
    def asked(self) -> list[str]:
        return [text for batch in self.batches for text in batch]

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._inner.embed_queries(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        return self._inner.embed_documents(texts)


class Broken(Listening):
    """An embedder that answers whatever it is told to."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(self._answer, dtype=np.float32)


class Other(Listening):
    """An embedder that says it is the same model, and is not."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return -super().embed_documents(texts)


class Interrupted(Listening):
    """An embedder in whose n-th call somebody presses Ctrl-C."""

    def __init__(self, call: int = 2) -> None:
        super().__init__()
        self._call = call

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if len(self.batches) + 1 >= self._call:
            raise KeyboardInterrupt
        return super().embed_documents(texts)
