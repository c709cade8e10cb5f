"""Words are counted beside the embedding: what is asked for is there; what nobody asks for any more is not begun."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event
from typing import overload
from weakref import ref

import pytest

from indexer.document import Document, documents_of
from indexer.word_counting import counting_words
from indexer.word_scores import words_of
from tests.indexer.samples import tool

ROWS = documents_of([tool("list_files"), tool("send_mail")])


class Slow(Sequence[Document]):
    """Documents that nobody gets to see before a moment."""

    def __init__(self, moment: Event) -> None:
        self.moment, self.begun = moment, Event()

    def __len__(self) -> int:
        return len(ROWS)

    @overload
    def __getitem__(self, at: int) -> Document: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Document]: ...
    def __getitem__(self, at: int | slice) -> Document | Sequence[Document]:
        return ROWS[at]

    def __iter__(self) -> Iterator[Document]:
        self.begun.set()
        assert self.moment.wait(60)
        return iter(ROWS)


def test_each_surface_has_the_words_that_it_has_alone() -> None:
    with counting_words({"a": ROWS, "b": ROWS[:1], "c": ()}) as words:
        for key, rows in (("c", ROWS[:0]), ("a", ROWS), ("b", ROWS[:1])):
            found, alone = words.pop(key).result(60), words_of(rows)
            assert found.words == alone.words
            assert found.impacts.tolist() == alone.impacts.tolist()


def test_words_that_the_block_has_let_go_of_are_held_by_nobody() -> None:
    with counting_words({"a": ROWS, "b": ROWS}) as words:
        words["b"].result(60)
        held = ref(words["a"].result(60).impacts)
        assert held() is not None
        del words["a"]
        assert held() is None


def test_a_block_that_ends_early_waits_for_nothing_and_no_further_surface_is_begun() -> None:
    slow, later = Slow(Event()), Slow(Event())
    with counting_words({"slow": slow, "later": later}) as words:
        under_way, never = words["slow"], words["later"]
        assert slow.begun.wait(60)
    assert never.cancelled()
    assert not under_way.done()
    slow.moment.set()
    assert len(under_way.result(60).words) == len(words_of(ROWS).words)
    assert not later.begun.is_set()


def test_what_cannot_be_counted_is_told_to_whoever_asks_for_it() -> None:
    with counting_words({"bad": [None], "good": ROWS}) as words:  # type: ignore[list-item]  # that is the point
        with pytest.raises(AttributeError):
            words["bad"].result(60)
        assert words["good"].result(60).tools == 2
