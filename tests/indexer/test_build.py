"""A version follows from its documents, and only what is new is embedded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.artefact import Artefact
from indexer.build import CHUNK, build, carried_vectors
from indexer.catalog_file import CatalogTool
from indexer.contents import read_contents
from indexer.document import documents_of
from indexer.errors import ArtefactError, BuildError
from models.embedder import Vectors
from models.hashing import HashingEmbedder
from models.manifest import ModelManifest
from surface.identity import catalog_digest
from tests.indexer.samples import EMBEDDER, tool, tools


class Listening:
    """An embedder that remembers what it was asked."""

    def __init__(self, inner: HashingEmbedder = EMBEDDER) -> None:
        self._inner = inner
        self.batches: list[list[str]] = []

    @property
    def manifest(self) -> ModelManifest:
        return self._inner.manifest

    @property
    def asked(self) -> list[str]:
        return [text for batch in self.batches for text in batch]

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._inner.embed_queries(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        return self._inner.embed_documents(texts)


class Broken(Listening):
    """An embedder that answers whatever it is told to."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(self._answer, dtype=np.float32)


def built(given_tools: Sequence[CatalogTool], **how: Any) -> Artefact:
    usual: dict[str, Any] = {"application": "app", "surface": "reader", "embedder": EMBEDDER}
    return build(documents_of(given_tools), **(usual | how))


@settings(max_examples=50)
@given(tools, st.randoms(use_true_random=False))
def test_the_version_does_not_depend_on_the_order_of_the_tools(
    given_tools: list[CatalogTool], order: random.Random
) -> None:
    shuffled = list(documents_of(given_tools))
    order.shuffle(shuffled)
    again = build(shuffled, application="app", surface="reader", embedder=EMBEDDER)
    first = built(given_tools)
    assert again.version == first.version
    assert again.files == first.files


@settings(max_examples=50)
@given(tools, tools)
def test_a_version_grown_from_another_is_the_one_built_at_once(
    before: list[CatalogTool], after: list[CatalogTool]
) -> None:
    grown = built(after, previous=built(before))
    assert grown.version == built(after).version


@settings(max_examples=30)
@given(tools)
def test_what_is_built_is_sound_and_complete(given_tools: list[CatalogTool]) -> None:
    artefact = built(given_tools)
    contents = read_contents(artefact)
    documents = documents_of(given_tools)
    assert contents.names == tuple(document.name for document in documents)
    assert artefact.manifest.catalog_digest == catalog_digest(document.digest for document in documents)
    expected = EMBEDDER.embed_documents([document.text for document in documents])
    np.testing.assert_array_equal(contents.vectors, expected)


def test_only_changed_texts_are_embedded_again() -> None:
    before = built([tool("a"), tool("b"), tool("c")])
    embedder = Listening()
    built([tool("a"), tool("b", "Does another thing."), tool("d")], previous=before, embedder=embedder)
    assert sorted(embedder.asked) == ["b\nDoes another thing.", "d\nDoes a thing."]


def test_the_same_catalog_again_embeds_nothing_and_is_the_same_artefact() -> None:
    before = built([tool("a"), tool("b")])
    embedder = Listening()
    assert built([tool("b"), tool("a")], previous=before, embedder=embedder) is before
    assert not embedder.batches


def test_a_change_that_the_text_does_not_show_makes_a_version_without_embedding() -> None:
    before = built([tool("a", service="one")])
    embedder = Listening()
    after = built([tool("a", service="two")], previous=before, embedder=embedder)
    assert not embedder.batches
    assert after.version != before.version


def test_another_model_carries_nothing_over() -> None:
    before = built([tool("a")])
    other = Listening(HashingEmbedder(dimension=32))
    after = built([tool("a")], previous=before, embedder=other)
    assert other.asked == ["a\nDoes a thing."]
    assert after.manifest.model != before.manifest.model
    assert carried_vectors(before, model=other.manifest.identity) == {}


def test_the_surface_and_application_are_part_of_the_version() -> None:
    assert len({built([tool("a")], **how).version for how in ({}, {"surface": "s"}, {"application": "b"})}) == 3


def test_vectors_at_hand_are_used_and_equal_texts_are_embedded_once() -> None:
    embedder = Listening()
    documents = documents_of([tool("a_b"), tool("a-b"), tool("c")])
    (known,) = EMBEDDER.embed_documents([documents[2].text])
    vectors = {documents[2].text_digest: known}
    build(documents, application="app", surface="s", embedder=embedder, vectors=vectors)
    assert embedder.asked == ["a b\nDoes a thing."]


def test_work_is_done_in_chunks_and_every_chunk_is_told() -> None:
    embedder, told = Listening(), list[tuple[str, int, int]]()
    many = [tool(f"tool_{number}") for number in range(CHUNK + 3)]
    built(many, embedder=embedder, progress=lambda stage, done, total: told.append((stage, done, total)))
    total = CHUNK + 3
    assert told == [("embedding", 0, total), ("embedding", CHUNK, total), ("embedding", total, total)]
    assert [len(batch) for batch in embedder.batches] == [CHUNK, 3]
    assert [len(text) for text in embedder.asked] == sorted(map(len, embedder.asked), reverse=True)


@pytest.mark.parametrize("answer", [np.zeros((1, 16)), np.full((1, 16), np.nan), np.ones((2, 16)), np.ones((1, 8)), []])
def test_an_embedder_that_answers_no_unit_vectors_is_refused(answer: Any) -> None:
    with pytest.raises(BuildError, match="the embedder answered"):
        built([tool("a")], embedder=Broken(answer))


def test_a_damaged_previous_version_is_refused() -> None:
    before = built([tool("a")])
    damaged = Artefact(manifest=before.manifest, files={**before.files, "vectors.npy": b""})
    for now in ([tool("a")], [tool("b")]):
        with pytest.raises(ArtefactError):
            built(now, previous=damaged)
