"""What every `Embedder` keeps: the rules in the head of `models/embedder.py`, run on each implementation.

A subclass named `Test…` brings two fixtures: `embedder`, and `twin`, another instance of the same model.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from models import Embedder, InvalidTextsError, Vectors

TEXTS = [
    "delete a file",
    "Creates a snapshot of a database cluster. Snapshots are kept until they are deleted.",
    "weather",
    "list the objects of a bucket " * 8,
    "convert 100 dollars to euros",
    "列出所有文件",
    "turn off the lights in the kitchen at 10pm",
]

ODD_TEXTS = [
    "",
    " ",
    "\x00",
    "\x00\x01\x02\x1b[31m\x7f\x85",
    "\ud800",
    "cut in the middle of an escape \udc00",
    "\ud83d\ude00",  # a pair of surrogates that JSON readers of other languages leave as two
    "\N{GRINNING FACE}" * 50,
    "e\u0301\u0302\u0303" * 40,
    "\u202eright to left\u202c \u200b\u200d\ufeff",
    "\uffff\U0010ffff",
    "[CLS] [SEP] [PAD] [MASK] [UNK]",
    "\n\t\r\n",
    "....----....",
]


def _most_apart(left: Vectors, right: Vectors) -> float:
    return float(np.abs(left - right).max())


class EmbedderContract:
    @pytest.mark.parametrize("count", [0, 1, 7])
    def test_there_is_one_float32_row_of_the_promised_dimension_for_each_text(
        self, embedder: Embedder, count: int
    ) -> None:
        for vectors in (embedder.embed_queries(TEXTS[:count]), embedder.embed_documents(TEXTS[:count])):
            assert vectors.shape == (count, embedder.manifest.dimension)
            assert vectors.dtype == np.float32

    def test_every_row_has_length_one(self, embedder: Embedder) -> None:
        vectors = embedder.embed_documents(TEXTS + ODD_TEXTS)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)

    def test_rows_stand_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        forwards = embedder.embed_documents(TEXTS)
        backwards = embedder.embed_documents(TEXTS[::-1])
        assert _most_apart(forwards, backwards[::-1]) < 1e-5
        assert len({row.tobytes() for row in forwards}) == len(TEXTS)

    def test_a_text_has_the_same_vector_alone_and_among_others(self, embedder: Embedder) -> None:
        texts = TEXTS + ODD_TEXTS
        for embed in (embedder.embed_documents, embedder.embed_queries):
            alone = np.concatenate([embed([text]) for text in texts])
            assert _most_apart(embed(texts), alone) < 1e-5

    def test_a_text_asked_twice_in_one_call_has_the_same_vector_twice(self, embedder: Embedder) -> None:
        first, _, again = embedder.embed_queries(["delete a file", "x " * 100, "delete a file"])
        assert _most_apart(first, again) < 1e-5

    def test_the_same_call_gives_the_same_bytes(self, embedder: Embedder) -> None:
        assert embedder.embed_documents(TEXTS).tobytes() == embedder.embed_documents(TEXTS).tobytes()

    def test_another_instance_has_the_same_identity_and_vectors(self, embedder: Embedder, twin: Embedder) -> None:
        assert twin.manifest.identity == embedder.manifest.identity
        assert _most_apart(embedder.embed_documents(TEXTS), twin.embed_documents(TEXTS)) < 1e-5

    def test_four_threads_share_one_embedder(self, embedder: Embedder) -> None:
        alone = [embedder.embed_queries([text]) for text in TEXTS]
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda text: embedder.embed_queries([text]), TEXTS * 4))
        for position, answer in enumerate(answers):
            assert _most_apart(answer, alone[position % len(TEXTS)]) < 1e-5

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=ascii)
    def test_any_string_is_embedded(self, embedder: Embedder, text: str) -> None:
        for vectors in (embedder.embed_queries([text]), embedder.embed_documents([text])):
            assert np.isfinite(vectors).all()

    @pytest.mark.parametrize("unit", ["word ", "x", " ", "é\u0301", "\ud800"], ids=ascii)
    def test_a_text_of_millions_of_characters_is_embedded_by_its_beginning(self, embedder: Embedder, unit: str) -> None:
        long = embedder.embed_documents([unit * 2_000_000])
        longer = embedder.embed_documents([unit * 2_000_000 + " and then more"])
        assert _most_apart(long, longer) < 1e-5

    def test_similar_texts_are_closer_than_unrelated_ones(self, embedder: Embedder) -> None:
        near, far = embedder.embed_documents(["Deletes one file from a folder.", "Reports the weather of a city."])
        (query,) = embedder.embed_queries(["delete files in this folder"])
        assert query @ near > query @ far + 0.1

    @pytest.mark.parametrize(
        "texts", ["one text", b"bytes", 7, None, iter(["a"]), {"a"}], ids=lambda texts: type(texts).__name__
    )
    def test_what_is_not_a_sequence_of_strings_is_refused(self, embedder: Embedder, texts: object) -> None:
        for embed in (embedder.embed_queries, embedder.embed_documents):
            with pytest.raises(InvalidTextsError, match=r"^texts: a \w+ is not a list of strings"):
                embed(texts)  # type: ignore[arg-type]

    def test_the_position_of_a_wrong_text_is_named_and_no_text_is_quoted(self, embedder: Embedder) -> None:
        with pytest.raises(InvalidTextsError) as caught:
            embedder.embed_documents(["a secret", b"another secret"])  # type: ignore[list-item]
        assert str(caught.value) == "texts[1]: a bytes is not a str; convert it first"
