"""How good rankings are: metrics over judged queries. Pure.

Gain is binary. For a query that wants several tools:

    recall@k     the share of its tools within the first k
    ndcg@10      gain 1 / log2(position + 1), over that of an ideal ranking
    mrr          1 / position of its first tool in the list that was ranked, 0 where there is none
    complete@5   1 where all of its tools are within the first five

Where the tools are interchangeable, the first one found counts as all and the others count for nothing. A tool that
the catalog does not hold still counts as wanted: nothing can find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from types import MappingProxyType
from typing import Final

RECALL_DEPTHS: Final = (1, 3, 5, 8, 10)
NDCG_DEPTH: Final = 10
COMPLETE_DEPTH: Final = 5
DEPTH: Final = max(*RECALL_DEPTHS, NDCG_DEPTH, COMPLETE_DEPTH)
"""How many names a ranking needs for every metric to be exact, except mrr, which ends with the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The metrics of one query, or their means over several; each from 0 to 1."""

    recall: Mapping[int, float]
    """By depth; the depths are `RECALL_DEPTHS`."""
    ndcg: float
    mrr: float
    complete: float


def judge(ranked: Sequence[str], wanted: Iterable[str], *, interchangeable: bool = False) -> Quality:
    """The metrics of one ranking, best first; raises ValueError where nothing is wanted."""
    relevant = frozenset(wanted)
    if not relevant:
        raise ValueError("wanted: needs at least one tool; leave such a query out")
    found = [position for position, name in enumerate(dict.fromkeys(ranked), start=1) if name in relevant]
    count = len(relevant)
    if interchangeable:
        found, count = found[:1], 1
    ideal = sum(_gain(position) for position in range(1, min(count, NDCG_DEPTH) + 1))
    return Quality(
        recall=MappingProxyType({depth: _within(found, depth) / count for depth in RECALL_DEPTHS}),
        ndcg=sum(_gain(position) for position in found if position <= NDCG_DEPTH) / ideal,
        mrr=1.0 / found[0] if found else 0.0,
        complete=float(_within(found, COMPLETE_DEPTH) == count),
    )


def mean(qualities: Sequence[Quality]) -> Quality:
    """The mean of each metric; raises ValueError for none."""
    if not qualities:
        raise ValueError("qualities: needs at least one query")
    count = len(qualities)
    return Quality(
        recall=MappingProxyType(
            {depth: sum(quality.recall[depth] for quality in qualities) / count for depth in RECALL_DEPTHS}
        ),
        ndcg=sum(quality.ndcg for quality in qualities) / count,
        mrr=sum(quality.mrr for quality in qualities) / count,
        complete=sum(quality.complete for quality in qualities) / count,
    )


def numbers_of(quality: Quality) -> dict[str, float]:
    """The metrics under the names that tables, files and comparisons use, in their order."""
    return {
        **{f"recall@{depth}": quality.recall[depth] for depth in RECALL_DEPTHS},
        f"ndcg@{NDCG_DEPTH}": quality.ndcg,
        "mrr": quality.mrr,
        f"complete@{COMPLETE_DEPTH}": quality.complete,
    }


def quality_of(numbers: Mapping[str, float]) -> Quality:
    """The inverse of `numbers_of`; raises KeyError where a metric is missing."""
    return Quality(
        recall=MappingProxyType({depth: numbers[f"recall@{depth}"] for depth in RECALL_DEPTHS}),
        ndcg=numbers[f"ndcg@{NDCG_DEPTH}"],
        mrr=numbers["mrr"],
        complete=numbers[f"complete@{COMPLETE_DEPTH}"],
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0 to 1) of the values do not exceed; 0 for no values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, int(-(-share * len(ordered) // 1)) - 1))]


def _gain(position: int) -> float:
    return 1.0 / log2(position + 1)


def _within(positions: Sequence[int], depth: int) -> int:
    return sum(position <= depth for position in positions)
