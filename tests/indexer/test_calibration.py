"""What an index answers to requests that have nothing to do with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.calibration import UNMEASURED, Yardstick, calibrate
from indexer.everyday_requests import EVERYDAY_REQUESTS
from models.embedder import Vectors
from models.hashing import HashingEmbedder
from tests.strategies import LAW


def _units(rows: int, dimension: int, seed: int) -> Vectors:
    made = np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


@LAW
@given(st.integers(1, 90), st.integers(1, 30), st.integers(0, 1_000))
def test_it_is_the_mean_the_spread_and_the_tenth_part_of_the_best_of_all_cosines(
    requests: int, tools: int, seed: int
) -> None:
    asked, held = _units(requests, 16, seed), _units(tools, 16, seed + 1)
    cosines = asked.astype(np.float64) @ held.T.astype(np.float64)
    measured = calibrate(asked, held)
    assert measured.mean == pytest.approx(cosines.mean(), abs=1e-5)
    assert measured.spread == pytest.approx(max(cosines.std(), 1e-3), abs=1e-5)
    assert measured.low == pytest.approx(np.quantile(cosines.max(axis=1), 0.1), abs=1e-5)


@LAW
@given(st.integers(2, 60), st.integers(0, 1_000))
def test_the_requests_are_measured_against_each_other_whatever_the_catalog_holds(requests: int, seed: int) -> None:
    asked = _units(requests, 16, seed)
    pairs = [float(asked[one] @ asked[other]) for one in range(requests) for other in range(one)]
    one, other = calibrate(asked, _units(5, 16, seed + 1)), calibrate(asked, _units(9, 16, seed + 2))
    assert one.request_mean == other.request_mean == pytest.approx(np.mean(pairs), abs=1e-5)
    assert one.request_spread == other.request_spread == pytest.approx(max(np.std(pairs), 1e-3), abs=1e-5)


def test_one_request_alone_is_compared_with_nothing() -> None:
    measured = calibrate(_units(1, 16, 0), _units(3, 16, 1))
    assert (measured.request_mean, measured.request_spread) == (None, None)


def test_requests_that_the_catalog_serves_do_not_raise_the_bar() -> None:
    asked, held = _units(200, 64, 3), _units(30, 64, 4)
    served = asked.copy()
    served[:60] = held[np.arange(60) % 30]
    assert calibrate(served, held).low == pytest.approx(calibrate(asked, held).low, abs=0.03)


def test_an_index_without_tools_is_not_measured_and_embeds_nothing() -> None:
    assert Yardstick(_Counting()).measure(np.empty((0, 256), dtype=np.float32)) == UNMEASURED


def test_the_requests_are_embedded_once_for_all_surfaces_of_a_deploy() -> None:
    embedder = _Counting()
    yardstick = Yardstick(embedder)
    for text in ("delete a file", "list files"):
        yardstick.measure(embedder.embed_documents([text]))
    assert embedder.asked == 1


def test_the_requests_are_many_different_and_of_one_line() -> None:
    assert len(set(EVERYDAY_REQUESTS)) == len(EVERYDAY_REQUESTS) > 200
    assert all(request.strip() == request and "\n" not in request for request in EVERYDAY_REQUESTS)


class _Counting(HashingEmbedder):
    """Counts how often queries are embedded."""

    asked = 0

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.asked += 1
        return super().embed_queries(texts)
