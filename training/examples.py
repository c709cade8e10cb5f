"""What the encoder learns from: queries of the train folds with the tools they want, and texts of catalogs themselves.

Only sets with a `train` fold, and catalogs without queries, are read; the transfer sets never are.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from indexer.catalog_file import CatalogTool
from indexer.document import document_of
from indexer.tool_lines import tool_lines_as_they_are

SUPERVISED: Final[Mapping[str, float]] = {
    "metatool": 0.20,
    "tldr": 0.24,
    "awscli": 0.12,
    "azurecli": 0.10,
    "sealtools": 0.08,
    "apibench": 0.04,
    "toolret_apigen": 0.05,
    "toolret_toolink": 0.02,
}
"""Sets whose train folds are learnt, with the share of batches each fills."""

CATALOGS: Final[Mapping[str, float]] = {
    "cat_toucan": 0.06,
    "cat_tooluniverse": 0.02,
    "cat_awslabs": 0.004,
    "awscli": 0.025,
    "azurecli": 0.015,
    "tldr": 0.015,
    "sealtools": 0.005,
    "toolret_apigen": 0.006,
}
"""Catalogs whose own texts make pairs, with the share of batches each fills."""

_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_LEAST_WORDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """One catalog as the encoder reads it, and the queries that were judged on its train fold."""

    name: str
    texts: tuple[str, ...]
    """By row: the words of the name, the beginning of the description, the names of parameters; a line each."""
    descriptions: tuple[str, ...]
    queries: tuple[str, ...]
    wanted: tuple[frozenset[int], ...]
    """For each query, the rows of the tools it wants."""


def read_corpus(bench: Path, name: str) -> Corpus:
    """A catalog of `bench` with the queries of its train fold; none where it has no queries."""
    tools = _tools(bench / name / "catalog.jsonl.gz")
    rows = {tool.name: row for row, tool in enumerate(tools)}
    queries: list[str] = []
    wanted: list[frozenset[int]] = []
    path = bench / name / "queries.jsonl.gz"
    for line in _lines(path) if path.exists() else ():
        if line["fold"] == "transfer":
            raise ValueError(f"{name}: is a transfer set; nothing may be learnt from it")
        found = frozenset(rows[each] for each in line["relevant"] if each in rows)
        if line["fold"] == "train" and found and line["query"].strip():
            queries.append(line["query"])
            wanted.append(found)
    return Corpus(
        name=name,
        texts=tuple(document_of(tool).text for tool in tools),
        descriptions=tuple(tool.description for tool in tools),
        queries=tuple(queries),
        wanted=tuple(wanted),
    )


def masked(text: str, chance: random.Random, *, name: float, parameters: float) -> str:
    """A tool's text without the words of its name, or without its parameters, with the given chances."""
    lines = text.split("\n")
    if len(lines) > 2 and chance.random() < parameters:
        lines = lines[:2]
    if len(lines) > 1 and chance.random() < name:
        lines = lines[1:]
    return "\n".join(lines)


def own_pair(corpus: Corpus, row: int, chance: random.Random) -> tuple[str, str] | None:
    """A query made of a tool's own words, and its text without them; None where the tool says too little."""
    lines = corpus.texts[row].split("\n")
    sentences = [
        part for part in _SENTENCE.split(corpus.descriptions[row].strip()) if len(part.split()) >= _LEAST_WORDS
    ]
    kind = chance.random()
    if kind < 0.2 and len(lines) > 1 and len(lines[0].split()) >= _LEAST_WORDS:
        return lines[0], "\n".join(lines[1:])
    if not sentences:
        return None
    at = 0 if kind < 0.6 else chance.randrange(len(sentences))
    query = " ".join(word for word in sentences[at].split()[:40] if chance.random() > 0.15)
    rest = " ".join(part for other, part in enumerate(sentences) if other != at)[:240]
    document = "\n".join(part for part in (lines[0], rest, *lines[2:]) if part)
    return (query, document) if query else None


def _tools(path: Path) -> Sequence[CatalogTool]:
    with gzip.open(path) as file:
        tools = tool_lines_as_they_are(file.read())
    return sorted(tools, key=lambda tool: tool.name)


def _lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
