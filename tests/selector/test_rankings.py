"""The key of a ranking: one for one ranking, and nothing to read in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from selector.rankings import Asked, Keys
from tests.selector.builders import ask
from tests.strategies import LAW

KEYS = Keys(secret=bytes(range(32)), leg="hybrid", strictness=1.65)
VERSION = "0" * 32

queries = st.text(st.sampled_from("ab \t\n.AB\u3042\ud800"), max_size=12)


@LAW
@given(queries, queries, st.integers(1, 3), st.integers(1, 3))
def test_two_requests_have_one_key_where_what_is_ranked_is_equal_and_only_there(
    one: str, other: str, limit: int, other_limit: int
) -> None:
    first, second = Asked.of(ask(one, limit=limit)), Asked.of(ask(other, limit=other_limit))
    assert (KEYS.of(VERSION, first) == KEYS.of(VERSION, second)) == (first == second)


def test_blanks_do_not_count_and_everything_else_does() -> None:
    assert Asked.of(ask(" a \t b ")) == Asked.of(ask("a b"))
    assert len({Asked.of(ask(query)) for query in ("a b", "A b", "a\nb", "ab", "a b.")}) == 5


def test_another_secret_version_leg_or_strictness_is_another_key() -> None:
    asked = Asked.of(ask("delete a file"))
    keys = [
        KEYS.of(VERSION, asked),
        KEYS.of("1" * 32, asked),
        Keys(secret=bytes(32), leg="hybrid", strictness=1.65).of(VERSION, asked),
        Keys(secret=bytes(range(32)), leg="lexical", strictness=1.65).of(VERSION, asked),
        Keys(secret=bytes(range(32)), leg="hybrid", strictness=0.0).of(VERSION, asked),
    ]
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {32}


def test_a_secret_is_not_shown() -> None:
    assert "secret" not in repr(KEYS)
