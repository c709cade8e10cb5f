"""A version follows from its documents, and only what is new is embedded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from indexer.artefact import NPY_HEADER_BYTES, Artefact, read_manifest
from indexer.build import build, carried_vectors
from indexer.catalog_file import CatalogTool
from indexer.contents import read_contents
from indexer.document import documents_of
from indexer.embedding import PROBES
from indexer.errors import ArtefactError
from models.hashing import HashingEmbedder
from surface.identity import catalog_digest
from tests.indexer.embedders import Listening
from tests.indexer.samples import EMBEDDER, tool, tools


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
    probe = "a\nDoes a thing."  # the one vector that is carried over is made once more, to see that it is the same
    assert embedder.asked == [probe, "b\nDoes another thing.", "d\nDoes a thing."]


def test_the_same_catalog_again_embeds_nothing_and_is_the_same_artefact() -> None:
    before = built([tool("a"), tool("b")])
    embedder = Listening()
    assert built([tool("b"), tool("a")], previous=before, embedder=embedder) is before
    assert not embedder.batches


def test_a_version_from_before_the_requests_were_compared_is_measured_anew_and_keeps_its_vectors() -> None:
    held = [tool(name) for name in "abcdefghijkl"]
    now = built(held)
    calibration = now.manifest.calibration.model_copy(update={"request_mean": None, "request_spread": None})
    manifest = now.manifest.model_copy(update={"calibration": calibration})
    assert b"request_mean" not in manifest.to_bytes()  # so it has the address that it was given then
    assert read_manifest(manifest.to_bytes()) == manifest
    embedder = Listening()
    again = built(held, previous=Artefact(manifest=manifest, files=now.files), embedder=embedder)
    assert again.version == now.version
    assert len(embedder.asked) == PROBES  # what is carried over is tested, and no more


@pytest.mark.parametrize("changed", ["recipe", "lexical_rule", "everyday requests"])
def test_a_version_that_an_earlier_rule_made_is_built_anew(changed: str) -> None:
    held = [tool(name) for name in "abcdefghijkl"]
    now = built(held)
    calibration = now.manifest.calibration
    update: dict[str, Any] = {changed: "before-1"}
    if changed == "everyday requests":
        update = {"calibration": calibration.model_copy(update={"requests": "before-1"})}
    before = Artefact(manifest=now.manifest.model_copy(update=update), files=now.files)
    assert read_manifest(before.manifest.to_bytes()) == before.manifest
    again = built(held, previous=before)
    assert before.version != again.version == now.version


def test_a_change_that_the_text_does_not_show_makes_a_version_without_embedding() -> None:
    before = built([tool("a", service="one")])
    embedder = Listening()
    after = built([tool("a", service="two")], previous=before, embedder=embedder)
    assert embedder.asked == ["a\nDoes a thing."]  # the probe
    assert read_contents(after).vectors.tobytes() == read_contents(before).vectors.tobytes()
    assert after.version != before.version


def test_another_model_carries_nothing_over() -> None:
    before = built([tool("a")])
    other = Listening(HashingEmbedder(dimension=32))
    after = built([tool("a")], previous=before, embedder=other)
    assert other.asked == ["a\nDoes a thing."]
    assert after.manifest.model != before.manifest.model
    texts = read_contents(before).texts
    assert carried_vectors(before, model=other.manifest.identity, wanted=texts) == {}
    assert carried_vectors(before, model=before.manifest.model, wanted=texts).keys() == set(texts)


@pytest.mark.parametrize("wanted", [1, 3, 9])
def test_what_is_carried_over_holds_no_more_memory_than_twice_its_own(wanted: int) -> None:
    before = built([tool(f"tool_{number}") for number in range(9)])
    contents = read_contents(before)
    chosen = contents.texts[:wanted]
    carried = carried_vectors(before, model=before.manifest.model, wanted=set(chosen))
    assert {text: vector.tobytes() for text, vector in carried.items()} == {
        text: contents.vectors[row].tobytes() for row, text in enumerate(chosen)
    }
    owners = {id(whole): whole for whole in map(owner, carried.values())}.values()
    held = [whole.nbytes if isinstance(whole, np.ndarray) else len(whole) for whole in owners]
    assert sum(held) <= 2 * sum(vector.nbytes for vector in carried.values()) + NPY_HEADER_BYTES


def owner(vector: NDArray[np.float32]) -> Any:
    """What holds the memory of an array: another one, or bytes."""
    held: Any = vector
    while isinstance(held, np.ndarray) and held.base is not None:
        held = held.base
    return held


def test_the_surface_and_application_are_part_of_the_version() -> None:
    assert len({built([tool("a")], **how).version for how in ({}, {"surface": "s"}, {"application": "b"})}) == 3


def test_a_damaged_previous_version_is_refused() -> None:
    before = built([tool("a")])
    damaged = Artefact(manifest=before.manifest, files={**before.files, "vectors.npy": b""})
    for now in ([tool("a")], [tool("b")]):
        with pytest.raises(ArtefactError):
            built(now, previous=damaged)
