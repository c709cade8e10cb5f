"""Which pairs are learnt together. Pure; chance is an argument.

A batch holds pairs of one catalog, because the tools of one catalog are what a query has to be told apart from. Half
of a batch are neighbours of the other half: tools that the untrained encoder finds alike make the batch hard.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from training.examples import Corpus, masked, own_pair

GROUP: Final = 4
"""Pairs that stand together because their tools are alike."""

NAME_MASKED: Final = 0.2
PARAMETERS_MASKED: Final = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Queries, and documents of which the first ones answer them in order; the others are mined negatives."""

    queries: list[str]
    documents: list[str]
    clash: NDArray[np.bool_]
    """Shape (queries, documents): true where a document also answers a query, so that it is no negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """Rows of one corpus that are easily mistaken, nearest first."""

    neighbours: NDArray[np.int64]
    """For each tool the tools like it; shape (tools, k)."""
    traps: NDArray[np.int64]
    """For each query what it is mistaken for, maybe tools it wants among them; shape (queries, k)."""


def judged_batch(
    corpus: Corpus,
    *,
    size: int,
    negatives: int,
    mined: Mined,
    by_row: Mapping[int, Sequence[int]],
    chance: random.Random,
) -> Batch:
    """Judged queries with `negatives` of their traps; `by_row` holds the queries that want each tool."""
    picked: list[int] = []
    rows: list[int] = []
    while len(picked) < size:
        query = chance.randrange(len(corpus.queries))
        row = chance.choice(sorted(corpus.wanted[query]))
        picked.append(query)
        rows.append(row)
        near = [each for each in mined.neighbours[row] if int(each) in by_row]
        chance.shuffle(near)
        for other in near[: GROUP - 1]:
            picked.append(chance.choice(by_row[int(other)]))
            rows.append(int(other))
    picked, rows = picked[:size], rows[:size]
    for query in chance.sample(picked, min(negatives, len(picked))):
        candidates = [int(each) for each in mined.traps[query] if int(each) not in corpus.wanted[query]]
        rows.append(chance.choice(candidates))
    clash = np.array([[row in corpus.wanted[query] for row in rows] for query in picked])
    clash |= _same_text([corpus.texts[row] for row in rows], size)
    documents = [masked(corpus.texts[row], chance, name=NAME_MASKED, parameters=PARAMETERS_MASKED) for row in rows]
    return Batch(queries=[corpus.queries[query] for query in picked], documents=documents, clash=clash)


def own_batch(corpus: Corpus, *, size: int, mined: Mined | None, chance: random.Random) -> Batch:
    """Pairs a catalog makes of its own texts."""
    pairs: list[tuple[str, str]] = []
    rows: list[int] = []
    seen: set[int] = set()
    while len(pairs) < size:
        row = chance.randrange(len(corpus.texts))
        # Tools that stand beside each other in the order of names are often of one service, so they are alike.
        group = [row, *range(row + 1, min(row + GROUP, len(corpus.texts)))]
        if mined is not None:
            group = [row, *(int(each) for each in chance.sample(list(mined.neighbours[row]), GROUP - 1))]
        for each in group:
            pair = own_pair(corpus, each, chance) if each not in seen else None
            seen.add(each)
            if pair is not None and len(pairs) < size:
                pairs.append(pair)
                rows.append(each)
    clash = _same_text([pair[1] for pair in pairs], size) | _same_text([pair[0] for pair in pairs], size)
    return Batch(queries=[pair[0] for pair in pairs], documents=[pair[1] for pair in pairs], clash=clash)


def mixed_batch(corpora: Sequence[Corpus], *, size: int, chance: random.Random) -> Batch:
    """Judged queries of many catalogs: what is far apart must also measure as far apart."""
    queries: list[str] = []
    texts: list[str] = []
    keys: list[tuple[str, frozenset[int], int]] = []
    for _ in range(size):
        corpus = chance.choice(corpora)
        query = chance.randrange(len(corpus.queries))
        row = chance.choice(sorted(corpus.wanted[query]))
        queries.append(corpus.queries[query])
        texts.append(corpus.texts[row])
        keys.append((corpus.name, corpus.wanted[query], row))
    clash = np.array([[name == other and row in wanted for other, _, row in keys] for name, wanted, _ in keys])
    clash |= _same_text(texts, size)
    documents = [masked(text, chance, name=NAME_MASKED, parameters=PARAMETERS_MASKED) for text in texts]
    return Batch(queries=queries, documents=documents, clash=clash)


def _same_text(texts: Sequence[str], size: int) -> NDArray[np.bool_]:
    own = np.array(texts, dtype=object)
    return np.asarray(own[:size, None] == own[None, :], dtype=np.bool_)
