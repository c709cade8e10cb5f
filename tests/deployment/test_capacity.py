"""The capacity model gives what was measured back, and the table of docs/scaling.md is its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployment.capacity import Costs, Load, plan
from indexer.adapters.faiss_index import bytes_of

ROOT = Path(__file__).parents[2]
LOADS = st.builds(
    Load,
    surfaces=st.integers(1, 10_000),
    tools=st.integers(1, 100_000),
    queries_s=st.floats(0, 1e6),
    remembered=st.floats(0, 1),
)


@pytest.mark.parametrize(("tools", "measured_ms"), [(5_000, 0.37), (20_000, 1.9), (100_000, 4.2)], ids=str)
def test_a_search_in_memory_costs_at_least_what_was_measured_and_less_than_three_times_that(
    tools: int, measured_ms: float
) -> None:
    assert measured_ms <= tools * Costs().near_us_per_tool / 1_000 < 3 * measured_ms


def test_an_encoding_costs_what_was_measured() -> None:
    (decision,) = (ROOT / "docs" / "decisions").glob("0016-*.md")
    assert f"against {Costs().encode_ms}, on a busy machine" in decision.read_text(encoding="utf-8")


def test_a_search_in_a_vector_set_costs_what_was_measured() -> None:
    costs = Costs()
    assert 10_000 * costs.far_us_per_tool / 1_000 + costs.far_ms == pytest.approx(4.7, rel=0.1)


@pytest.mark.parametrize("tools", [1_000, 100_000])
def test_memory_of_vectors_is_what_the_index_says(tools: int) -> None:
    costs = Costs()
    here = tools * costs.near_bytes_per_tool * (0.5 if tools >= 16_384 else 1.0)
    assert here == bytes_of(tools, 384)
    for measured in (44.6e6 / 20_027, 11.9e6 / 5_377):
        assert costs.far_bytes_per_tool == pytest.approx(measured, rel=0.01)


@given(LOADS, st.booleans())
def test_a_plan_carries_its_load(load: Load, far: bool) -> None:  # noqa: FBT001 - drawn
    try:
        planned = plan(load, far=far)
    except ValueError:
        return
    assert planned.replicas >= 2 * planned.groups
    assert planned.replica_bytes <= 4e9
    assert planned.shard_bytes <= 25e9
    more = plan(Load(surfaces=load.surfaces, tools=load.tools, queries_s=2 * load.queries_s), far=far)
    assert more.replicas >= planned.replicas
    assert more.shards >= planned.shards


def test_the_table_of_the_page_is_what_the_model_gives() -> None:
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d,]+) \W ([\d,]+) \| ([\d,]+) \((\d+) %\) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for surfaces, tools, queries, remembered, near, far in rows:
        load = Load(
            surfaces=_number(surfaces),
            tools=_number(tools),
            queries_s=_number(queries),
            remembered=int(remembered) / 100,
        )
        for text, elsewhere in ((near, False), (far, True)):
            planned = plan(load, far=elsewhere)
            assert text.startswith(f"{planned.replicas:,} replicas")
            assert (f"in {planned.groups} groups" in text) == (planned.groups > 1)
            assert (f"{planned.shards} shards" in text) == elsewhere
            if " GB" in text:
                assert f"of {planned.replica_bytes / 1e9 + 1e-9:.1f} GB" in text
            if "to upload" in text:
                assert f"{planned.upload_s:.0f} s to upload" in text


def _number(text: str) -> int:
    return int(text.replace(",", ""))
