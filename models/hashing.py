"""An embedder without weights: hashed words and character trigrams.

It is real code that ranks similar texts closer, so whole systems can be tested through it, in
milliseconds and to the last bit. Rules kept here:

1. The same vector on every machine and in every process: BLAKE2 hashes, never the builtin `hash`.
2. A feature counts once however often it occurs, so a long text is not pulled to its commonest word.
3. Trigrams weigh less than words and tie inflections together (`file`, `files`).

Not here: meaning. `remove` and `delete` share nothing; that takes a trained model.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from models.embedder import Vectors
from models.manifest import ModelManifest
from models.texts import embeddable_texts

__all__ = ["HashingEmbedder"]

_WORD: Final = re.compile(r"[^\W_]+")
_MAX_CHARACTERS: Final = 65_536
_MAX_WORDS: Final = 4_096
_WORD_WEIGHT: Final = 1.0
_TRIGRAM_WEIGHT: Final = 0.3


class HashingEmbedder:
    """Deterministic vectors from hashed features. Holds no state besides its manifest."""

    __slots__ = ("_manifest",)

    def __init__(self, *, dimension: int = 256) -> None:
        """`dimension` is the length of each vector, 8 to 65,536. Raises `ValueError` outside of that."""
        if not 8 <= dimension <= 65_536:
            raise ValueError(f"dimension: {dimension} is not between 8 and 65536; 256 is a good choice")
        self._manifest = ModelManifest(
            name="hashing",
            revision="1",
            licence="Apache-2.0",
            source="models/hashing.py",
            dimension=dimension,
            max_tokens=_MAX_WORDS,
            query_prefix="",
            document_prefix="",
            metric="inner_product",
            files={},
        )

    @property
    def manifest(self) -> ModelManifest:
        """Name, dimension and identity; no files."""
        return self._manifest

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension). Raises `InvalidTextsError`."""
        return self._embed(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension); the same vectors as queries get. Raises `InvalidTextsError`."""
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        cleaned = embeddable_texts(texts, max_characters=_MAX_CHARACTERS)
        vectors = np.empty((len(cleaned), self._manifest.dimension), dtype=np.float32)
        for row, text in enumerate(cleaned):
            vectors[row] = self._vector(text)
        return vectors

    def _vector(self, text: str) -> Vectors:
        dimension = self._manifest.dimension
        vector = np.zeros(dimension, dtype=np.float64)
        # Sorted, so that the sums round alike whatever order the words stand in.
        for feature, weight in sorted(dict(_features(text)).items()):
            slot, sign = _slot(feature, dimension)
            vector[slot] += sign * weight
        length = float(np.linalg.norm(vector))
        if length < 1e-9:
            # No features, or all of them cancelled: still a unit vector, one that nothing else gets.
            slot, sign = _slot("", dimension)
            vector[slot], length = sign, 1.0
        return (vector / length).astype(np.float32)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for match in islice(_WORD.finditer(text.casefold()), _MAX_WORDS):
        word = match.group()
        yield word, _WORD_WEIGHT
        # The blanks mark where a word begins and ends; no word holds a tilde, so the two kinds never mix.
        padded = f" {word} "
        for start in range(len(word)):
            yield f"~{padded[start : start + 3]}", _TRIGRAM_WEIGHT


def _slot(feature: str, dimension: int) -> tuple[int, float]:
    number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
    # The sign comes from a bit the slot does not use; signs make collisions cancel on average.
    return (number >> 1) % dimension, 1.0 if number & 1 else -1.0
