"""Words found in little memory."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from indexer.word_table import WordTable
from tests.strategies import LAW

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


class _Alike(str):
    """A word whose hash every other one has as well."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7


@LAW
@given(st.lists(words, unique=True, max_size=40), words)
def test_each_word_is_found_where_it_stands_and_no_other_is(listed: list[str], other: str) -> None:
    table = WordTable(listed)
    assert [table.place_of(word) for word in listed] == list(range(len(listed)))
    assert table.place_of(other) == (listed.index(other) if other in listed else None)


def test_words_with_one_hash_are_told_apart() -> None:
    listed = [_Alike(word) for word in ("delete", "", "file", "fil", "é")]
    table = WordTable(listed)
    assert [table.place_of(word) for word in listed] == [0, 1, 2, 3, 4]
    assert table.place_of(_Alike("files")) is None


def test_what_is_no_text_is_no_word() -> None:
    assert WordTable(["file"]).place_of("\ud800") is None


def test_a_word_weighs_its_letters_and_sixteen_bytes() -> None:
    listed = [f"word{number:06}" for number in range(20_000)]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        table = WordTable(listed)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert table.place_of(listed[-1]) == 19_999
    assert (after - before) / len(listed) < 10 + 16 + 2
