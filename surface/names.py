"""The name rule: which tools a query calls by name. Pure, and defined only here, for local rankers and hosted ones.

A query calls a tool by name where

1. the whole query, quotes and blanks around it aside, is the name; upper and lower case count as equal where only
   one name fits;
2. a word of it is a name of several parts (``create_invoice``, ``getUser``, ``files.read``). A name of one part is
   not enough: ``find`` and ``which`` are words;
3. either of them is one typo away from exactly one name: a character changed, left out, put in, or swapped with its
   neighbour (optimal string alignment distance 1), in names of at least five characters.

Such tools stand first, in the order the query calls them.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from sys import intern
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

_LEAST_TYPO_CHARACTERS: Final = 5
_MAX_WORDS_READ: Final = 512
_QUOTES: Final = "`'\"\u201c\u201d\u2018\u2019"
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9_]")
_JOINT: Final = re.compile(r"[A-Za-z0-9][_.-]+[A-Za-z0-9]|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")


class NameIndex:
    """The names of one catalog, ready to be recognised; immutable, threads may share it."""

    __slots__ = ("_by_length", "_letters", "_longest", "_names")

    def __init__(self, names: Sequence[str]) -> None:
        """Rows are positions in `names`, which is kept. Linear in the names but for sorting, in time and memory."""
        self._names = names
        # Lists of names of one length and their rows, for typos, and sorted for whole names as well: dictionaries of
        # 100,000 names and rows would weigh as much as the names.
        self._by_length: dict[int, tuple[list[str], array[int]]] = {}
        folded = [_folded(name) for name in names]
        for row in sorted(range(len(names)), key=folded.__getitem__):
            of_length, rows = self._by_length.setdefault(len(folded[row]), ([], array("I")))
            of_length.append(folded[row])
            rows.append(row)
        self._longest = max(self._by_length, default=0)
        self._letters = frozenset[str]().union(*("".join(of_length) for of_length, _ in self._by_length.values()))

    def called(self, query: str) -> tuple[int, ...]:
        """The rows of the tools that `query` calls by name, in the order it does; most queries call none."""
        whole = query.strip().strip(_QUOTES).strip()
        row = self._row(whole) if len(whole) <= self._longest + 1 else None
        if row is not None:
            return (row,)
        rows = (self._row(word) for word in _identifiers(query))
        return tuple(dict.fromkeys(row for row in rows if row is not None))

    def _row(self, written: str) -> int | None:
        folded = written.casefold()
        rows = self._rows(folded)
        for row in rows:
            if self._names[row] == written:
                return row
        rows = rows or self._misspelt(folded)
        return rows[0] if len(rows) == 1 else None

    def _rows(self, folded: str) -> Sequence[int]:
        """Of the names that are this one but for upper and lower case."""
        names, rows = self._by_length.get(len(folded), ([], array("I")))
        first = last = bisect_left(names, folded)
        while last < len(names) and names[last] == folded:
            last += 1
        return rows[first:last]

    def _misspelt(self, folded: str) -> Sequence[int]:
        """Of the names that are one typo away: all of them where it is one, else at least two."""
        length = len(folded)
        if not _LEAST_TYPO_CHARACTERS <= length <= self._longest + 1:
            return []
        if sum(letter not in self._letters for letter in folded) > 1:
            return []  # a typo puts in one letter that no name has, and no more: a sentence has several blanks
        found: list[int] = []
        for near in (length - 1, length, length + 1):
            names, rows = self._by_length.get(near, ([], array("I")))
            matches = process.extract(folded, names, scorer=OSA.distance, score_cutoff=1, limit=2)
            found.extend(rows[at] for _, _, at in matches)
        return found


def _folded(name: str) -> str:
    """The name in small letters; itself where it is that already, else one string for every index of such a name."""
    folded = name.casefold()
    return name if folded == name else intern(folded)


def standing_first(rows: Sequence[int], *, best: float) -> dict[int, float]:
    """The score of each called tool, in a ranking whose best other tool scores `best`."""
    return {row: best + len(rows) - at for at, row in enumerate(rows)}


def _identifiers(query: str) -> list[str]:
    """The words of a query that have the form of a name of several parts."""
    words = (word for word in _IDENTIFIER.findall(query) if _JOINT.search(word))
    return [word for _, word in zip(range(_MAX_WORDS_READ), words, strict=False)]
