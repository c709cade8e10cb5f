"""Opens an index version with the usual engines: FAISS for the vectors, arrays for the words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from indexer.adapters.faiss_index import FaissVectorIndex, bytes_of
from indexer.adapters.lexical_index import SHORT_ROWS_UNTIL, ArrayLexicalIndex
from indexer.artefact import NAMES, WORDS, Artefact, IndexManifest
from indexer.index import SurfaceIndex, open_index
from indexer.ports import VectorStore
from models.threads import Cores

_IMPACT: Final = 8
_NAME: Final = 80
"""Two strings' heads and their places in the lists that find a name; measured."""
_WORD: Final = 16 + 8
"""Its place among the words, and where its postings start."""


def open_artefact(artefact: Artefact) -> SurfaceIndex:
    """What `indexer.index.open_index` makes of it, and raises."""
    return open_index(artefact, vector_index=FaissVectorIndex, lexical_index=ArrayLexicalIndex)


def opening_on(cores: Cores) -> Callable[[Artefact], SurfaceIndex]:
    """The same, and cores that are idle help with large searches."""
    vector_index = partial(FaissVectorIndex, cores=cores)
    return partial(open_index, vector_index=vector_index, lexical_index=ArrayLexicalIndex)


def opening_with(vectors: VectorStore) -> Callable[[Artefact], SurfaceIndex]:
    """The same with the vectors kept elsewhere: what it opens holds the words alone, and raises `StoreError` too."""

    def open_one(artefact: Artefact) -> SurfaceIndex:
        vector_index = partial(vectors.index_of, artefact.manifest)
        return open_index(artefact, vector_index=vector_index, lexical_index=ArrayLexicalIndex)

    return open_one


def weight(manifest: IndexManifest) -> int:
    """About how many bytes of memory an open version holds: within a twentieth at 20,000 tools and more."""
    return bytes_of(manifest.tools, manifest.dimension) + weight_of_words(manifest)


def weight_of_words(manifest: IndexManifest) -> int:
    """The same without the vectors."""
    names, words = manifest.files[NAMES].size, manifest.files[WORDS].size
    posting = _IMPACT + (2 if manifest.tools <= SHORT_ROWS_UNTIL else 4)
    return manifest.postings * posting + 2 * names + manifest.tools * _NAME + words + manifest.words * _WORD
