"""The calibration of an index version: how requests score that have nothing to do with its catalog.

No label of the catalog is needed. The everyday requests are compared with every tool when the index is built, and what
is kept in the manifest says how near chance comes: the middle and the spread of all cosines, and how near the best tool
comes to the requests it is farthest from. That low mark is a tenth part and not the median, because a catalog does
serve some of the requests, and those must not raise the bar. The requests are compared with each other too: that says
what the model makes of texts that have nothing to do with each other, whatever the catalog is about.

Not done here: deciding that nothing fits (`selector.abstaining`).
"""

from __future__ import annotations

from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from indexer.everyday_requests import EVERYDAY_REQUESTS, EVERYDAY_VERSION
from models.embedder import Embedder

LOW: Final = 0.1
"""The share of the requests whose best tool is no nearer than the low mark."""

_LEAST_SPREAD: Final = 1e-3
_DECIMALS: Final = 6
_REQUESTS_AT_ONCE: Final = 32

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0.0, allow_inf_nan=False)]


class Calibration(BaseModel):
    """The cosines between unrelated requests and the tools of one index."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requests: Annotated[str, StringConstraints(strict=True, pattern=r"^[\x21-\x7e]{1,64}$")] = EVERYDAY_VERSION
    """Which requests."""
    mean: Finite
    """Of all cosines."""
    spread: Positive
    """Of all cosines, one standard deviation."""
    low: Finite
    """The best cosine of a request, at its tenth part from below."""
    request_mean: Finite | None = None
    """Of the cosines between two of the requests; None in versions from before they were compared."""
    request_spread: Positive | None = None
    """Of the same cosines, one standard deviation."""


UNMEASURED: Final = Calibration(mean=0.0, spread=1.0, low=0.0)
"""Of an index that holds no tool."""


class Yardstick:
    """The everyday requests as one model reads them; embedded once, however many surfaces are measured."""

    def __init__(self, embedder: Embedder) -> None:
        """Embeds nothing before it is first read."""
        self._embedder = embedder
        self._requests: NDArray[np.float32] | None = None

    def read(self) -> NDArray[np.float32]:
        """The requests, shape (requests, dimension). Raises what the embedder raises."""
        if self._requests is None:
            self._requests = self._embedder.embed_queries(EVERYDAY_REQUESTS)
        return self._requests

    def measure(self, vectors: NDArray[np.float32]) -> Calibration:
        """Of an index with these vectors, shape (tools, dimension). Raises what the embedder raises."""
        return calibrate(self.read(), vectors) if len(vectors) else UNMEASURED


def calibrate(requests: NDArray[np.float32], vectors: NDArray[np.float32]) -> Calibration:
    """From the vectors of unrelated requests, shape (requests, dimension), and of tools, shape (tools, dimension)."""
    total = squares = 0.0
    best: list[float] = []
    for start in range(0, len(requests), _REQUESTS_AT_ONCE):
        cosines = (requests[start : start + _REQUESTS_AT_ONCE] @ vectors.T).astype(np.float64)
        total += float(cosines.sum())
        best.extend(cosines.max(axis=1).tolist())
        squares += float(np.square(cosines, out=cosines).sum())  # in its place: of a large catalog it is what weighs
    count = len(requests) * len(vectors)
    mean = total / count
    variance = max(0.0, squares / count - mean * mean)
    between = (requests @ requests.T).astype(np.float64)[np.triu_indices(len(requests), k=1)]
    return Calibration(
        mean=round(mean, _DECIMALS),
        spread=_spread(variance**0.5),
        low=round(float(np.quantile(best, LOW)), _DECIMALS),
        request_mean=round(float(between.mean()), _DECIMALS) if between.size else None,
        request_spread=_spread(float(between.std())) if between.size else None,
    )


def _spread(deviation: float) -> float:
    return round(max(_LEAST_SPREAD, deviation), _DECIMALS)
