"""The weights inside the packaged ONNX file, taken out again and put into a folder that torch loads.

The file holds what `models.adapters.minilm_graph` wrote, in its order: int8 levels and their scales, biases, norms. So
a folder made of them is the very model that ships, and torch is a second opinion on its graph and its tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import load_file, save_file

from models.adapters.local_files import read_packaged_model
from models.adapters.onnx import MODEL_FILE

Array = NDArray[np.float32]
LAYERS, HEAD, HIDDEN = 6, 32, 384


def default_as_a_folder(like: Path, place: Path) -> Path:
    """A copy of the folder `like`, an all-MiniLM-L6-v2, that holds the default model's weights instead."""
    folder = copytree(like, place)
    weights = load_file(like / "model.safetensors")
    ours = dict(_weights(_constants()))
    assert weights.keys() - ours.keys() <= {"embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight"}
    assert all(weights[name].shape == value.shape for name, value in ours.items())
    save_file(weights | ours, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _constants() -> Iterator[Array]:
    """Weights alone: no scalars and no shapes, and levels of int8 multiplied by the scales that follow them."""
    model = onnx.load_model_from_string(read_packaged_model().files[MODEL_FILE])
    values: Iterator[NDArray[Any]] = (numpy_helper.to_array(each) for each in model.graph.initializer)
    for value in values:
        if value.dtype == np.int8:
            yield value.astype(np.float32) * next(values)
        elif value.dtype == np.float32 and value.size > 1:
            yield value


def _weights(constants: Iterator[Array]) -> Iterator[tuple[str, Array]]:
    """The tensors by the names that torch knows them by."""
    yield "embeddings.word_embeddings.weight", next(constants)
    places = np.zeros((512, HIDDEN), dtype=np.float32)
    known = next(constants)
    places[: len(known)] = known
    yield "embeddings.position_embeddings.weight", places
    yield "embeddings.token_type_embeddings.weight", np.zeros((2, HIDDEN), dtype=np.float32)
    yield from _pair("embeddings.LayerNorm", constants)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            scale = np.float32(HEAD**0.5 if part == "query" else 1.0)
            for name, value in _linear(f"{layer}.attention.self.{part}", constants):
                yield name, value * scale
        yield from _linear(f"{layer}.attention.output.dense", constants)
        yield from _pair(f"{layer}.attention.output.LayerNorm", constants)
        yield from _linear(f"{layer}.intermediate.dense", constants)
        yield from _linear(f"{layer}.output.dense", constants)
        yield from _pair(f"{layer}.output.LayerNorm", constants)
    assert next(constants, None) is None


def _linear(name: str, constants: Iterator[Array]) -> Iterator[tuple[str, Array]]:
    yield f"{name}.weight", np.ascontiguousarray(next(constants).T)
    yield f"{name}.bias", next(constants)


def _pair(name: str, constants: Iterator[Array]) -> Iterator[tuple[str, Array]]:
    yield f"{name}.weight", next(constants)
    yield f"{name}.bias", next(constants)
