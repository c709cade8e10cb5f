"""Two rankings of the same queries, compared query by query. Pure.

The difference of two means says little without an interval, and the usual interval of each mean says too little of
the difference: queries differ much more from each other than rankers do. So the differences of single queries are
resampled (a paired bootstrap, percentile interval; Efron and Tibshirani, "An Introduction to the Bootstrap", 1993).

Over several sets the mean of the sets' means is compared, each set resampled for itself, so a large set counts no
more than a small one.

The seed is an argument: the same differences give the same interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from selector.evaluation import Quality, numbers_of

RESAMPLES: Final = 2_000
"""Enough that the ends of an interval move by less than a twentieth of its width from seed to seed."""
SEED: Final = 1
CONFIDENCE: Final = 0.95

_AT_ONCE: Final = 2_000_000
"""Numbers drawn in one go: 16 MB."""

Pairs: TypeAlias = Sequence[tuple[Quality, Quality]]
"""The same query judged twice, first and second, for each query of a set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much larger a metric is in the second ranking; from -1 to 1."""

    mean: float
    low: float
    """The interval holds the middle `CONFIDENCE` of the resampled means."""
    high: float

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0.0 or self.high < 0.0


def compare(sets: Sequence[Pairs], *, resamples: int = RESAMPLES, seed: int = SEED) -> Mapping[str, Difference]:
    """The difference of every metric, second minus first, by the metric's name; of one set or the mean over several.

    Raises ValueError where there is no set, a set without queries, or fewer than one resample.
    """
    if not sets or not all(sets):
        raise ValueError("sets: needs at least one, each with at least one query")
    if resamples < 1:
        raise ValueError("resamples: needs at least 1")
    differences = [_differences(pairs) for pairs in sets]
    generator = np.random.default_rng(seed)
    drawn = np.mean([_resampled(each, resamples, generator) for each in differences], axis=0)
    means = np.mean([each.mean(axis=0) for each in differences], axis=0)
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    names = numbers_of(sets[0][0][0])
    return {
        name: Difference(mean=float(means[at]), low=float(low[at]), high=float(high[at]))
        for at, name in enumerate(names)
    }


def _differences(pairs: Pairs) -> NDArray[np.float64]:
    """Shape (queries, metrics)."""
    first, second = (
        np.array([list(numbers_of(pair[side]).values()) for pair in pairs], dtype=np.float64) for side in (0, 1)
    )
    return second - first


def _resampled(differences: NDArray[np.float64], resamples: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """The means of so many samples of the rows, drawn with replacement; shape (resamples, metrics)."""
    count = len(differences)
    chunk = max(1, _AT_ONCE // count)
    means = np.empty((resamples, differences.shape[1]), dtype=np.float64)
    for start in range(0, resamples, chunk):
        rows = generator.integers(0, count, size=(min(chunk, resamples - start), count))
        # How often each row was drawn: far less to add up than the drawn rows themselves.
        times = np.stack([np.bincount(each, minlength=count) for each in rows])
        means[start : start + len(rows)] = times @ differences / count
    return means
