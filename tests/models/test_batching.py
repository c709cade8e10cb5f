"""The plan of which texts go through a model together."""

from hypothesis import given
from hypothesis import strategies as st

from models.batching import START_TOKENS, plan_batches

LENGTHS = st.lists(st.integers(min_value=0, max_value=600))


def test_no_texts_make_no_batches() -> None:
    assert plan_batches([], token_budget=512) == []


def test_texts_of_like_length_go_together_longest_first() -> None:
    assert plan_batches([10, 100, 12, 90], token_budget=200) == [[1, 3], [2, 0]]


def test_equal_lengths_keep_their_order() -> None:
    assert plan_batches([5, 5, 5, 5], token_budget=10) == [[0, 1], [2, 3]]


def test_a_long_text_does_not_pad_many_short_ones() -> None:
    assert plan_batches([60, 8, 9, 8], token_budget=512) == [[0], [2, 1, 3]]


def test_no_run_is_started_to_save_less_padding_than_its_start_costs() -> None:
    assert plan_batches([12, 10, 11], token_budget=512) == [[0, 2, 1]]


def test_a_text_longer_than_the_budget_goes_alone() -> None:
    assert plan_batches([3, 900, 4], token_budget=512) == [[1], [2, 0]]


@given(LENGTHS)
def test_every_text_is_in_exactly_one_batch(lengths: list[int]) -> None:
    batches = plan_batches(lengths, token_budget=512)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(batches)


@given(LENGTHS)
def test_no_batch_of_several_texts_is_over_the_budget_with_its_padding(lengths: list[int]) -> None:
    for batch in plan_batches(lengths, token_budget=512):
        assert len(batch) == 1 or len(batch) * max(lengths[position] for position in batch) <= 512


@given(st.lists(st.integers(min_value=0, max_value=60), max_size=9))
def test_no_way_to_cut_the_texts_into_runs_costs_less(lengths: list[int]) -> None:
    def cost(batches: list[list[int]]) -> int:
        return sum(START_TOKENS + len(batch) * max(batch) for batch in batches)

    planned = [[lengths[position] for position in batch] for batch in plan_batches(lengths, token_budget=128)]
    assert [width for batch in planned for width in batch] == sorted(lengths, reverse=True)
    for cuts in range(2 ** max(0, len(lengths) - 1)):
        batches: list[list[int]] = []
        for at, width in enumerate(sorted(lengths, reverse=True)):
            if not at or cuts >> (at - 1) & 1:
                batches.append([])
            batches[-1].append(width)
        if all(len(batch) == 1 or len(batch) * max(batch) <= 128 for batch in batches):
            assert cost(planned) <= cost(batches)
