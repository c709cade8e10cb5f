"""Opens an index version with the usual engines: FAISS for the vectors, arrays for the words."""

from __future__ import annotations

from indexer.adapters.faiss_index import FaissVectorIndex
from indexer.adapters.lexical_index import ArrayLexicalIndex
from indexer.artefact import Artefact
from indexer.index import SurfaceIndex, open_index


def open_artefact(artefact: Artefact) -> SurfaceIndex:
    """What `indexer.index.open_index` makes of it, and raises."""
    return open_index(artefact, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)
