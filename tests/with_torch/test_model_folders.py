"""Folders that torch really loads: spoiled ones are one error each, and a hub's cache is a folder like any other."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from huggingface_hub import constants
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense
from transformers import AutoConfig

from models import ModelError, ModelLoadError
from models.adapters.choice import chosen_embedder
from models.adapters.onnx import default_embedder
from models.adapters.sentence_transformer import SentenceTransformerEmbedder, _offline
from tests.with_torch.default_in_torch import default_as_a_folder
from tests.with_torch.published import published

COMMIT = "8b3219a92973c328a8e22fadcfa821b5dc75636a"
TEXTS = [
    "delete a file",
    "Send an invoice to a customer.\nTakes a customer and an amount in cents.",
    "naïve café 東京 🚀 list_files createIssue get-user-by-id",
    "",
    "word " * 400,
]


def _longer_than_its_positions(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 100000}')


def _spoiled_weights(value: float) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights["embeddings.LayerNorm.weight"] = np.full_like(weights["embeddings.LayerNorm.weight"], value)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    return spoil


def _wrong_dimension(folder: Path) -> None:
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps(json.loads(pooling.read_text()) | {"word_embedding_dimension": 768}))


def _own_code(folder: Path) -> None:
    config = folder / "config.json"
    config.write_text(
        json.dumps({"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}})
    )
    (folder / "own.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")


def _no_tokenizer(folder: Path) -> None:
    for name in ("tokenizer.json", "vocab.txt"):
        (folder / name).unlink()


def _in_shards(folder: Path, second: str = "model-00002-of-00002.safetensors") -> None:
    """Two shards and their index, which says that the second one is the file `second`."""
    weights = load_file(folder / "model.safetensors")
    names = sorted(weights)
    (folder / "model.safetensors").unlink()
    shards = {"model-00001-of-00002.safetensors": names[::2], second: names[1::2]}
    for shard, held in shards.items():
        save_file({name: weights[name] for name in held}, folder / shard, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: shard for shard, held in shards.items() for name in held}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def _another_file(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    _said(folder / "config.json", transformers_weights="other.safetensors")


def _another_model(folder: Path) -> None:
    _said(folder / "config.json", base_model_name_or_path="org/other")
    _said(folder / "sentence_bert_config.json", transformer_task="retrieval")


def _said(file: Path, **fields: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "torn weights": (lambda folder: (folder / "model.safetensors").write_bytes(b"torn"), "cannot be loaded"),
    "weights that are not finite": (_spoiled_weights(float("nan")), "not finite"),
    "infinite weights": (_spoiled_weights(float("inf")), "not finite"),
    "a longest input that it has no positions for": (_longer_than_its_positions, "max_seq_length: must be 3 to 512"),
    "another dimension": (_wrong_dimension, "answers 384 dimensions where its modules say 768"),
    "code of its own": (_own_code, "cannot be loaded"),
    "a shard from outside": (lambda folder: _in_shards(folder, "../out.safetensors"), "names no .*of this folder"),
    "a hidden shard": (lambda folder: _in_shards(folder, ".hidden.safetensors"), "is hidden; remove it"),
    "a shard of another kind": (lambda folder: _in_shards(folder, "second.h5"), "names no .*of this folder"),
    "weights of another name": (_another_file, "'transformers_weights': may make the library load something else"),
    "another model": (_another_model, "'base_model_name_or_path': may make the library load something else"),
    "no tokenizer": (_no_tokenizer, "tells no text from another"),
}


@pytest.mark.parametrize("kind", SPOILED)
def test_a_spoiled_folder_is_refused_in_one_sentence_and_runs_nothing(tmp_path: Path, kind: str) -> None:
    folder = copytree(published(), tmp_path / "spoiled")
    spoil, told = SPOILED[kind]
    spoil(folder)
    with pytest.raises(ModelLoadError, match=told) as refused:
        SentenceTransformerEmbedder(folder)
    assert "\n" not in str(refused.value)
    assert not (folder / "ran").exists()


def test_weights_in_shards_are_the_same_model(tmp_path: Path) -> None:
    folder = copytree(published(), tmp_path / "shards")
    _in_shards(folder)
    whole, shards = SentenceTransformerEmbedder(published()), SentenceTransformerEmbedder(folder)
    assert len([name for name in shards.manifest.files if name.endswith(".safetensors")]) == 2
    np.testing.assert_array_equal(shards.embed_queries(TEXTS), whole.embed_queries(TEXTS))


def test_what_the_library_itself_saves_is_taken(tmp_path: Path) -> None:
    modules = [*SentenceTransformer(str(published()), device="cpu"), Dense(384, 64)]
    SentenceTransformer(modules=modules, device="cpu", prompts={"query": "ask: "}).save(str(tmp_path / "saved"))
    saved = SentenceTransformerEmbedder(tmp_path / "saved")
    assert (saved.manifest.dimension, saved.manifest.query_prefix) == (64, "ask: ")
    assert {"3_Dense/model.safetensors", "model.safetensors"} <= saved.manifest.files.keys()


def test_no_hub_is_asked_while_a_folder_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("socket.getaddrinfo", lambda *address, **_: asked.append(address))
    SentenceTransformerEmbedder(published())
    with _offline(), pytest.raises(OSError, match=r"offline|connect"):
        AutoConfig.from_pretrained("org/other", cache_dir=tmp_path)
    assert asked == []
    assert constants.HF_HUB_OFFLINE is False


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The published model as Hugging Face's own tools lay it out: blobs, links to them by commit, what `main` is."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    model = tmp_path / "models--org--Tiny"
    snapshot = model / "snapshots" / COMMIT
    for number, file in enumerate(path for path in sorted(published().rglob("*")) if path.is_file()):
        link = snapshot / file.relative_to(published())
        link.parent.mkdir(parents=True, exist_ok=True)
        blob = model / "blobs" / f"{number:064x}"
        blob.parent.mkdir(exist_ok=True)
        blob.write_bytes(file.read_bytes())
        link.symlink_to(os.path.relpath(blob, link.parent))
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(COMMIT)
    return snapshot


def test_a_hubs_name_is_the_model_of_its_commit(hub_cache: Path) -> None:
    folder = SentenceTransformerEmbedder(published())
    for asked in ("org/Tiny", f"org/Tiny@{COMMIT}"):
        embedder = chosen_embedder(asked, threads=1)
        assert (embedder.manifest.name, embedder.manifest.revision) == ("org-tiny", COMMIT)
        assert embedder.manifest.files == folder.manifest.files
        np.testing.assert_allclose(embedder.embed_queries(TEXTS), folder.embed_queries(TEXTS), atol=1e-5)


def test_a_hubs_model_that_is_not_there_is_said_with_the_command_that_fetches_it_and_first_what_is_to_be_installed(
    hub_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelLoadError, match="fetch it with: hf download org/none"):
        chosen_embedder("org/none", threads=1)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelError, match=r"needs torch, .*pip install 'toolsurface\[sentence-transformers\]'"):
        chosen_embedder("org/none", threads=1)


def test_the_default_model_is_what_torch_makes_of_its_weights(tmp_path: Path) -> None:
    ours = default_embedder(threads=1)
    reference = SentenceTransformerEmbedder(default_as_a_folder(published(), tmp_path / "default"))
    assert ours.manifest.dimension == reference.manifest.dimension
    assert ours.manifest.max_tokens == reference.manifest.max_tokens
    for embed, other in (
        (ours.embed_queries, reference.embed_queries),
        (ours.embed_documents, reference.embed_documents),
    ):
        np.testing.assert_allclose(embed(TEXTS), other(TEXTS), atol=1e-4)
