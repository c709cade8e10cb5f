"""What was measured, as the Markdown tables of `docs/benchmarks.md` and as one JSON object. Pure text.

Rows are groups of queries, columns are rankers; the best of a row is bold. Means are taken over groups, so a large set
counts no more than a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from benchmarks.quality.groups import Group
from benchmarks.quality.measure import Measured
from selector.comparison import CONFIDENCE, RESAMPLES, SEED, Difference, Pairs, compare
from selector.evaluation import numbers_of, percentile
from selector.evaluation_report import evaluation_json
from selector.evaluation_run import Evaluation

COLUMNS: Final = {"recall@1": "Recall@1", "recall@5": "Recall@5", "ndcg@10": "NDCG@10", "complete@5": "Complete@5"}
"""The metrics that have a table, with its title."""
SERVED: Final = "hybrid"
"""What the service answers with; every other ranker is compared with it."""

_Cell = Callable[[Evaluation], float | None]


def markdown(sets: Sequence[Measured], rankers: Sequence[str]) -> Iterator[str]:
    """Every table, each under a heading of its own."""
    for column, title in COLUMNS.items():
        yield from _table(f"{title}, percent", sets, rankers, _metric(column))
    yield from _table("Recall@5 of the hard queries, percent", sets, rankers, _hard)
    yield from _table("The median query, milliseconds", sets, rankers, _p50, best=min, means=False)
    yield from _against(sets, rankers)
    yield from _false_returns(sets, rankers)
    yield from _names(sets)


def as_json(sets: Sequence[Measured], rankers: Sequence[str]) -> dict[str, Any]:
    """Every number of the tables and those that they leave out."""
    return {
        "groups": [
            {
                "group": group.name,
                "set": one.set,
                "fold": group.fold,
                "tools": one.tools,
                "rankers": {ranker: evaluation_json(one.evaluations[group.name, ranker]) for ranker in rankers},
            }
            for one in sets
            for group in one.groups
        ],
        "false_returns": [
            {"queries_of": source, "catalog": one.set, "ranker": ranker, "queries": wrong.queries, "rate": wrong.rate}
            for one in sets
            for (source, ranker), wrong in one.false_returns.items()
        ],
        "names": [
            {"set": one.set, "kind": kind, "ranker": ranker, "first": round(share, 4)}
            for one in sets
            for (kind, ranker), share in one.names.items()
        ],
    }


def progress_line(one: Measured, rankers: Sequence[str]) -> str:
    """One set in a line, for whoever waits for the tables."""
    parts = [
        f"{group.name}: "
        + ", ".join(f"{ranker} {100 * one.evaluations[group.name, ranker].quality.recall[5]:.1f}" for ranker in rankers)
        for group in one.groups
    ]
    return "recall@5  " + "; ".join(parts)


def _table(
    title: str,
    sets: Sequence[Measured],
    rankers: Sequence[str],
    cell: _Cell,
    *,
    best: Callable[[Sequence[float]], float] = max,
    means: bool = True,
) -> Iterator[str]:
    yield f"\n### {title}\n"
    yield f"| queries | fold | tools | n | {' | '.join(rankers)} |"
    yield "|---|---|--:|--:|" + "--:|" * len(rankers)
    for fold, groups in _by_fold(sets).items():
        rows = [[cell(one.evaluations[group.name, ranker]) for ranker in rankers] for one, group in groups]
        for (one, group), values in zip(groups, rows, strict=True):
            head = f"| {group.name} | {fold} | {one.tools:,} | {len(group.queries):,} |"
            yield f"{head} {' | '.join(_marked(values, best))} |"
        if means:
            averages = [_mean([row[at] for row in rows]) for at in range(len(rankers))]
            yield f"| **mean, {fold}** | | | | {' | '.join(_marked(averages, best))} |"


def _by_fold(sets: Sequence[Measured]) -> dict[str, list[tuple[Measured, Group]]]:
    """The groups, those of one fold together."""
    found: dict[str, list[tuple[Measured, Group]]] = {}
    for one in sets:
        for group in one.groups:
            found.setdefault(group.fold, []).append((one, group))
    return dict(sorted(found.items()))


def _marked(values: Sequence[float | None], best: Callable[[Sequence[float]], float]) -> list[str]:
    known = [value for value in values if value is not None]
    top = f"{best(known):.1f}" if known else ""
    shown = ["-" if value is None else f"{value:.1f}" for value in values]
    return [f"**{value}**" if value == top and len(values) > 1 else value for value in shown]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _metric(column: str) -> _Cell:
    return lambda evaluation: 100 * numbers_of(evaluation.quality)[column]


def _hard(evaluation: Evaluation) -> float | None:
    return None if evaluation.hard is None else 100 * evaluation.hard.recall[5]


def _p50(evaluation: Evaluation) -> float:
    return percentile([reply.ms for reply in evaluation.replies], 0.5)


def _against(sets: Sequence[Measured], rankers: Sequence[str]) -> Iterator[str]:
    others = [ranker for ranker in rankers if ranker != SERVED]
    if SERVED not in rankers or not others:
        return
    yield f"\n### {SERVED} minus each other ranker: recall@5 in points\n"
    yield (
        f"With the {100 * CONFIDENCE:.0f} % interval of a paired bootstrap over the queries, {RESAMPLES:,} resamples, "
        f"seed {SEED}; bold where the interval leaves out zero.\n"
    )
    yield f"| queries | {' | '.join(others)} |"
    yield "|---|" + "--:|" * len(others)
    for fold, groups in _by_fold(sets).items():
        rows = [[_pairs(one, group.name, other) for other in others] for one, group in groups]
        for (_, group), pairs in zip(groups, rows, strict=True):
            yield f"| {group.name} | {' | '.join(_points(compare([each])['recall@5']) for each in pairs)} |"
        over = [compare([row[at] for row in rows])["recall@5"] for at in range(len(others))]
        yield f"| **mean, {fold}** | {' | '.join(map(_points, over))} |"


def _pairs(one: Measured, group: str, other: str) -> Pairs:
    before, now = one.evaluations[group, other].replies, one.evaluations[group, SERVED].replies
    return [(a.quality, b.quality) for a, b in zip(before, now, strict=True)]


def _points(difference: Difference) -> str:
    text = f"{100 * difference.mean:+.1f} [{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]"
    return f"**{text}**" if difference.certain else text


def _false_returns(sets: Sequence[Measured], rankers: Sequence[str]) -> Iterator[str]:
    rows = [(one, source) for one in sets for source in sorted({source for source, _ in one.false_returns})]
    if not rows:
        return
    yield "\n### False returns: queries that nothing in the catalog fits and that get a tool all the same, percent\n"
    yield f"| queries of | catalog | n | {' | '.join(rankers)} |"
    yield "|---|---|--:|" + "--:|" * len(rankers)
    columns: list[list[float]] = [[] for _ in rankers]
    for one, source in rows:
        found = [one.false_returns[source, ranker] for ranker in rankers]
        for column, wrong in zip(columns, found, strict=True):
            column.append(100 * wrong.rate)
        cells = " | ".join(f"{100 * wrong.rate:.1f}" for wrong in found)
        yield f"| {source} | {one.set} | {found[0].queries:,} | {cells} |"
    yield f"| **mean** | | | {' | '.join(f'{sum(column) / len(column):.1f}' for column in columns)} |"


def _names(sets: Sequence[Measured]) -> Iterator[str]:
    columns = list(dict.fromkeys(key for one in sets for key in one.names))
    if not columns:
        return
    yield "\n### Tools asked for by name: how many come first, percent\n"
    yield f"| set | {' | '.join(f'{ranker}: {kind}' for kind, ranker in columns)} |"
    yield "|---|" + "--:|" * len(columns)
    for one in sets:
        cells = " | ".join(f"{100 * one.names[key]:.1f}" if key in one.names else "-" for key in columns)
        yield f"| {one.set} | {cells} |"
    means = [_mean([one.names.get(key) for one in sets]) for key in columns]
    yield f"| **mean** | {' | '.join('-' if share is None else f'{100 * share:.1f}' for share in means)} |"
