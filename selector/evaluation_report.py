"""What an evaluation says: one JSON object, or tables for people. Pure text; the numbers come from elsewhere.

JSON holds shares from 0 to 1, tables hold percent. Neither holds a query or an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from selector.comparison import CONFIDENCE, Difference
from selector.evaluation import Quality, numbers_of, percentile
from selector.evaluation_run import Evaluation, FalseReturns
from selector.evaluation_set import UnknownRelevant

COLUMNS: Final = ("recall@1", "recall@5", "ndcg@10", "complete@5")
"""The metrics of the tables; the JSON object holds all of them."""
_HARD: Final = "recall@5"
_HARD_COLUMN: Final = f"hard {_HARD}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankerReport:
    """One ranker on one set."""

    ranker: str
    evaluation: Evaluation
    false_returns: FalseReturns | None = None
    """None where no unserveable queries were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReport:
    """One set, with every ranker that was asked."""

    name: str
    tools: int
    unknown: UnknownRelevant
    build_s: float
    rankers: Sequence[RankerReport]
    comparison: Mapping[str, Difference] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What was compared, and the mean over the sets."""

    first: str
    second: str
    resamples: int
    seed: int
    over_sets: Mapping[str, Difference]


def report_json(sets: Sequence[SetReport], comparison: Comparison | None, *, model: str | None) -> dict[str, Any]:
    """The whole report; `model` is the identity of the embedder, None where only words were asked."""
    return {
        "model": model,
        "sets": [_set_json(one) for one in sets],
        "comparison": None
        if comparison is None
        else {
            "first": comparison.first,
            "second": comparison.second,
            "confidence": CONFIDENCE,
            "resamples": comparison.resamples,
            "seed": comparison.seed,
            "mean_over_sets": _differences_json(comparison.over_sets),
        },
    }


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """One ranker's numbers on one set: means, the hard queries alone, counts and latencies."""
    replies = evaluation.replies
    hard = evaluation.hard
    times = [reply.ms for reply in replies]
    return {
        "queries": len(replies),
        **_quality_json(evaluation.quality),
        "hard": {
            "queries": sum(reply.hard for reply in replies),
            **(_quality_json(hard) if hard is not None else {}),
        },
        "abstained": sum(not reply.answered for reply in replies),
        "degraded": sum(reply.degraded for reply in replies),
        "p50_ms": round(percentile(times, 0.5), 2),
        "p95_ms": round(percentile(times, 0.95), 2),
    }


def report_lines(sets: Sequence[SetReport], comparison: Comparison | None) -> Iterator[str]:
    """The tables: a row for each set and ranker, means over several sets, and the comparison."""
    rows = [_row(one, report) for one in sets for report in one.rankers]
    if len(sets) > 1:
        rows += [_mean_row([one.rankers[at] for one in sets]) for at in range(len(sets[0].rankers))]
    # A column that nobody asked for is left out.
    shown = [column for column in rows[0] if any(row[column] is not None for row in rows)]
    yield from _table(shown, [[row[column] or "" for column in shown] for row in rows])
    yield "percent; hard: queries that share no word with the name of a tool they want (how many in brackets)"
    if comparison is not None:
        yield ""
        yield f"{comparison.second} minus {comparison.first}, in points, with its {100 * CONFIDENCE:.0f} % interval"
        compared = [(one.name, one.comparison) for one in sets if one.comparison is not None]
        if len(compared) > 1:
            compared.append(("mean of the sets", comparison.over_sets))
        yield from _table(
            ["set", *COLUMNS], [[name, *(_points(each[column]) for column in COLUMNS)] for name, each in compared]
        )
        yield (
            f"paired bootstrap over the queries, {comparison.resamples:,} resamples, seed {comparison.seed}; "
            "* where the interval leaves out zero"
        )


def _set_json(one: SetReport) -> dict[str, Any]:
    return {
        "set": one.name,
        "tools": one.tools,
        "unknown_relevant": {"queries": one.unknown.queries, "names": one.unknown.names},
        "build_s": round(one.build_s, 2),
        "rankers": {report.ranker: _ranker_json(report) for report in one.rankers},
        "comparison": None if one.comparison is None else _differences_json(one.comparison),
    }


def _ranker_json(report: RankerReport) -> dict[str, Any]:
    wrong = report.false_returns
    return {
        **evaluation_json(report.evaluation),
        "false_returns": None
        if wrong is None
        else {"queries": wrong.queries, "answered": wrong.answered, "rate": round(wrong.rate, 4)},
    }


def _quality_json(quality: Quality) -> dict[str, float]:
    return {name: round(value, 4) for name, value in numbers_of(quality).items()}


def _differences_json(differences: Mapping[str, Difference]) -> dict[str, Any]:
    return {
        name: {"mean": round(each.mean, 4), "low": round(each.low, 4), "high": round(each.high, 4)}
        for name, each in differences.items()
    }


def _row(one: SetReport, report: RankerReport) -> dict[str, str | None]:
    replies = report.evaluation.replies
    hard = sum(reply.hard for reply in replies)
    shares = _shares(report)
    return {
        "set": one.name,
        "ranker": report.ranker,
        "tools": f"{one.tools:,}",
        "queries": f"{len(replies):,}",
        **{column: _percent(shares[column]) for column in shares},
        _HARD_COLUMN: f"{_percent(shares[_HARD_COLUMN])} ({hard:,})" if hard else "-",
        "p50 ms": f"{percentile([reply.ms for reply in replies], 0.5):.1f}",
    }


def _mean_row(reports: Sequence[RankerReport]) -> dict[str, str | None]:
    """The mean of the sets' means, so that a large set counts no more than a small one."""
    shares = [_shares(report) for report in reports]
    known = {column: [each[column] for each in shares if each[column] is not None] for column in shares[0]}
    means = {column: _percent(sum(filter(None, each)) / len(each)) if each else None for column, each in known.items()}
    texts = {"set": "mean of the sets", "ranker": reports[0].ranker, "tools": None, "queries": None}
    return {**texts, **means, "p50 ms": None}


def _shares(report: RankerReport) -> dict[str, float | None]:
    """The columns that are shares from 0 to 1, in their order; None where there is nothing to take a share of."""
    replies = report.evaluation.replies
    quality, hard = numbers_of(report.evaluation.quality), report.evaluation.hard
    return {
        **{column: quality[column] for column in COLUMNS},
        _HARD_COLUMN: None if hard is None else numbers_of(hard)[_HARD],
        "abstained": sum(not reply.answered for reply in replies) / len(replies),
        "false returns": None if report.false_returns is None else report.false_returns.rate,
    }


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}"


def _points(difference: Difference) -> str:
    mark = "*" if difference.certain else ""
    return f"{100 * difference.mean:+.1f} [{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]{mark}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they need; the first two to the left, numbers to the right."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    texts = sum(column in {"set", "ranker"} for column in head)
    for row in (head, *rows):
        cells = [
            cell.ljust(width) if at < texts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
