"""How a cosine and the words become one score. Pure arrays.

    fused(d) = trust * (cosine(q, d) - mean) / spread  +  LEXICAL_WEIGHT * lexical(q, d)

Rules kept here:

1. The cosine is counted in how far it stands out: `mean` and `spread` are those of requests that have nothing to do
   with the catalog, measured on each index version. So one weight serves models whose cosines lie at 0.2 and models
   whose cosines lie at 0.8.
2. The lexical score enters unscaled. It is a sum over the query's words of how rare each is, so it already says how
   sure the words are: a query that shares rare words with one tool leans on them, one made of common words leans on
   the vectors. Dividing it by the best score of the query throws that away, and so does rank fusion.
3. `trust` is the share of the query's letters that the embedding model can read. A query in another script is left
   to the words, and vectors only break its ties.

Not done here: order, clauses, abstaining (`ranking.py`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

LEXICAL_WEIGHT: Final = 0.15
"""What one point of the lexical rule weighs against one spread of the cosine; chosen on the dev folds,
where 0.05 to 0.25 are within a point of each other."""


def fused(
    cosines: NDArray[np.float32] | NDArray[np.float64],
    lexical: NDArray[np.float64],
    *,
    mean: float,
    spread: float,
    trust: float = 1.0,
) -> NDArray[np.float64]:
    """The scores of tools for queries, in the shape of `lexical`, (queries, tools) or (tools,).

    `cosines` has the same shape, or one column for all tools of a query.
    """
    scores = LEXICAL_WEIGHT * lexical
    scores += trust * (cosines - mean) / spread  # in place: arrays of 100,000 tools are made anew in a millisecond
    return scores
