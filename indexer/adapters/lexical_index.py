"""The lexical index over arrays: the rule of `surface.lexical`, fast enough for tens of thousands of tools.

Impacts are added in the order of the query's words, as `surface.lexical.score` adds them, so scores are equal to
the last bit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from indexer.contents import LexicalArrays


class ArrayLexicalIndex:
    """Scores every tool for the words of queries; threads may share it."""

    __slots__ = ("__weakref__", "_impacts", "_rows", "_starts", "_tools", "_words")

    def __init__(self, arrays: LexicalArrays) -> None:
        """`arrays`: as `indexer.contents.read_contents` checked them."""
        self._tools = arrays.tools
        self._rows = arrays.rows
        self._impacts = arrays.impacts
        self._starts = arrays.starts
        self._words = arrays.words

    def scores(self, queries: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """The score of every row for each query, shape (queries, tools); 0 where a tool holds none of the words."""
        scores = np.zeros((len(queries), self._tools), dtype=np.float64)
        for of_query, terms in zip(scores, queries, strict=True):
            for term in terms:
                # Halving a sorted list takes microseconds; a dictionary of spans would weigh more than the words.
                at = bisect_left(self._words, term)
                if at < len(self._words) and self._words[at] == term:
                    span = slice(self._starts[at], self._starts[at + 1])
                    # In place: half the time of `of_query[rows] += impacts`, which gathers, adds and scatters.
                    np.add.at(of_query, self._rows[span], self._impacts[span])
        return scores
