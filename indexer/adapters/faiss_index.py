"""The vector index over FAISS: flat, by inner product, built from the vectors when a version is opened.

Every vector is compared. From `HALF_PRECISION_FROM` tools on they are held in half precision: half the memory, and less
time, as a search of many vectors waits for memory. Cosines are then rounded by at most 0.001 (`docs/decisions/0015`).

FAISS's own file format is never read: mutated files of it load without a complaint. Of equal scores FAISS keeps
whichever its heap held; here equal scores stand in row order, so the same query always gets the same answer.
"""

from __future__ import annotations

from typing import Any, Final

import faiss
import numpy as np
from numpy.typing import NDArray

from indexer.nearest import Hits, nearest

HALF_PRECISION_FROM: Final = 16_384
"""Tools; where 24 MB of vectors leave the processor's caches."""


class FaissVectorIndex:
    """Nearest tools; threads may share it."""

    __slots__ = ("_dimension", "_index", "_tools")

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        """`vectors`: unit length, shape (tools, dimension); they are copied."""
        _on_this_thread_alone()
        self._tools, self._dimension = vectors.shape
        self._index = _empty(self._tools, self._dimension)
        if self._tools:
            self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))

    def search(self, queries: NDArray[np.float32], k: int) -> Hits:
        """The best k rows for each query, best first, equal scores in row order: scores and rows, (n, min(k, tools)).

        Raises ValueError where the queries are not finite vectors of this index's dimension, or k is negative.
        """
        return nearest(queries, k, tools=self._tools, dimension=self._dimension, found=self._found)

    def _found(self, queries: NDArray[np.float32], k: int) -> list[Hits]:
        _on_this_thread_alone()
        scores, rows = self._index.search(queries, k)
        return list(zip(scores, rows, strict=True))


def _on_this_thread_alone() -> None:
    """Requests are the unit of parallelism; FAISS's own threads would only fight over the cores.

    OpenMP keeps that for each thread that calls, so it is said before every call; it takes less than a microsecond.
    """
    faiss.omp_set_num_threads(1)


def bytes_of(tools: int, dimension: int) -> int:
    """What an index of so many vectors holds in memory."""
    return tools * dimension * (4 if tools < HALF_PRECISION_FROM else 2)


def _empty(tools: int, dimension: int) -> Any:
    if tools < HALF_PRECISION_FROM:
        return faiss.IndexFlatIP(dimension)
    half = faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    half.is_trained = True  # half precision learns nothing from the vectors
    return half
