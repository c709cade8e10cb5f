"""The embedder without weights."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Embedder, HashingEmbedder
from tests.contracts.embedder_contract import EmbedderContract
from tests.models.vectors import golden

GOLDEN = golden("hashing")
ANY_TEXT = st.text(alphabet=st.characters())


class TestHashingEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashingEmbedder()

    @pytest.fixture
    def twin(self) -> Embedder:
        return HashingEmbedder()


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["text"] or "empty")
def test_vectors_stay_what_they_were(case: dict[str, object]) -> None:
    (vector,) = HashingEmbedder(dimension=16).embed_documents([str(case["text"])])
    assert vector == pytest.approx(case["vector"], abs=GOLDEN["tolerance"])


def test_the_identity_stays_what_it_was() -> None:
    assert HashingEmbedder(dimension=16).manifest.identity == GOLDEN["identity"]


def test_the_default_dimension_is_256() -> None:
    assert HashingEmbedder().manifest.dimension == 256


def test_each_dimension_is_a_model_of_its_own() -> None:
    assert HashingEmbedder(dimension=64).manifest.identity != HashingEmbedder(dimension=128).manifest.identity


@pytest.mark.parametrize("dimension", [-1, 0, 7, 65_537])
def test_a_dimension_out_of_range_is_refused(dimension: int) -> None:
    with pytest.raises(ValueError, match=rf"^dimension: {dimension} is not between 8 and 65536"):
        HashingEmbedder(dimension=dimension)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_vectors_do_not_depend_on_the_hash_seed_of_the_process(seed: str) -> None:
    program = "from models import HashingEmbedder as H; print(H().embed_queries(['delete a file']).tobytes().hex())"
    answer = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
    )
    assert answer.stdout.strip() == HashingEmbedder().embed_queries(["delete a file"]).tobytes().hex()


def test_inflections_are_closer_than_other_words() -> None:
    file, files, bucket = HashingEmbedder().embed_documents(["file", "files", "bucket"])
    assert file @ files > file @ bucket + 0.2


def test_case_and_word_order_do_not_matter() -> None:
    one, other = HashingEmbedder().embed_documents(["Delete the FILE", "the file delete"])
    assert one.tobytes() == other.tobytes()


@given(ANY_TEXT)
def test_any_text_gets_a_unit_vector(text: str) -> None:
    vectors = HashingEmbedder(dimension=8).embed_documents([text])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
