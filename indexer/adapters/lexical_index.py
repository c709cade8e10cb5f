"""The lexical index over arrays: the rule of `surface.lexical`, fast enough for tens of thousands of tools.

Impacts are added in the order of the query's words, as `surface.lexical.score` adds them, so scores are equal to
the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from indexer.contents import LexicalArrays


class ArrayLexicalIndex:
    """Scores every tool for the words of a query; threads may share it."""

    __slots__ = ("_impacts", "_rows", "_spans", "_tools")

    def __init__(self, arrays: LexicalArrays) -> None:
        """`arrays`: as `indexer.contents.read_contents` checked them."""
        self._tools = arrays.tools
        self._rows = arrays.rows
        self._impacts = arrays.impacts
        starts = arrays.starts.tolist()
        self._spans = {word: slice(starts[at], starts[at + 1]) for at, word in enumerate(arrays.words)}

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """The score of every row, shape (tools,); 0 where a tool holds none of the words."""
        scores = np.zeros(self._tools, dtype=np.float64)
        for term in terms:
            span = self._spans.get(term)
            if span is not None:
                # Each row stands once in a span, so no addition is lost.
                scores[self._rows[span]] += self._impacts[span]
        return scores
