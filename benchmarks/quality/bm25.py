"""BM25 as it usually comes, to be compared with: Lucene's formula and defaults, stop words, plural endings.

    idf(t)      = ln(1 + (N - n(t) + 0.5) / (n(t) + 0.5))
    score(q, d) = sum over the words t of q, repeated ones again, of
                  idf(t) * f(t, d) / (f(t, d) + 1.2 * (1 - 0.75 + 0.75 * length(d) / mean length))

A document is one text: the name and the description, and where parameters are asked for, the names and descriptions
of the outer ones. Words are runs of letters and digits, cut where a small letter meets a capital and at underscores,
in small letters, without English function words and without plural endings (Harman's S stemmer); both make it much
stronger on everyday requests. Equal scores stand in the order of names; a tool that shares no word is no answer.

It has its own words on purpose: a baseline stays what it is when the lexical rule of `surface` changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from indexer.catalog_file import CatalogTool
from selector.evaluation_run import SURFACE
from surface.protocol import RankedName, RankReply
from surface.ranking import RankRequest

K1: Final = 1.2
B: Final = 0.75

_FUNCTION_WORDS: Final = frozenset(
    "a about all am an and any are as at be been but by can could did do does for from had has have he her his how i "
    "if in into is it its me my no not of on or our out please she should so some such than that the their them then "
    "there these they this to up us was we were what when where which who will with would you your".split()
)

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")


class PlainBm25:
    """Implements `surface.ranking.Ranker` over one catalog."""

    id = "bm25"

    def __init__(self, tools: Sequence[CatalogTool], *, parameters: bool) -> None:
        """`parameters`: whether a document holds the names and descriptions of the outer parameters."""
        ordered = sorted(tools, key=lambda tool: tool.name)
        self._names = [tool.name for tool in ordered]
        counts = [Counter(_words(_document(tool, parameters=parameters))) for tool in ordered]
        lengths = np.array([count.total() for count in counts], dtype=np.float64)
        norms = K1 * (1.0 - B + B * lengths / max(lengths.mean(), 1.0))
        postings: dict[str, list[tuple[int, int]]] = {}
        for row, count in enumerate(counts):
            for word, times in count.items():
                postings.setdefault(word, []).append((row, times))
        self._postings = {word: _impacts(found, norms) for word, found in postings.items()}

    async def rank(self, request: RankRequest) -> RankReply:
        """The names by BM25, best first."""
        scores = np.zeros(len(self._names))
        for word in _words(request.query):
            if word in self._postings:
                rows, impacts = self._postings[word]
                scores[rows] += impacts
        rows = np.argsort(-scores, kind="stable")[: request.limit]
        ranked = tuple(RankedName(name=self._names[row], score=float(scores[row])) for row in rows if scores[row] > 0)
        return RankReply(
            surface=SURFACE, index_version="bm25", catalog_digest="0" * 32, ranked=ranked, abstained=not ranked
        )


def _impacts(
    found: Sequence[tuple[int, int]], norms: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rows = np.array([row for row, _ in found], dtype=np.int64)
    times = np.array([count for _, count in found], dtype=np.float64)
    idf = log(1.0 + (len(norms) - len(found) + 0.5) / (len(found) + 0.5))
    return rows, idf * times / (times + norms[rows])


def _document(tool: CatalogTool, *, parameters: bool) -> str:
    parts = [tool.name, tool.description]
    outer = tool.input_schema.get("properties")
    if parameters and isinstance(outer, Mapping):
        for name, schema in outer.items():
            parts.append(name)
            if isinstance(schema, Mapping) and isinstance(schema.get("description"), str):
                parts.append(schema["description"])
    return " ".join(parts)


def _words(text: str) -> list[str]:
    found = (word.lower() for word in _WORD.findall(_HUMP.sub(" ", text)))
    return [_singular(word) for word in found if word not in _FUNCTION_WORDS]


def _singular(word: str) -> str:
    if word.endswith("ies") and word[-4:-3] not in ("a", "e"):
        return word[:-3] + "y"
    if word.endswith("es") and word[-3:-2] not in ("a", "e", "o"):
        return word[:-1]
    return word[:-1] if word.endswith("s") and word[-2:-1] not in ("u", "s") else word
