"""Where a word stands in a list of words, in little memory. Pure.

As many strings with their places in a tuple would weigh 71 bytes each, and a dictionary of them twice that; here a word
weighs its letters and 16 bytes. A lookup is a search among hashes, which are this process's own, and one comparison.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class WordTable:
    """Different words, each at its position; immutable, threads may share it."""

    __slots__ = ("_hashes", "_places", "_starts", "_text")

    def __init__(self, words: Sequence[str]) -> None:
        """At most 4 GiB of text in UTF-8."""
        hashes = array("q", map(hash, words))
        self._places = array("I", sorted(range(len(words)), key=hashes.__getitem__))
        self._hashes = array("q", map(hashes.__getitem__, self._places))
        encoded = [word.encode() for word in words]
        self._text = b"".join(encoded)
        self._starts = array("I", accumulate(map(len, encoded), initial=0))

    def place_of(self, word: str) -> int | None:
        """Its position in the list; None for a word that is not there."""
        hashed = hash(word)
        at = bisect_left(self._hashes, hashed)
        while at < len(self._hashes) and self._hashes[at] == hashed:
            place = self._places[at]
            if self._text[self._starts[place] : self._starts[place + 1]].decode() == word:
                return place
            at += 1
        return None
