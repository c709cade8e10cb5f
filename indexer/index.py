"""An artefact, opened: what a surface is ranked with.

Not done here: which engines search (the factories are arguments; `adapters/faiss_index.py` and
`adapters/lexical_index.py` are the usual ones), and how two rankings become one (the selector's matter).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexer.artefact import Artefact, IndexManifest
from indexer.contents import LexicalArrays, read_contents
from indexer.errors import MENDED, ArtefactError
from indexer.ports import LexicalIndex, VectorIndex
from surface.lexical import RULE_VERSION
from surface.names import NameIndex

VectorIndexFactory = Callable[[NDArray[np.float32]], VectorIndex]
"""Builds a vector index over unit vectors, shape (tools, dimension), that nobody writes to."""
LexicalIndexFactory = Callable[[LexicalArrays], LexicalIndex]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceIndex:
    """One index version of one surface, ready to search; threads may share it."""

    manifest: IndexManifest
    version: str
    names: tuple[str, ...]
    """Sorted; row r of both indexes is the tool `names[r]`."""
    named: NameIndex
    """Which of them a query calls by name."""
    vectors: VectorIndex
    lexical: LexicalIndex


def open_index(
    artefact: Artefact, *, vector_index: VectorIndexFactory, lexical_index: LexicalIndexFactory
) -> SurfaceIndex:
    """Verifies an artefact and opens it.

    Raises `ArtefactError`, and nothing else, where it is damaged or was built by another lexical rule than the one
    that queries are split by here.
    """
    contents = read_contents(artefact)
    if artefact.manifest.lexical_rule != RULE_VERSION:
        raise ArtefactError(
            f"version {artefact.version}: lexical_rule is {artefact.manifest.lexical_rule}, this program counts words "
            f"by {RULE_VERSION}; {MENDED}, with this version of toolsurface"
        )
    return SurfaceIndex(
        manifest=artefact.manifest,
        version=artefact.version,
        names=contents.names,
        named=NameIndex(contents.names),
        vectors=vector_index(contents.vectors),
        lexical=lexical_index(contents.lexical),
    )
