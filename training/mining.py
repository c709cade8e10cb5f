"""What is easily mistaken, by the encoder before it learns: for each tool its neighbours, for each query its traps."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from training.batches import Mined
from training.encoder import DOCUMENT_TOKENS, QUERY_TOKENS, Encoder
from training.examples import Corpus

NEIGHBOURS: Final = 12
TRAPS: Final = 24


def mine(encoder: Encoder, corpus: Corpus) -> Mined:
    """Exact nearest tools by the encoder as it is; embeds every text of the corpus once."""
    documents = encoder.vectors(corpus.texts, tokens=DOCUMENT_TOKENS)
    queries = encoder.vectors(corpus.queries, tokens=QUERY_TOKENS)
    near = _nearest(documents, documents, NEIGHBOURS + 1)
    return Mined(neighbours=near[:, 1:], traps=_nearest(queries, documents, TRAPS))


def _nearest(queries: NDArray[np.float32], documents: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    found = []
    for start in range(0, len(queries), 512):
        scores = queries[start : start + 512] @ documents.T
        rows = np.argpartition(-scores, k, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, rows, 1), axis=1)
        found.append(np.take_along_axis(rows, order, 1))
    return np.concatenate(found)
