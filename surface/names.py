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
from collections.abc import Sequence
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

    __slots__ = ("_by_length", "_exact", "_folded", "_letters", "_longest")

    def __init__(self, names: Sequence[str]) -> None:
        """Rows are positions in `names`. Linear in the names, in time and memory."""
        self._exact = {name: row for row, name in enumerate(names)}
        # Only of names with capitals; few of them share a folded form, so no list for one number.
        self._folded: dict[str, int | list[int]] = {}
        for name, row in self._exact.items():
            folded = name.casefold()
            if folded != name:
                others = self._folded.get(folded)
                self._folded[folded] = row if others is None else [*_listed(others), row]
        self._by_length: dict[int, list[str]] = {}
        for name in self._exact:
            if name == name.casefold():
                self._by_length.setdefault(len(name), []).append(name)
        for folded in self._folded:
            if folded not in self._exact:
                self._by_length.setdefault(len(folded), []).append(folded)
        self._longest = max(self._by_length, default=0)
        self._letters = frozenset[str]().union(*map("".join, self._by_length.values()))

    def called(self, query: str) -> tuple[int, ...]:
        """The rows of the tools that `query` calls by name, in the order it does; most queries call none."""
        whole = query.strip().strip(_QUOTES).strip()
        row = self._row(whole) if len(whole) <= self._longest + 1 else None
        if row is not None:
            return (row,)
        rows = (self._row(word) for word in _identifiers(query))
        return tuple(dict.fromkeys(row for row in rows if row is not None))

    def _row(self, written: str) -> int | None:
        if written in self._exact:
            return self._exact[written]
        folded = written.casefold()
        rows = self._rows(folded) or self._misspelt(folded)
        return rows[0] if len(rows) == 1 else None

    def _misspelt(self, folded: str) -> list[int]:
        length = len(folded)
        if not _LEAST_TYPO_CHARACTERS <= length <= self._longest + 1:
            return []
        if sum(letter not in self._letters for letter in folded) > 1:
            return []  # a typo puts in one letter that no name has, and no more: a sentence has several blanks
        found: list[int] = []
        for near in (length - 1, length, length + 1):
            choices = self._by_length.get(near, [])
            matches = process.extract(folded, choices, scorer=OSA.distance, score_cutoff=1, limit=2)
            found.extend(row for name, _, _ in matches for row in self._rows(name))
        return found

    def _rows(self, folded: str) -> list[int]:
        itself = self._exact.get(folded)
        others = _listed(self._folded.get(folded, []))
        return others if itself is None else [itself, *others]


def _listed(rows: int | list[int]) -> list[int]:
    return [rows] if isinstance(rows, int) else rows


def standing_first(rows: Sequence[int], *, best: float) -> dict[int, float]:
    """The score of each called tool, in a ranking whose best other tool scores `best`."""
    return {row: best + len(rows) - at for at, row in enumerate(rows)}


def _identifiers(query: str) -> list[str]:
    """The words of a query that have the form of a name of several parts."""
    words = (word for word in _IDENTIFIER.findall(query) if _JOINT.search(word))
    return [word for _, word in zip(range(_MAX_WORDS_READ), words, strict=False)]
