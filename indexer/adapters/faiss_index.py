"""The vector index over FAISS: flat, by inner product, built from the vectors when a version is opened.

Every vector is compared. From `HALF_PRECISION_FROM` tools on they are held in half precision: half the memory, and less
time, as a search of many vectors waits for memory. Cosines are then rounded by at most 0.001 (`docs/decisions/0015`).

A large catalog is held in parts, which cores that are idle search side by side; in parts that a cache holds, several
vectors are searched in less time too.

FAISS's own file format is never read: mutated files of it load without a complaint. Of equal scores FAISS keeps
whichever its heap held; here equal scores stand in row order, so the same query always gets the same answer.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import faiss
import numpy as np
from numpy.typing import NDArray

from indexer.nearest import Hits, nearest
from models.threads import Cores

HALF_PRECISION_FROM: Final = 16_384
"""Tools; where 24 MB of vectors leave the processor's caches."""
IN_PARTS_FROM: Final = 32_768
"""Tools; a search then takes some milliseconds, and starting a thread a fraction of one."""
_PART: Final = 16_384
"""Tools of a part, about."""


class FaissVectorIndex:
    """Nearest tools; threads may share it."""

    __slots__ = ("_cores", "_dimension", "_ends", "_parts", "_tools")

    def __init__(self, vectors: NDArray[np.float32], *, cores: Cores | None = None) -> None:
        """`vectors`: unit length, shape (tools, dimension); they are copied.

        `cores`: those that may help with a large search; None for the asker's own alone.
        """
        _on_this_thread_alone()
        self._cores = cores
        self._tools, self._dimension = vectors.shape
        parts = 1 if self._tools < IN_PARTS_FROM else -(-self._tools // _PART)
        self._ends = [self._tools * part // parts for part in range(parts + 1)]
        """Where the first part begins, and where each of them ends."""
        self._parts = [_empty(self._tools, self._dimension) for _ in range(parts)]
        for part, (start, end) in zip(self._parts, pairwise(self._ends), strict=True):
            if start < end:
                part.add(np.ascontiguousarray(vectors[start:end], dtype=np.float32))

    def search(self, queries: NDArray[np.float32], k: int) -> Hits:
        """The best k rows for each query, best first, equal scores in row order: scores and rows, (n, min(k, tools)).

        Raises ValueError where the queries are not finite vectors of this index's dimension, or k is negative.
        """
        return nearest(queries, k, tools=self._tools, dimension=self._dimension, found=self._found)

    def _found(self, queries: NDArray[np.float32], k: int) -> list[Hits]:
        found: list[Any] = [None] * len(self._parts)

        def search(part: int) -> None:
            _on_this_thread_alone()
            size = self._ends[part + 1] - self._ends[part]
            scores, rows = self._parts[part].search(queries, min(k, size))
            found[part] = scores, rows + self._ends[part]

        if self._cores is None:
            for part in range(len(found)):
                search(part)
        else:
            self._cores.do(search, range(len(found)))
        if len(found) == 1:
            return list(zip(*found[0], strict=True))
        scores, rows = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
        order = np.argsort(-scores, axis=1)[:, :k]
        return list(zip(*(np.take_along_axis(each, order, axis=1) for each in (scores, rows)), strict=True))


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
