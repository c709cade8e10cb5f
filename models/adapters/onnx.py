"""Embedding with ONNX Runtime, without torch.

Rules kept here:

1. Only verified bytes reach the parsers of the engine and the tokenizer.
2. One session, each run on one core: `threads` runs go at once, in the callers' threads and, where a
   call has several runs and cores are idle, in threads that help it. Two such runs serve 260 queries a
   second on two cores; one run with two threads serves 179.
3. Idle threads sleep. Spinning turns a query of 3 ms into one of 90 ms beside a busy neighbour.
4. Errors of the engine become ours, and never carry a text.

A model needs the files `model.onnx` (inputs `input_ids` and `attention_mask`, int64, batch by tokens; first
output batch by dimension, rows of length 1) and `tokenizer.json`.

Not here: downloading, queueing, caching of vectors.
"""

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.adapters.engine import onnxruntime
from models.adapters.local_files import DEFAULT_MODEL, read_packaged_model
from models.batching import plan_batches
from models.embedder import Vectors
from models.errors import EmbeddingError, ModelLoadError
from models.manifest import ModelManifest, VerifiedModel
from models.texts import embeddable_texts
from models.threads import Cores

__all__ = ["OnnxEmbedder", "default_embedder", "load_embedder", "usable_cores"]

MODEL_FILE: Final = "model.onnx"
TOKENIZER_FILE: Final = "tokenizer.json"

_TOKEN_BUDGET: Final = 512
"""Tokens in one run, padding included: fastest on the CPUs measured, and a run stays under 25 MB."""

_CHARACTERS_PER_TOKEN: Final = 64
"""A text is cut at this many characters for each token the model reads, before it is split into tokens.
Prose has about 4, so only runs of blanks or endless words ever notice."""

MOST_DEFAULT_THREADS: Final = 4
"""Containers often see all cores of a host and may use few; a caller who knows better says so."""


def default_embedder(*, threads: int | None = None) -> "OnnxEmbedder":
    """The model this release ships, `tool-minilm-l6-1`. `threads` as for `load_embedder`."""
    return load_embedder(DEFAULT_MODEL, threads=threads)


def load_embedder(name: str, *, threads: int | None = None) -> "OnnxEmbedder":
    """A model inside this package, by the name of its manifest.

    `threads` is how many runs may go at once, each on one core; by default the cores this process may
    use, at most 4. Raises `ModelError`.
    """
    if threads is None:
        threads = min(usable_cores(), MOST_DEFAULT_THREADS)
    return OnnxEmbedder(read_packaged_model(name), threads=threads)


class OnnxEmbedder:
    """A verified model in ONNX Runtime. Threads may share it; it holds nothing that must be closed."""

    __slots__ = ("_cores", "_manifest", "_session", "_tokenizer")

    def __init__(self, model: VerifiedModel, *, threads: int = 1) -> None:
        """Load `model` and embed one text to prove it works.

        Raises `ModelLoadError` when the engine cannot serve it, `ValueError` for fewer than one thread.
        """
        if threads < 1:
            raise ValueError(f"threads: {threads} is not at least 1")
        self._manifest = model.manifest
        self._cores = Cores(threads, name="embed")
        self._tokenizer = _tokenizer(model)
        self._session = _session(model)
        self._prove()

    @property
    def manifest(self) -> ModelManifest:
        """The pinned manifest this embedder was loaded from."""
        return self._manifest

    @property
    def threads(self) -> int:
        """How many runs go at once, each on one core."""
        return self._cores.count

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension). Raises `InvalidTextsError`, `EmbeddingError`."""
        return self._embed(self._manifest.query_prefix, texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension). Raises `InvalidTextsError`, `EmbeddingError`."""
        return self._embed(self._manifest.document_prefix, texts)

    def _embed(self, prefix: str, texts: Sequence[str]) -> Vectors:
        cleaned = embeddable_texts(texts, max_characters=self._manifest.max_tokens * _CHARACTERS_PER_TOKEN)
        tokens = [self._tokens(prefix + text) for text in cleaned]
        vectors = np.empty((len(tokens), self._manifest.dimension), dtype=np.float32)
        batches = plan_batches([len(ids) for ids in tokens], token_budget=_TOKEN_BUDGET)

        def run(batch: list[int]) -> None:
            vectors[batch] = self._run([tokens[position] for position in batch])

        self._cores.do(run, batches)
        return vectors

    def _tokens(self, text: str) -> NDArray[np.int32]:
        try:
            # One by one: tokenizing many at once would start a thread on each core, whatever `threads` says.
            ids = self._tokenizer.encode(text).ids
        except Exception:  # noqa: BLE001 - the tokenizer raises nothing more exact
            # Not chained: the tokenizer's errors may quote the text.
            raise EmbeddingError(f"model {self._manifest.name}: the tokenizer refused a text") from None
        return np.array(ids, dtype=np.int32)

    def _run(self, batch: Sequence[NDArray[np.int32]]) -> Vectors:
        width = max(1, *map(len, batch))
        # The padding's id does not matter: the mask gives it no weight at all.
        input_ids = np.zeros((len(batch), width), dtype=np.int64)
        attention_mask = np.zeros((len(batch), width), dtype=np.int64)
        for row, ids in enumerate(batch):
            input_ids[row, : len(ids)] = ids
            attention_mask[row, : len(ids)] = 1
        try:
            output = self._session.run(None, {"input_ids": input_ids, "attention_mask": attention_mask})[0]
        except Exception as error:
            raise EmbeddingError(
                f"model {self._manifest.name}: the engine failed on a batch of {len(batch)} by {width} tokens"
            ) from error
        expected = (len(batch), self._manifest.dimension)
        if output.shape != expected or not np.isfinite(output).all():
            raise EmbeddingError(
                f"model {self._manifest.name}: the engine answered shape {output.shape} where {expected} finite"
                " numbers are promised"
            )
        vectors: Vectors = output.astype(np.float32, copy=False)
        return vectors

    def _prove(self) -> None:
        """One text through everything: finds a wrong graph at load, and warms the engine up."""
        try:
            vectors = self._embed("", ["list the files of a folder"])
        except EmbeddingError as error:
            raise ModelLoadError(f"model {self._manifest.name}: {MODEL_FILE} cannot embed: {error}") from error
        length = float(np.linalg.norm(vectors[0]))
        if abs(length - 1.0) > 1e-3:
            raise ModelLoadError(
                f"model {self._manifest.name}: {MODEL_FILE} gives vectors of length {length:.3f} where 1 is"
                " promised; export it with the L2 normalisation inside"
            )


def _tokenizer(model: VerifiedModel) -> Tokenizer:
    content = _file(model, TOKENIZER_FILE)
    try:
        tokenizer = Tokenizer.from_buffer(content)
        # The file brings its own settings, of its publisher's examples; the manifest's count.
        tokenizer.no_padding()
        tokenizer.enable_truncation(model.manifest.max_tokens)
    except Exception as error:
        raise ModelLoadError(f"model {model.manifest.name}: {TOKENIZER_FILE} cannot be loaded") from error
    return tokenizer


def _session(model: VerifiedModel) -> Any:
    content = _file(model, MODEL_FILE)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; its warnings are about optimisations
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelLoadError(
            f"model {model.manifest.name}: {MODEL_FILE} cannot be loaded by ONNX Runtime {onnxruntime.__version__}"
        ) from error
    # It would keep the file's bytes to begin anew with another provider, of which there is none.
    session.disable_fallback()
    session._model_bytes = None  # noqa: SLF001 - nothing public lets go of them
    return session


def _file(model: VerifiedModel, name: str) -> bytes:
    if name not in model.files:
        raise ModelLoadError(f"model {model.manifest.name}: its manifest pins no {name}, which ONNX models need")
    return model.files[name]


def usable_cores() -> int:
    """How many cores this process may use; a container's share of their time is not looked at."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
