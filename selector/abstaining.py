"""When a query gets no tool at all: nothing in the catalog fits it. Pure.

    near = half the cosine of the tool nearest to the query + half that of the tool nearest to it or to a clause
    bar  = mean + LOW_WEIGHT * (low - mean) + spread * (strictness + SIZE_WEIGHT * ln(tools))

where mean and spread are those of unrelated requests among each other, and low is how near the catalog comes to them.

Rules kept here:

1. A clause counts only half: torn out of its query, "job descriptions" or "hotel deals" is near some tool of every
   catalog. The whole query counts only half as well, because several needs in one vector are near none of their tools.
2. What is unrelated is a matter of the model: the cosines between everyday requests say where it lies and how far it
   spreads. So one strictness serves models whose cosines lie at 0.2 and models whose cosines lie at 0.8.
3. The more tools a catalog holds, the nearer the nearest one lies by chance: the bar grows with their logarithm.
4. A catalog that serves much of everyday life lies nearer to all of it; a quarter of that raises its bar.

Not done here: measuring (`indexer.calibration`), queries that the model cannot read (`ranking.py`).
"""

from __future__ import annotations

from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from indexer.calibration import Calibration

STRICTNESS: Final = 1.6
"""How many spreads the nearest tool must stand out by, in a catalog of one. On the dev folds a tenth more refuses about
a seventh of the false returns that are left, and costs a tenth of a point of recall@5."""

LOW_WEIGHT: Final = 0.25
SIZE_WEIGHT: Final = 0.2
"""Spreads for each time that the number of tools grows by e; 0.15 does as well, with a strictness of 1.9."""


def nearness(cosines: NDArray[np.float32] | NDArray[np.float64]) -> float:
    """How near a catalog is to a query; `cosines`: of the query and then its clauses, shape (texts, tools)."""
    return 0.5 * float(cosines[0].max()) + 0.5 * float(cosines.max())


def bar(calibration: Calibration, *, tools: int, strictness: float) -> float:
    """The nearness that a query must reach in a catalog of so many tools, at least one."""
    # Versions from before the requests were compared with each other are held to a lower bar, until the next deploy.
    mean = calibration.mean if calibration.request_mean is None else calibration.request_mean
    spread = calibration.spread if calibration.request_spread is None else calibration.request_spread
    return mean + LOW_WEIGHT * (calibration.low - mean) + spread * (strictness + SIZE_WEIGHT * log(tools))


def fits(near: float, calibration: Calibration, *, tools: int, strictness: float) -> bool:
    """Whether a query of that nearness is answered; always with strictness 0."""
    return strictness <= 0.0 or near >= bar(calibration, tools=tools, strictness=strictness)
