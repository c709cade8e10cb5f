"""When a sliding window has room again: never told too early, never later than it must be."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits.aio.storage import memory

from selector.access import EVERYTHING, Grant, Rate
from selector.adapters.rates import Rates
from selector.rate_window import seconds_until

AMOUNT = st.shared(st.integers(1, 1_000), key="amount")
SECONDS = st.sampled_from([1, 60, 3_600])


@given(
    amount=AMOUNT,
    n=AMOUNT.flatmap(lambda amount: st.integers(1, amount)),
    before=AMOUNT.flatmap(lambda amount: st.integers(0, amount)),
    now=AMOUNT.flatmap(lambda amount: st.integers(0, amount)),
    seconds=SECONDS,
    share=st.floats(0.001, 1.0),
)
def test_after_the_time_that_is_told_the_queries_fit_and_a_second_earlier_they_do_not(
    amount: int, n: int, before: int, now: int, seconds: int, share: float
) -> None:
    left = seconds * share

    def fits(after: float) -> bool:
        if after < left:
            counted = before * (left - after) / seconds + now
        else:
            counted = now * max(0.0, left + seconds - after) / seconds
        return math.floor(counted) + n <= amount

    told = seconds_until(n, amount=amount, seconds=seconds, before=before, now=now, left=left)
    assert fits(told)
    assert told <= 2 * seconds + 1
    assert told == 1 or not fits(told - 1.001)


@pytest.mark.parametrize("rate", ["100/minute", "5/hour", "3/second"])
async def test_a_lone_client_that_waits_as_it_was_told_gets_its_batch_at_the_next_try(
    rate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=1_800_000_000.3)
    clock.time = lambda: clock.now
    monkeypatch.setattr(memory, "time", clock)
    caller = Grant(id="web", surfaces=EVERYTHING.surfaces, rate=Rate.parse(rate))
    rates = Rates(usual=None, shared=None, tell=pytest.fail)
    most = Rate.parse(rate).amount
    refusals: list[bool] = []
    for queries in [most, most, 1, most, 2, most - 1, most, most, most]:
        told = False  # the whole batch is known behind the door only
        waits = await _asked(rates, caller, queries)
        while waits is not None:
            seconds, behind = waits
            assert not (told and behind), "told how long to wait, and refused again"
            told = behind
            refusals.append(behind)
            clock.now += seconds
            waits = await _asked(rates, caller, queries)
    assert refusals.count(True) >= 3


async def _asked(rates: Rates, caller: Grant, queries: int) -> tuple[int, bool] | None:
    """Spends as the door does, one for the request and the rest behind it: the wait, and whether that was behind it."""
    waits = await rates.spend(caller, 1, again=1)
    if waits is not None:
        return waits, False
    waits = await rates.spend(caller, queries - 1, again=queries) if queries > 1 else None
    return None if waits is None else (waits, True)
