"""The lexical rule: how words of a query score the tools of a catalog. Pure, and defined only here.

The rule is BM25F (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", 2004): each
field of a tool has a weight and a length normalisation of its own, and the weighted frequencies are saturated
once, after they are summed.

    frequency(t, d) = sum over fields f of  weight_f * count_f(t, d) / (1 - b_f + b_f * length_f(d) / mean_f)
    impact(t, d)    = idf(t) * frequency(t, d) * (K1 + 1) / (K1 + frequency(t, d))
    score(q, d)     = sum of impact(t, d) over the distinct words t of q, in the order they stand in q

It is executed twice: here in plain Python, for local catalogs, and in the indexer over arrays. Both count the same
`Occurrences`, do the same sums in the same order and add impacts in the same order, so their scores are equal to the
last bit.

Not done here: choosing names, abstaining, mixing with other rankings.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log
from typing import Any

RULE_VERSION = "bm25f-1"
"""Changes whenever the same texts would score differently; an index records it."""

K1 = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """How much one field of a tool counts."""

    weight: float
    b: float
    """How strongly a long field is held against the tool: 0 not at all, 1 in full."""


FIELDS: Mapping[str, Field] = {
    "name": Field(weight=2.5, b=0.3),
    "description": Field(weight=1.0, b=0.6),
    "parameters": Field(weight=0.4, b=0.6),
    "service": Field(weight=0.8, b=0.3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolText:
    """The fields of one tool that ranking reads."""

    name: str
    description: str
    parameters: str
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """For each word, the rows it scores (ascending) and what it adds to each of them."""

    tools: int
    rows: Mapping[str, Sequence[int]]
    impacts: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrences:
    """Where words stand. A place is a field of a tool: those of the first tool in the order of `FIELDS`, and so on."""

    vocabulary: Sequence[str]
    """Each word once."""
    words: array[int]
    """Of each occurrence its word's position in the vocabulary, place after place (unsigned, 4 bytes)."""
    ends: array[int]
    """How many occurrences there are up to the end of each place (unsigned, 8 bytes)."""

    def scales(self) -> array[float]:
        """What one occurrence of a word is worth in each place."""
        lengths = [end - start for start, end in zip(chain((0,), self.ends), self.ends, strict=False)]
        scales = array("d", bytes(8 * len(lengths)))
        for at, rule in enumerate(FIELDS.values()):
            own = lengths[at::_FIELDS]
            mean = sum(own) / len(own) if own else 0.0
            norms = (1.0 - rule.b + rule.b * length / mean if mean else 1.0 for length in own)
            scales[at::_FIELDS] = array("d", (rule.weight / norm for norm in norms))
        return scales


_FIELDS = len(FIELDS)
_MAX_SCHEMA_NODES = 400
"""A schema's words stop counting past this many nodes: ranking time stays bounded on hostile schemas."""
_NESTING = frozenset(
    ("properties", "enum", "items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems", "$defs")
)
"""What a schema has beside a description where it has anything to read; most have nothing."""

_TOKEN = re.compile(r"[^\W_]+", re.UNICODE)
# Scripts written without spaces between words: Han, kana, Hangul, Thai, Lao, Khmer, Myanmar.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
# Where `_humps` cuts a token of ASCII, which is nearly every one, in a fraction of the time.
_ASCII_CUT = re.compile(r"(?<=[0-9])(?=[^0-9])|(?<=[^0-9])(?=[0-9])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_STOP_WORDS = frozenset(
    "a an and are as at be by can do does for from how i if in into is it its me my of on or our please so that the "
    "their them there these this to was we what when where which who will with would you your".split()
)


def words(text: str) -> list[str]:
    """The words of a text, in order, as ranking counts them.

    Identifiers are split at underscores, humps and digits (``HTTPServer2`` is ``http``, ``server``, ``2``) and also
    kept whole; unspaced scripts give overlapping pairs of characters; case, width and plural endings are folded;
    words that say nothing about a tool are left out.
    """
    return [word for token in _tokens(text) for word in _words_of(token)]


def query_words(query: str) -> tuple[str, ...]:
    """The distinct words of a query in the order they first stand there."""
    return tuple(dict.fromkeys(words(query)))


def tool_text(*, name: str, description: str, input_schema: Mapping[str, Any] | None, service: str | None) -> ToolText:
    """The fields of a tool; the parameters are the names and descriptions its schema holds."""
    return ToolText(
        name=name,
        description=description,
        parameters=" ".join(_schema_words(input_schema or {})),
        service=service or "",
    )


def occurrences(texts: Iterable[ToolText]) -> Occurrences:
    """Every occurrence of every word. Linear in the words of all texts, in time and memory."""
    known = _KnownTokens()
    words, ends = array("I"), array("Q")
    for text in texts:
        for field in FIELDS:
            words.extend(chain.from_iterable(map(known.__getitem__, _tokens(getattr(text, field)))))
            ends.append(len(words))
    return Occurrences(vocabulary=tuple(known.numbers), words=words, ends=ends)


def build_postings(texts: Sequence[ToolText]) -> Postings:
    """Every impact of every word, for tools in row order. Linear in the words of all texts, in time and memory."""
    counted = occurrences(texts)
    scales = counted.scales()
    places = [array("I") for _ in counted.vocabulary]
    start = 0
    for place, end in enumerate(counted.ends):
        for number in counted.words[start:end]:
            places[number].append(place)
        start = end
    found: dict[str, Sequence[int]] = {}
    impacts: dict[str, Sequence[float]] = {}
    for word, stands in sorted(zip(counted.vocabulary, places, strict=True)):
        frequencies: dict[int, float] = {}
        for place, count in Counter(stands).items():
            row = place // _FIELDS
            frequencies[row] = frequencies.get(row, 0.0) + count * scales[place]
        idf = inverse_frequency(len(frequencies), len(texts))
        found[word] = array("I", frequencies)
        impacts[word] = array("d", (idf * each * (K1 + 1.0) / (K1 + each) for each in frequencies.values()))
    return Postings(tools=len(texts), rows=found, impacts=impacts)


def inverse_frequency(holding: int, tools: int) -> float:
    """What a word is worth that `holding` of so many tools hold."""
    return log(1.0 + (tools - holding + 0.5) / (holding + 0.5))


def score(postings: Postings, terms: Iterable[str]) -> dict[int, float]:
    """The score of every row that holds at least one of the words."""
    scores: dict[int, float] = {}
    for term in terms:
        for row, impact in zip(postings.rows.get(term, ()), postings.impacts.get(term, ()), strict=True):
            scores[row] = scores.get(row, 0.0) + impact
    return scores


def best_first(names: Sequence[str], scores: Mapping[int, float], limit: int) -> list[tuple[str, float]]:
    """The best `limit` names with their scores; equal scores stand in the order of their names."""
    ordered = sorted(scores, key=lambda row: (-scores[row], names[row]))
    return [(names[row], scores[row]) for row in ordered[:limit]]


class _KnownTokens(dict[str, list[int]]):
    """The words of tokens by number: a catalog says the same ones over and over. Only its own: no query enters it."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}

    def __missing__(self, token: str) -> list[int]:
        numbers = self.numbers
        found = self[token] = [numbers.setdefault(word, len(numbers)) for word in _words_of(token)]
        return found


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(unicodedata.normalize("NFKC", text))


def _words_of(token: str) -> list[str]:
    if token.isascii():
        parts = _ASCII_CUT.split(token)
    elif _UNSPACED.search(token):
        return _pairs(token)
    else:
        parts = _humps(token)
    folded = token.casefold()
    found = [_singular(part.casefold()) for part in parts] if len(parts) > 1 else []
    if folded not in _STOP_WORDS:
        found.append(_singular(folded))
    return found


def _pairs(token: str) -> list[str]:
    folded = token.casefold()
    return [folded[at : at + 2] for at in range(len(folded) - 1)] if len(folded) > 1 else [folded]


def _humps(token: str) -> list[str]:
    """The parts of an identifier: cut before a capital after a small letter, before the last capital of a run that a
    small letter follows, and between letters and digits. Any script that has capitals is cut the same way.
    """
    if token.isalpha() and token[1:].islower():
        return [token]  # most words: nothing after the first letter can begin a part
    parts: list[str] = []
    start = 0
    for at in range(1, len(token)):
        before, here = token[at - 1], token[at]
        follows = token[at + 1] if at + 1 < len(token) else ""
        if (
            before.isdigit() != here.isdigit()
            or (here.isupper() and before.islower())
            or (here.isupper() and before.isupper() and follows.islower())
        ):
            parts.append(token[start:at])
            start = at
    parts.append(token[start:])
    return parts


def _singular(word: str) -> str:
    """Harman's S stemmer ("How effective is suffixing?", 1991): plural endings only."""
    if len(word) < 4 or not word.endswith("s"):
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    if word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    if word[-2] not in "us":
        return word[:-1]
    return word


def _schema_words(schema: Mapping[str, Any]) -> list[str]:
    """Property names, descriptions and string enums, breadth first, so that outer parameters come first."""
    found: list[str] = []
    queue: list[Any] = [schema]
    for seen, node in enumerate(queue):
        if seen >= _MAX_SCHEMA_NODES:
            break
        if isinstance(node, (dict, Mapping)):  # the first of the two in a fraction of the time
            nests = not _NESTING.isdisjoint(node)
            properties = node.get("properties") if nests else None
            if isinstance(properties, Mapping):
                found.extend(str(name) for name in properties)
                queue.extend(properties.values())
            if seen and isinstance(node.get("description"), str):
                found.append(node["description"])
            if nests:
                found.extend(_enum(node))
                queue.extend(_inner(node))
    return found


def _enum(node: Mapping[str, Any]) -> Iterator[str]:
    values = node.get("enum")
    if isinstance(values, Sequence) and not isinstance(values, str):
        yield from (value for value in values if isinstance(value, str))


def _inner(node: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas inside of a schema, but for its properties."""
    yield from (node[key] for key in ("items", "additionalProperties") if isinstance(node.get(key), Mapping))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        branches = node.get(key)
        if isinstance(branches, Sequence) and not isinstance(branches, str):
            yield from branches
    definitions = node.get("$defs")
    if isinstance(definitions, Mapping):
        yield from definitions.values()
