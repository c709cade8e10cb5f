"""Any sentence-transformers model from a folder on this disk, on the CPU (extra ``sentence-transformers``).

Rules kept here:

1. The manifest is made of the folder: its digests, dimension, longest input and prompts. Files that change while they
   are loaded are noticed.
2. float32 on the CPU, so that a text's vector does not depend on its neighbours or on the machine's accelerator.
3. Nothing is loaded but the pinned files of the folder, and no hub is asked.
4. One text set at a time: the tokenizers of transformers may not be shared by threads.

Not here: what a folder may hold (`model_folder.py`), say (`folder_settings.py`) and name (`folder_references.py`),
batching, which the library does.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import numpy as np
import torch
from huggingface_hub import constants
from sentence_transformers import SentenceTransformer

from models.adapters.folder_references import refuse_references
from models.adapters.folder_settings import LENGTHS, read_settings
from models.adapters.model_folder import folder_name, pins_of
from models.embedder import Vectors
from models.errors import EmbeddingError, ModelFileMismatchError, ModelLoadError
from models.manifest import MAX_DIMENSION, ModelManifest
from models.texts import embeddable_texts

__all__ = ["BY_DIGEST", "SentenceTransformerEmbedder"]

_OFFLINE = Lock()
_BATCH = 4
"""Texts in one run: fastest on the CPUs measured (40 documents a second against 31 at 32)."""
_CHARACTERS_PER_TOKEN = 64
_PROOF = ("list the files", "send an invoice")
"""As many words in each, so that a tokenizer which knows none of them is found out."""
BY_DIGEST = "by digest"
"""The revision of a model that nobody numbers: its files' digests say which one it is."""


class SentenceTransformerEmbedder:
    """A model folder in torch. Threads may share it; they take turns."""

    def __init__(self, folder: Path, *, threads: int = 1, name: str | None = None, revision: str = BY_DIGEST) -> None:
        """`threads` is the cores that embed documents; `name` and `revision` are what an index records of the model,
        the folder's own name where none is given. Raises `ModelLoadError`, `ModelFileMismatchError`.
        """
        # Absolute, for the libraries take a relative path that looks like a hub's name for one.
        folder = folder.absolute()
        pins = pins_of(folder)
        refuse_references(folder, pins)
        settings = read_settings(folder)
        try:
            with _offline():
                self._model = SentenceTransformer(
                    str(folder),
                    device="cpu",
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"use_safetensors": True, "dtype": "float32"},
                )
            said = self._model.get_embedding_dimension()
            vectors = np.asarray(self._model.encode(list(_PROOF), prompt="", show_progress_bar=False))
        except Exception as error:
            raise ModelLoadError(f"model {folder}: cannot be loaded ({type(error).__name__})") from error
        if pins_of(folder) != pins:
            raise ModelFileMismatchError(
                model=str(folder), file="-", problem="changed while it was loaded; start again"
            )
        if vectors.ndim != 2 or vectors.shape[1] > MAX_DIMENSION or not np.isfinite(vectors).all():
            raise ModelLoadError(f"model {folder}: its vectors are not finite, or of no usable size; copy it again")
        if np.allclose(vectors[0], vectors[1], rtol=0, atol=1e-4):
            raise ModelLoadError(
                f"model {folder}: it tells no text from another; is its tokenizer there? copy it again"
            )
        if said != vectors.shape[1]:
            raise ModelLoadError(
                f"model {folder}: answers {vectors.shape[1]} dimensions where its modules say {said}; mend the"
                " dimension in the configuration of its pooling"
            )
        self._threads = threads
        self._turn = Lock()
        shown = folder_name(name if name is not None else folder.name)
        self._manifest = ModelManifest(
            name=shown,
            revision=revision,
            licence="see its folder",
            source=f"folder {shown}" if name is None else f"hub {shown}",
            dimension=vectors.shape[1],
            max_tokens=_longest(folder, settings.max_tokens, self._model.max_seq_length),
            query_prefix=settings.query_prompt,
            document_prefix=settings.document_prompt,
            metric="inner_product",
            files=pins,
        )

    @property
    def manifest(self) -> ModelManifest:
        """Made of the folder; its identity covers every file's digest and both prompts."""
        return self._manifest

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension). Raises `InvalidTextsError`, `EmbeddingError`."""
        return self._embed(self._manifest.query_prefix, texts, threads=1)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension). Raises `InvalidTextsError`, `EmbeddingError`."""
        return self._embed(self._manifest.document_prefix, texts, threads=self._threads)

    def _embed(self, prompt: str, texts: Sequence[str], *, threads: int) -> Vectors:
        cleaned = embeddable_texts(texts, max_characters=self._manifest.max_tokens * _CHARACTERS_PER_TOKEN)
        if not cleaned:
            return np.empty((0, self._manifest.dimension), dtype=np.float32)
        try:
            with self._turn:
                torch.set_num_threads(threads)
                answered = self._model.encode(
                    cleaned, prompt=prompt, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
                )
        except Exception:  # noqa: BLE001 - the library raises anything
            # Not chained: its errors may quote the text.
            raise EmbeddingError(f"model {self._manifest.name}: failed on {len(cleaned)} texts") from None
        vectors: Vectors = np.asarray(answered, dtype=np.float32)
        if vectors.shape != (len(cleaned), self._manifest.dimension) or not np.isfinite(vectors).all():
            raise EmbeddingError(f"model {self._manifest.name}: answered no finite vector for each text")
        return vectors


@contextmanager
def _offline() -> Iterator[None]:
    """While it lasts no request to a hub leaves this process: the libraries hand `local_files_only` on to some of what
    they load, and ask this everywhere.
    """
    with _OFFLINE:
        before = constants.HF_HUB_OFFLINE
        constants.HF_HUB_OFFLINE = True
        try:
            yield
        finally:
            constants.HF_HUB_OFFLINE = before


def _longest(folder: Path, said: int | None, loaded: object) -> int:
    """The longest input in tokens, as the library has understood it. Raises `ModelLoadError`."""
    if isinstance(loaded, int) and loaded in LENGTHS and said in (None, loaded):
        return loaded
    raise ModelLoadError(
        f"model {folder}: its longest input is not known (or not {LENGTHS[0]} to {LENGTHS[-1]} tokens); say it as"
        " max_seq_length in sentence_bert_config.json"
    )
