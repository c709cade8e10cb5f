"""A text is embedded once, what is at hand is believed only after a test, and no vector that was made is lost."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Barrier
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from indexer import embedding
from indexer.catalog_file import CatalogTool
from indexer.document import Document, documents_of
from indexer.embedding import AT_ONCE, LOT, PROBES, Embedded, Vectors, embed
from indexer.errors import BuildError
from models import embedder as port
from tests.indexer.embedders import Broken, Interrupted, Listening, Other
from tests.indexer.samples import EMBEDDER, tool, tools

MODEL = EMBEDDER.manifest.identity


class Remembering:
    """A cache that shows what it was given."""

    def __init__(self, vectors: Vectors | None = None) -> None:
        self.vectors = dict(vectors or {})
        self.kept: list[int] = []

    def find(self, model: str, texts: Sequence[str]) -> Vectors:
        return {text: self.vectors[text] for text in texts if model == MODEL and text in self.vectors}

    def keep(self, model: str, vectors: Vectors) -> None:
        assert model == MODEL
        self.kept.append(len(vectors))
        self.vectors |= vectors


@contextmanager
def interrupted_before(number: int, *, within: Callable[..., object]) -> Iterator[None]:
    """Ctrl-C before this instruction, counted from 1, of a function and those inside it; unless it ends earlier."""
    left, file = number, inspect.getsourcefile(within)

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        left -= event == "opcode"
        if not left:
            raise KeyboardInterrupt
        return step

    def begun(frame: FrameType, _: str, __: Any) -> Any:
        if frame.f_code.co_filename != file or frame.f_code.co_qualname.split(".")[0] != within.__qualname__:
            return None
        frame.f_trace_opcodes = True
        return step

    before = sys.gettrace()
    sys.settrace(begun)
    try:
        yield
    finally:
        sys.settrace(before)


class TwoAtOnce(Listening):
    """Each call waits until the other one of its pair has begun."""

    def __init__(self) -> None:
        super().__init__()
        self._together = Barrier(AT_ONCE)

    def embed_documents(self, texts: Sequence[str]) -> port.Vectors:
        self._together.wait(30)
        return super().embed_documents(texts)


def vectors_of(documents: Sequence[Document]) -> Vectors:
    made = EMBEDDER.embed_documents([document.text for document in documents])
    return dict(zip((document.text_digest for document in documents), made, strict=True))


def many(number: int) -> tuple[Document, ...]:
    return documents_of([tool(f"tool_{each}") for each in range(number)])


def embedded(documents: Sequence[Document], **how: Any) -> Embedded:
    usual: dict[str, Any] = {"embedder": EMBEDDER, "carried": {}}
    return embed(documents, **(usual | how))


@settings(max_examples=30)
@given(tools, tools)
def test_every_text_gets_its_own_vector_wherever_it_came_from(
    given_tools: list[CatalogTool], others: list[CatalogTool]
) -> None:
    documents = documents_of(given_tools)
    expected = vectors_of(documents)
    for carried in ({}, vectors_of(documents_of(others)), expected):
        for cache in (None, Remembering(vectors_of(documents_of(others[:3])))):
            result = embedded(documents, carried=carried, cache=cache)
            assert result.vectors.keys() == expected.keys()
            for text, vector in result.vectors.items():
                np.testing.assert_array_equal(vector, expected[text])
            assert result.carried + result.recalled + result.made == len(expected)
            assert result.distrusted == 0


def test_equal_texts_are_embedded_once() -> None:
    embedder = Listening()
    assert embedded(documents_of([tool("a_b"), tool("a-b")]), embedder=embedder).made == 1
    assert embedder.asked == ["a b\nDoes a thing."]


def test_what_is_carried_is_not_looked_for_in_the_cache() -> None:
    documents = many(3)
    cache = Remembering(vectors_of(documents))
    result = embedded(documents, carried=vectors_of(documents[:2]), cache=cache)
    assert (result.carried, result.recalled, result.made) == (2, 1, 0)


def test_a_few_vectors_of_a_source_are_made_again_and_no_more() -> None:
    documents, embedder = many(40), Listening()
    embedded(documents, carried=vectors_of(documents), embedder=embedder)
    assert len(embedder.asked) == PROBES


@pytest.mark.parametrize("source", ["carried", "cache"])
def test_a_source_whose_vectors_are_not_what_the_model_makes_is_not_believed(source: str) -> None:
    documents = many(5)
    wrong = {text: -vector for text, vector in vectors_of(documents).items()}
    result = embedded(documents, **{source: wrong if source == "carried" else Remembering(wrong)})
    assert (result.distrusted, result.made) == (5, 5)
    np.testing.assert_array_equal(
        result.vectors[documents[0].text_digest], vectors_of(documents)[documents[0].text_digest]
    )


def test_vectors_of_another_shape_are_not_believed() -> None:
    documents = many(2)
    short = {text: vector[:8] for text, vector in vectors_of(documents).items()}
    assert embedded(documents, carried=short).distrusted == 2


@pytest.mark.parametrize(
    "wrong",
    [np.zeros(8, dtype="<f4"), *(np.full(EMBEDDER.manifest.dimension, one, dtype="<f4") for one in (np.nan, 1))],
)
def test_one_vector_that_cannot_be_the_models_is_enough_not_to_believe_its_source(
    wrong: port.Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "_COMPARED_AT_ONCE", 3)
    documents = many(8)
    sound = vectors_of(documents)
    for document in documents:
        source = {**sound, document.text_digest: wrong}
        assert embedded(documents, carried=source).distrusted == len(documents)


def test_a_model_that_only_says_it_is_the_same_finds_nothing_to_carry() -> None:
    documents = many(4)
    result = embedded(documents, carried=vectors_of(documents), embedder=Other())
    assert (result.carried, result.distrusted, result.made) == (0, 4, 4)


def test_work_is_done_in_lots_two_at_once_longest_first_and_every_lot_is_told() -> None:
    embedder, told = TwoAtOnce(), list[tuple[str, int, int]]()
    total = 3 * LOT + 5
    embedded(
        many(total), embedder=embedder, progress=lambda stage, done, of: told.append((stage, done, of)), cache=None
    )
    assert told[0] == ("embedding", 0, total)
    assert told[-1] == ("embedding", total, total)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert sorted(len(batch) for batch in embedder.batches) == [5, LOT, LOT, LOT]
    # Which lot of a pair is asked first is chance; of the longest texts none waits for the end.
    assert max(map(len, embedder.batches[0] + embedder.batches[1])) == max(map(len, embedder.asked))
    assert min(map(len, embedder.batches[-1] + embedder.batches[-2])) == min(map(len, embedder.asked))


def test_every_lot_is_kept_as_soon_as_it_is_done() -> None:
    cache = Remembering()
    embedded(many(2 * LOT + 1), cache=cache)
    assert sorted(cache.kept) == [1, LOT, LOT]


@pytest.mark.parametrize("call", [1, 2, 4])
def test_an_interruption_loses_no_vector_that_was_made(call: int) -> None:
    documents, cache, embedder = many(6 * LOT), Remembering(), Interrupted(call)
    with pytest.raises(KeyboardInterrupt):
        embedded(documents, cache=cache, embedder=embedder)
    assert len(cache.vectors) == len(embedder.asked)
    again = embedded(documents, cache=cache)
    assert (again.recalled, again.made) == (len(embedder.asked), 6 * LOT - len(embedder.asked))


def test_an_interruption_of_the_one_who_waits_keeps_what_is_under_way() -> None:
    cache, embedder = Remembering(), Listening()

    def progress(stage: str, done: int, total: int) -> None:
        if done >= 2 * LOT:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedded(many(6 * LOT), cache=cache, embedder=embedder, progress=progress)
    assert len(cache.vectors) == len(embedder.asked) < 6 * LOT


def test_an_interruption_before_any_instruction_loses_no_vector_that_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "LOT", 1)
    for number in count(1):
        cache, embedder = Remembering(), Listening()
        try:
            with interrupted_before(number, within=embedding.embed_lots):
                embedded(many(3), cache=cache, embedder=embedder)
        except KeyboardInterrupt:
            assert len(cache.vectors) == len(embedder.asked), f"before instruction {number}"
        else:
            assert number > 200
            return


@pytest.mark.parametrize("answer", [np.zeros((1, 16)), np.full((1, 16), np.nan), np.ones((2, 16)), np.ones((1, 8)), []])
def test_an_embedder_that_answers_no_unit_vectors_is_refused(answer: Any) -> None:
    with pytest.raises(BuildError, match="the embedder answered"):
        embedded(many(1), embedder=Broken(answer))
