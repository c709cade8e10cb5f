"""The lexical index over arrays: the rule of `surface.lexical`, fast enough for tens of thousands of tools.

Impacts are added in the order of the query's words, as `surface.lexical.score` adds them, so scores are equal to
the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from indexer.contents import LexicalArrays
from indexer.word_table import WordTable

SHORT_ROWS_UNTIL: Final = 65_536
"""Tools, whose rows two bytes can hold."""


class ArrayLexicalIndex:
    """Scores every tool for the words of queries; threads may share it."""

    __slots__ = ("__weakref__", "_impacts", "_rows", "_starts", "_tools", "_words")

    def __init__(self, arrays: LexicalArrays) -> None:
        """`arrays`: as `indexer.contents.read_contents` checked them."""
        self._tools = arrays.tools
        self._rows: NDArray[np.uint16] | NDArray[np.int32] = arrays.rows
        if arrays.tools <= SHORT_ROWS_UNTIL:
            self._rows = arrays.rows.astype(np.uint16)
        self._impacts = arrays.impacts
        self._starts = arrays.starts
        self._words = WordTable(arrays.words)

    def scores(self, queries: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """The score of every row for each query, shape (queries, tools); 0 where a tool holds none of the words."""
        scores = np.zeros((len(queries), self._tools), dtype=np.float64)
        for of_query, terms in zip(scores, queries, strict=True):
            for term in terms:
                at = self._words.place_of(term)
                if at is not None:
                    span = slice(self._starts[at], self._starts[at + 1])
                    # In place: half the time of `of_query[rows] += impacts`, which gathers, adds and scatters.
                    np.add.at(of_query, self._rows[span], self._impacts[span])
        return scores
