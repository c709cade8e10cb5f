"""The documentation of AWS models, which is HTML, as the plain sentences that a model or a ranker reads.

Rules kept here:

1. Tags go, their text stays; whitespace is folded to single spaces.
2. Asides (``<note>``, ``<important>``, …) stand back where there is any other text: "not supported for directory
   buckets" says little about what an operation does.
3. A description ends before its list of related operations: their names would be found instead of their own.
4. A text is cut at the end of a sentence. Only a first sentence that is too long itself is cut between words, with an
   ellipsis.

Only as much of a text is parsed as its limit can use. Not done here: judging or rewording what AWS wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser

_BLOCKS = frozenset("p li ul ol dl dt dd br div table tr td th h1 h2 h3 h4 h5 pre note important".split())
_ASIDES = frozenset({"note", "important", "caution", "warning"})
_CHUNK = 1_000
_RELATED = re.compile(
    r"\b(operations|actions|topics) (are|is) related to\b|^Related (operations|actions|topics|information)\b"
)
# A sentence ends before a capital or a digit, except after the abbreviations that AWS writes.
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)\s+(?=[A-Z0-9\"(])")


@cache
def plain_sentences(html: str, limit: int) -> str:
    """The whole sentences at the start of `html` that fit in `limit` characters; empty where there is no text."""
    kept: list[str] = []
    room = limit
    for sentence in _sentences(html, limit):
        if len(sentence) > room or (kept and _RELATED.search(sentence)):
            break
        kept.append(sentence)
        room -= len(sentence) + 1
    else:
        return " ".join(kept)
    while len(kept) > 1 and kept[-1].endswith(":"):
        kept.pop()  # it announces a list that did not fit
    return " ".join(kept) or _cut_between_words(next(_sentences(html, limit)), limit)


@cache
def first_sentence(html: str, limit: int) -> str:
    """The first sentence of `html` in at most `limit` characters; empty where there is no text."""
    sentence = next(_sentences(html, limit), "")
    return sentence if len(sentence) <= limit else _cut_between_words(sentence, limit)


def _sentences(html: str, limit: int) -> Iterator[str]:
    for paragraph in _text(html, limit).split("\n"):
        folded = " ".join(paragraph.split())
        if folded:
            yield from _SENTENCE_END.split(folded)


def _cut_between_words(text: str, limit: int) -> str:
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _text(html: str, limit: int) -> str:
    """The text of a prefix of `html`: more than `limit` characters where there are as many; a line for each block."""
    parser = _Prose()
    for start in range(0, len(html), _CHUNK):
        parser.feed(html[start : start + _CHUNK])
        if parser.length > limit + 1:
            break
    text = "".join(parser.text)
    return text if text.strip() else "".join(parser.asides)


class _Prose(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.asides: list[str] = []
        self.length = 0
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the base's
        if tag in _ASIDES:
            self._depth += 1
        self._break_at(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _ASIDES:
            self._depth = max(0, self._depth - 1)
        self._break_at(tag)

    def handle_data(self, data: str) -> None:
        # The models wrap their lines anywhere: a line break inside a block is only a space.
        folded = data.replace("\n", " ")
        if self._depth:
            self.asides.append(folded)
        else:
            self.text.append(folded)
            self.length += len(folded)

    def _break_at(self, tag: str) -> None:
        if tag in _BLOCKS or tag in _ASIDES:
            (self.asides if self._depth else self.text).append("\n")
