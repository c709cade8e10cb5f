"""What the words of documents score: the rule of `surface.lexical`, executed over arrays.

The sums are those of `surface.lexical.build_postings`, in its order, so every impact is equal to the last bit. Beside
the occurrences and what they score, memory is that of some words at a time, whatever the catalog's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.contents import LexicalArrays
from indexer.document import Document
from surface.lexical import FIELDS, K1, inverse_frequency, occurrences

_FIELDS = len(FIELDS)
_AT_ONCE = 2**17
"""Occurrences that are sorted together; one word may have more."""


def words_of(documents: Sequence[Document]) -> LexicalArrays:
    """What the words of documents score, which stand in the order of their names."""
    tools = len(documents)
    counted = occurrences(document.fields for document in documents)
    alphabetic = sorted(range(len(counted.vocabulary)), key=counted.vocabulary.__getitem__)
    position = np.empty(len(alphabetic), dtype=np.uint32)
    position[alphabetic] = np.arange(len(alphabetic))
    words = np.frombuffer(counted.words, dtype=np.uint32)
    words[:] = position[words]  # in its place: of a large catalog it is what weighs most here
    ends = np.frombuffer(counted.ends, dtype=np.int64)
    scales = np.frombuffer(counted.scales(), dtype=np.float64)
    rows, impacts = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.float64)]
    holding = np.zeros(len(alphabetic), dtype=np.int64)
    for first, last in _spans(np.bincount(words, minlength=len(alphabetic))):
        chosen = np.flatnonzero((words >= first) & (words < last))
        # One number for each occurrence, by word and then by place: sorted, equal ones stand together.
        stands = (words[chosen] - first).astype(np.int64) * len(ends) + np.searchsorted(ends, chosen, side="right")
        stands.sort()
        pairs, frequencies = _frequencies(stands, scales)
        holding[first:last] = np.bincount(pairs // tools, minlength=last - first)
        idf = np.fromiter((inverse_frequency(count, tools) for count in holding[first:last].tolist()), np.float64)
        rows.append((pairs % tools).astype(np.int32))
        impacts.append(np.repeat(idf, holding[first:last]) * frequencies * (K1 + 1.0) / (K1 + frequencies))
    return LexicalArrays(
        tools=tools,
        words=tuple(counted.vocabulary[at] for at in alphabetic),
        starts=np.concatenate(([0], np.cumsum(holding))),
        rows=_joined(rows),
        impacts=_joined(impacts),
    )


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    whole = np.concatenate(parts)
    parts.clear()  # the next ones are joined in the room of these
    return whole


def _spans(occurring: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Words that follow each other and have about `_AT_ONCE` occurrences together."""
    up_to = np.cumsum(occurring)
    first = 0
    while first < len(up_to):
        before = int(up_to[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(up_to, before + _AT_ONCE, side="right")))
        yield first, last
        first = last


def _frequencies(
    stands: NDArray[np.int64], scales: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The pairs of word and tool, and how often the word stands in the tool, weighted."""
    at = _firsts(stands)
    worth = np.diff(at, append=len(stands)) * scales[stands[at] % len(scales)]
    pairs = stands[at] // _FIELDS  # so what one tool's fields are worth stands together
    at = _firsts(pairs)
    of_fields = np.diff(at, append=len(pairs))
    frequencies = worth[at]
    for field in range(1, _FIELDS):  # one after the other, as the rule adds them
        more = of_fields > field
        frequencies[more] += worth[at[more] + field]
    return pairs[at], frequencies


def _firsts(ascending: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each number first stands."""
    first = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return np.flatnonzero(first)
