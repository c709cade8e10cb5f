"""A second encoder to compare with: whatever ONNX export a folder holds.

The folder needs `model.onnx` and `tokenizer.json`, as `models/adapters/export_minilm.py` writes them. A
`manifest.toml` there says what the model is and which bytes it has; without one the bytes are taken as they are, with
no prefixes and 256 tokens, which is right for all-MiniLM-L6-v2.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from models.adapters.engine import onnxruntime
from models.adapters.local_files import MANIFEST_FILE, read_manifest, read_model
from models.adapters.onnx import MODEL_FILE, TOKENIZER_FILE, OnnxEmbedder
from models.errors import ModelFileMissingError
from models.manifest import FilePin, ModelManifest


def read_encoder(folder: Path) -> OnnxEmbedder:
    """The model of a folder, on one core; raises ModelError."""
    written = folder / MANIFEST_FILE
    manifest = read_manifest(written) if written.is_file() else _as_it_is(folder)
    return OnnxEmbedder(read_model(folder, manifest), threads=1)


def _as_it_is(folder: Path) -> ModelManifest:
    pins: dict[str, FilePin] = {}
    for name in (MODEL_FILE, TOKENIZER_FILE):
        if not (folder / name).is_file():
            raise ModelFileMissingError(model=str(folder), file=name, problem="is not in the folder")
        content = (folder / name).read_bytes()
        pins[name] = FilePin(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
    session = onnxruntime.InferenceSession(str(folder / MODEL_FILE), providers=["CPUExecutionProvider"])
    return ModelManifest(
        name=re.sub(r"[^a-z0-9._-]+", "-", folder.resolve().name.lower()).lstrip("._-") or "model",
        revision="as found",
        licence="unknown",
        source="a folder on this machine",
        dimension=int(session.get_outputs()[0].shape[-1]),
        max_tokens=256,
        query_prefix="",
        document_prefix="",
        metric="inner_product",
        files=pins,
    )
