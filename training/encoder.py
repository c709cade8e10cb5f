"""The encoder while it learns: MiniLM in torch, mean pooling, vectors of length 1, and its loss.

Weights are float32, products bfloat16: twice as fast on a CPU that has it, and the quantized export blurs more than
that. There is no dropout, which would double the forward pass on a CPU; masked names are noise enough.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from training.batches import Batch

WEIGHTS_FILE: Final = "model.safetensors"
QUERY_TOKENS: Final = 56
DOCUMENT_TOKENS: Final = 72
SCALE: Final = 20.0
"""One over the temperature of the contrastive loss."""
SIGMOID_WEIGHT: Final = 0.1
"""How much the pairwise term counts; it makes the cosine of a fitting pair mean the same in every catalog, which is
what knowing that nothing fits rests on (Zhai et al., "Sigmoid Loss for Language Image Pre-Training", 2023)."""
FIRST_BOUND: Final = -9.0

_CHUNK: Final = 32
_LARGE_CHUNK: Final = 128
_MASKED: Final = -1e4
_LARGEST_GRADIENT: Final = 1.0
_REVERSE_WEIGHT: Final = 0.5
_DIMENSION: Final = 384


class Encoder:
    """MiniLM as a torch module with its tokenizer."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the published weights, configuration and tokenizer."""
        self._folder = folder
        self._tokenizer = AutoTokenizer.from_pretrained(str(folder))
        self.model = AutoModel.from_pretrained(str(folder), attn_implementation="sdpa", add_pooling_layer=False).eval()
        self.bound = torch.nn.Parameter(torch.tensor([FIRST_BOUND]))
        """Where the pairwise loss holds a pair for even; learnt."""

    def encode(self, texts: Sequence[str], *, tokens: int, chunk: int = _CHUNK) -> torch.Tensor:
        """Vectors, shape (texts, 384); like lengths go together, because padding is what costs."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        chunks = [
            self._pooled([texts[at] for at in order[start : start + chunk]], tokens)
            for start in range(0, len(order), chunk)
        ]
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(chunks)[back]

    def vectors(self, texts: Sequence[str], *, tokens: int) -> NDArray[np.float32]:
        """Vectors of many texts, to mine with; at the precision of bfloat16."""
        full, self.model = self.model, copy.deepcopy(self.model).to(torch.bfloat16)
        try:
            with torch.no_grad():
                return np.asarray(self.encode(texts, tokens=tokens, chunk=_LARGE_CHUNK).numpy(), dtype=np.float32)
        finally:
            self.model = full

    def learn(self, batch: Batch) -> float:
        """Adds the gradient of one batch; returns its loss."""
        # One context, so that the weights are cast once a step.
        with torch.autocast("cpu", dtype=torch.bfloat16):
            queries = self.encode(batch.queries, tokens=QUERY_TOKENS)
            documents = self.encode(batch.documents, tokens=DOCUMENT_TOKENS)
        own = torch.arange(len(batch.queries))
        clash = torch.from_numpy(batch.clash.copy())
        clash[own, own] = False
        scores = (SCALE * queries @ documents.T).masked_fill(clash, _MASKED)
        loss = torch.nn.functional.cross_entropy(scores, own)
        loss = loss + _REVERSE_WEIGHT * torch.nn.functional.cross_entropy(scores[:, : len(own)].T, own)
        signs = torch.full_like(scores, -1.0)
        signs[own, own] = 1.0
        pairwise = torch.nn.functional.softplus(-signs * (scores + self.bound).masked_fill(clash, _MASKED))
        loss = loss + SIGMOID_WEIGHT * pairwise.sum(1).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), _LARGEST_GRADIENT)
        return float(loss.detach())

    def load(self, folder: Path) -> None:
        """Takes up the weights that `save` has written there."""
        self.model.load_state_dict(load_file(folder / WEIGHTS_FILE))

    def save(self, folder: Path) -> None:
        """Writes `model.safetensors`, and the tokenizer as it was published."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {name: tensor.contiguous().float() for name, tensor in self.model.state_dict().items()}
        save_file(state, folder / WEIGHTS_FILE)
        shutil.copyfile(self._folder / "tokenizer.json", folder / "tokenizer.json")

    def _pooled(self, texts: list[str], tokens: int) -> torch.Tensor:
        batch = self._tokenizer(texts, padding=True, truncation=True, max_length=tokens, return_tensors="pt")
        hidden = self.model(**batch).last_hidden_state.float()
        kept = batch["attention_mask"].unsqueeze(-1).float()
        return torch.nn.functional.normalize((hidden * kept).sum(1) / kept.sum(1), dim=-1)
