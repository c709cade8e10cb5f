"""Embedding models, pinned: texts in, unit vectors out.

    Embedder          the port; `OnnxEmbedder` in `models.adapters.onnx` is the one in production
    HashingEmbedder   deterministic and without weights, for tests
    ModelManifest     what a model is and which bytes it is made of; its `identity` marks vectors

Rules kept here:

1. A model's bytes are verified against the manifest of this release before anything parses them.
2. Nothing is downloaded at run time.
3. This part knows no other part.

Not here: what is embedded, where vectors are kept and how they are searched.
"""

from models.embedder import Embedder, Vectors
from models.errors import (
    EmbeddingError,
    InvalidTextsError,
    ManifestError,
    ModelError,
    ModelFileError,
    ModelFileMismatchError,
    ModelFileMissingError,
    ModelLoadError,
)
from models.hashing import HashingEmbedder
from models.manifest import FilePin, ModelManifest, VerifiedModel, parse_manifest

__all__ = [
    "Embedder",
    "EmbeddingError",
    "FilePin",
    "HashingEmbedder",
    "InvalidTextsError",
    "ManifestError",
    "ModelError",
    "ModelFileError",
    "ModelFileMismatchError",
    "ModelFileMissingError",
    "ModelLoadError",
    "ModelManifest",
    "Vectors",
    "VerifiedModel",
    "parse_manifest",
]
