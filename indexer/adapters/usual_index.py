"""Opens an index version with the usual engines: FAISS for the vectors, arrays for the words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from indexer.adapters.faiss_index import FaissVectorIndex, bytes_of
from indexer.adapters.lexical_index import ArrayLexicalIndex
from indexer.artefact import NAMES, WORDS, Artefact, IndexManifest
from indexer.index import SurfaceIndex, open_index
from indexer.ports import VectorStore

_POSTING: Final = 4 + 8
"""A row and an impact."""
_NAME: Final = 250
"""Two strings' heads and their places in the tables that find a name; measured."""
_WORD: Final = 64 + 8
"""A string's head, its place among the words, and where its postings start."""


def open_artefact(artefact: Artefact) -> SurfaceIndex:
    """What `indexer.index.open_index` makes of it, and raises."""
    return open_index(artefact, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)


def opening_with(vectors: VectorStore) -> Callable[[Artefact], SurfaceIndex]:
    """The same with the vectors kept elsewhere: what it opens holds the words alone, and raises `StoreError` too."""

    def open_one(artefact: Artefact) -> SurfaceIndex:
        vector_index = partial(vectors.index_of, artefact.manifest)
        return open_index(artefact, vector_index=vector_index, lexical_index=ArrayLexicalIndex)

    return open_one


def weight(manifest: IndexManifest) -> int:
    """About how many bytes of memory an open version holds: within a tenth at 20,000 tools and more."""
    return bytes_of(manifest.tools, manifest.dimension) + weight_of_words(manifest)


def weight_of_words(manifest: IndexManifest) -> int:
    """The same without the vectors."""
    names, words = manifest.files[NAMES].size, manifest.files[WORDS].size
    return manifest.postings * _POSTING + 2 * names + manifest.tools * _NAME + words + manifest.words * _WORD
