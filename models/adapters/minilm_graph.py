"""all-MiniLM-L6-v2 as an ONNX graph, written node by node from its weights.

    input_ids, attention_mask  (int64, batch by tokens)  →  embedding  (float32, batch by 384, length 1)

Rules kept here:

1. Only standard operators of opset 17 and IR version 8, which every ONNX Runtime since 1.15 has.
2. Weight-only int8: a matrix is stored as int8 with one float scale per output channel and multiplied
   back before use, so activations stay float32. Dynamic int8 would be faster, but it scales activations
   by the largest in the batch, and a text's vector would depend on its neighbours.
3. Scaling back is Cast and Mul, which ONNX Runtime folds once at load; DequantizeLinear it would repeat
   in each run. The word table is the exception: it stays int8, and only the rows asked for are scaled.
4. Equal weights give equal bytes, so the published sha256 can be made again by anybody.

Not here: finding and checking the weights, writing files (`export_minilm.py`). Needs the package `onnx`.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["build_graph"]

_HIDDEN: Final = 384
_LAYERS: Final = 6
_HEADS: Final = 12
_HEAD: Final = _HIDDEN // _HEADS
_LAYER_NORM_EPSILON: Final = 1e-12
_OPSET: Final = 17
_IR_VERSION: Final = 8
_MASKED: Final = -1e9
"""Added to the score of padding: its exponential is exactly 0."""

Array = NDArray[np.float32]


def build_graph(weights: Mapping[str, Array], *, max_tokens: int, int8: bool) -> bytes:
    """A serialised ONNX model with mean pooling and L2 normalisation inside.

    `weights` are the tensors of the published safetensors file, by their names there. `int8` false keeps
    every weight in float32: the reference the small model is compared with. Inputs longer than
    `max_tokens` fail in the engine.
    """
    graph = _Graph(int8=int8)
    hidden = _embeddings(graph, weights, max_tokens=max_tokens)
    # 0 for a real token and -1e9 for padding, batch by 1 by 1 by tokens: added to the scores.
    mask = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    padded = graph.node("Sub", graph.scalar(1.0), mask)
    bias = graph.node("Mul", padded, graph.scalar(_MASKED))
    bias = graph.node("Unsqueeze", bias, graph.integers([1, 2]))
    for layer in range(_LAYERS):
        hidden = _layer(graph, _under(weights, f"encoder.layer.{layer}."), hidden, bias)
    _pool(graph, hidden, mask)
    return graph.serialise()


class _Graph:
    """Nodes and constants so far; each method returns the name of the value it adds."""

    def __init__(self, *, int8: bool) -> None:
        self._int8 = int8
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def node(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: NDArray[Any]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def scalar(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def integers(self, values: list[int]) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def matrix(self, value: Array) -> str:
        """A weight of shape (inputs, outputs), one scale per output."""
        if not self._int8:
            return self.constant(value)
        levels, scales = _to_int8(value, axis=0)
        return self.node("Mul", self.node("Cast", self.constant(levels), to=TensorProto.FLOAT), self.constant(scales))

    def rows(self, table: Array, ids: str) -> str:
        """The rows of `table` at `ids`, one scale per row."""
        if not self._int8:
            return self.node("Gather", self.constant(table), ids)
        levels, scales = _to_int8(table, axis=1)
        taken = self.node("Cast", self.node("Gather", self.constant(levels), ids), to=TensorProto.FLOAT)
        return self.node("Mul", taken, self.node("Gather", self.constant(scales), ids))

    def linear(self, value: str, weight: Array, bias: Array) -> str:
        """`weight` as PyTorch keeps it: (outputs, inputs)."""
        product = self.node("MatMul", value, self.matrix(weight.T))
        return self.node("Add", product, self.constant(bias))

    def layer_norm(self, value: str, weights: Mapping[str, Array], name: str) -> str:
        scale = self.constant(weights[f"{name}.weight"])
        shift = self.constant(weights[f"{name}.bias"])
        return self.node("LayerNormalization", value, scale, shift, axis=-1, epsilon=_LAYER_NORM_EPSILON)

    def serialise(self) -> bytes:
        tokens = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        vectors = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", _HIDDEN])
        graph = helper.make_graph(self._nodes, "all-MiniLM-L6-v2", tokens, [vectors], initializer=self._constants)
        model = helper.make_model(
            graph,
            producer_name="toolsurface",
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid("", _OPSET)],
        )
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def _embeddings(graph: _Graph, weights: Mapping[str, Array], *, max_tokens: int) -> str:
    words = graph.rows(weights["embeddings.word_embeddings.weight"], "input_ids")
    # Every token is of type 0, so that type's vector is part of each position's.
    places = (
        weights["embeddings.position_embeddings.weight"][:max_tokens]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    length = graph.node("Shape", "input_ids", start=1, end=2)
    taken = graph.node("Slice", graph.constant(places), graph.integers([0]), length, graph.integers([0]))
    return graph.layer_norm(graph.node("Add", words, taken), weights, "embeddings.LayerNorm")


def _layer(graph: _Graph, weights: Mapping[str, Array], hidden: str, bias: str) -> str:
    attended = graph.linear(
        _attention(graph, weights, hidden, bias),
        weights["attention.output.dense.weight"],
        weights["attention.output.dense.bias"],
    )
    hidden = graph.layer_norm(graph.node("Add", attended, hidden), weights, "attention.output.LayerNorm")
    inner = graph.linear(hidden, weights["intermediate.dense.weight"], weights["intermediate.dense.bias"])
    # Gelu by its definition, x/2 * (1 + erf(x/√2)), in the order ONNX Runtime recognises and fuses.
    bent = graph.node("Erf", graph.node("Div", inner, graph.scalar(2**0.5)))
    bent = graph.node("Mul", inner, graph.node("Add", bent, graph.scalar(1.0)))
    bent = graph.node("Mul", bent, graph.scalar(0.5))
    outer = graph.linear(bent, weights["output.dense.weight"], weights["output.dense.bias"])
    return graph.layer_norm(graph.node("Add", outer, hidden), weights, "output.LayerNorm")


def _attention(graph: _Graph, weights: Mapping[str, Array], hidden: str, bias: str) -> str:
    """Scaled dot products of all heads: batch by tokens by hidden."""
    own = _under(weights, "attention.self.")
    # The scale of the scores, 1/√32, is part of the query weights: one multiplication fewer in each run.
    scale = np.float32(_HEAD**-0.5)
    query = graph.linear(hidden, own["query.weight"] * scale, own["query.bias"] * scale)
    key = graph.linear(hidden, own["key.weight"], own["key.bias"])
    value = graph.linear(hidden, own["value.weight"], own["value.bias"])
    split = graph.integers([0, 0, _HEADS, _HEAD])

    def heads(name: str, order: list[int]) -> str:
        return graph.node("Transpose", graph.node("Reshape", name, split), perm=order)

    scores = graph.node("MatMul", heads(query, [0, 2, 1, 3]), heads(key, [0, 2, 3, 1]))
    shares = graph.node("Softmax", graph.node("Add", scores, bias), axis=-1)
    mixed = graph.node("MatMul", shares, heads(value, [0, 2, 1, 3]))
    joined = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
    return graph.node("Reshape", joined, graph.integers([0, 0, _HIDDEN]))


def _pool(graph: _Graph, hidden: str, mask: str) -> None:
    """The mean over real tokens, scaled to length 1. The mean's divisor would cancel, so only the sum is taken."""
    kept = graph.node("Mul", hidden, graph.node("Unsqueeze", mask, graph.integers([2])))
    total = graph.node("ReduceSum", kept, graph.integers([1]), keepdims=0)
    length = graph.node("ReduceL2", total, axes=[1], keepdims=1)
    graph.node("Div", total, graph.node("Max", length, graph.scalar(1e-9)), output="embedding")


def _to_int8(value: Array, *, axis: int) -> tuple[NDArray[np.int8], Array]:
    """Levels of -127 to 127, and the scales that give `value` back; `axis` is the one scales run along."""
    scales = np.maximum(np.abs(value).max(axis=axis, keepdims=True), 1e-12) / np.float32(127)
    levels = np.rint(value / scales).astype(np.int8)
    return levels, scales.astype(np.float32)


def _under(weights: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
