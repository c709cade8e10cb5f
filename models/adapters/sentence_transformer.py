"""Any sentence-transformers model from a folder on this disk, on the CPU (extra ``sentence-transformers``).

Rules kept here:

1. The manifest is made of the folder: its digests, dimension, longest input and prompts. Files that change while they
   are loaded are noticed.
2. float32 on the CPU, so that a text's vector does not depend on its neighbours or on the machine's accelerator.
3. One text set at a time: the tokenizers of transformers may not be shared by threads.

Not here: what a folder may hold (`model_folder.py`), batching, which the library does.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from models.adapters.model_folder import folder_name, pins_of
from models.embedder import Vectors
from models.errors import EmbeddingError, ModelFileMismatchError, ModelLoadError
from models.manifest import ModelManifest
from models.texts import embeddable_texts

__all__ = ["SentenceTransformerEmbedder"]

_BATCH = 4
"""Texts in one run: fastest on the CPUs measured (40 documents a second against 31 at 32)."""
_CHARACTERS_PER_TOKEN = 64
_REVISION = "by digest"


class SentenceTransformerEmbedder:
    """A model folder in torch. Threads may share it; they take turns."""

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """`threads` is the cores that embed documents. Raises `ModelLoadError`, `ModelFileMismatchError`."""
        pins = pins_of(folder)
        try:
            self._model = SentenceTransformer(
                str(folder),
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True, "dtype": "float32"},
            )
            dimension = len(self._model.encode("warm", show_progress_bar=False))
        except Exception as error:
            raise ModelLoadError(f"model {folder}: cannot be loaded ({type(error).__name__})") from error
        if pins_of(folder) != pins:
            raise ModelFileMismatchError(
                model=str(folder), file="-", problem="changed while it was loaded; start again"
            )
        prompts = self._model.prompts
        self._threads = threads
        self._turn = Lock()
        self._manifest = ModelManifest(
            name=folder_name(folder),
            revision=_REVISION,
            licence="see its folder",
            source=f"folder {folder_name(folder)}",
            dimension=dimension,
            max_tokens=int(self._model.max_seq_length or 512),
            query_prefix=prompts.get("query") or "",
            document_prefix=prompts.get("document") or prompts.get("passage") or "",
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
