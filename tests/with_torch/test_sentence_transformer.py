"""The sentence-transformers adapter on the published MiniLM weights, and the ONNX export against it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from indexer.__main__ import COMMANDS
from indexer.deploying import deploy_catalog
from models.adapters import export_minilm
from models.adapters.local_files import MANIFEST_FILE, read_manifest, read_model
from models.adapters.onnx import OnnxEmbedder
from models.adapters.sentence_transformer import SentenceTransformerEmbedder
from surface.adapters import command_line
from tests.contracts.embedder_contract import EmbedderContract
from tests.indexer.samples import catalog_json, tool_json
from tests.with_torch.published import published


@pytest.fixture(scope="module")
def embedder() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(published())


@pytest.fixture(scope="module")
def twin() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(published(), threads=2)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    """What `export_minilm` makes of the same weights."""
    out = tmp_path_factory.mktemp("export")
    assert export_minilm.main(["--weights", str(published()), str(out)]) == 0
    return OnnxEmbedder(read_model(out, read_manifest(out / MANIFEST_FILE)))


class TestSentenceTransformerEmbedder(EmbedderContract):
    pass


def test_the_manifest_names_every_file_that_shapes_a_vector(embedder: SentenceTransformerEmbedder) -> None:
    manifest = embedder.manifest
    assert (manifest.dimension, manifest.max_tokens) == (384, 256)
    assert manifest.files["model.safetensors"].sha256.startswith("53aa5117")
    assert {"modules.json", "1_Pooling/config.json", "tokenizer.json"} <= manifest.files.keys()


def test_prompts_of_the_folder_stand_before_queries_and_documents(tmp_path: Path) -> None:
    folder = copytree(published(), tmp_path / "prompted")
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "ask: ", "document": "tell: "}}')
    prompted, plain = SentenceTransformerEmbedder(folder), SentenceTransformerEmbedder(published())
    assert (prompted.manifest.query_prefix, prompted.manifest.document_prefix) == ("ask: ", "tell: ")
    assert prompted.manifest.identity.rpartition("@")[2] != plain.manifest.identity.rpartition("@")[2]
    for embed, text in ((prompted.embed_queries, "ask: a"), (prompted.embed_documents, "tell: a")):
        assert float((embed(["a"]) @ plain.embed_documents([text]).T)[0, 0]) == pytest.approx(1.0, abs=1e-5)


def test_the_onnx_export_agrees_in_vectors_and_in_ranking(
    embedder: SentenceTransformerEmbedder, exported: OnnxEmbedder
) -> None:
    texts = export_minilm._TEXTS
    ours, theirs = exported.embed_documents(texts), embedder.embed_documents(texts)
    cosines = np.sum(ours * theirs, axis=1)
    assert float(cosines.mean()) > 0.999
    assert float(cosines.min()) > 0.995
    for row in range(len(texts)):
        mine, reference = ours @ ours[row], theirs @ theirs[row]
        # Eight bits may swap what torch itself holds for equal; never more than that.
        assert np.all(np.abs(np.sort(reference)[::-1][:10] - reference[np.argsort(-mine)[:10]]) < 0.02)
        assert int(np.argsort(-mine)[0]) == int(np.argsort(-reference)[0])


def test_what_was_deployed_with_a_model_is_ranked_with_it_and_refused_by_name_without(tmp_path: Path) -> None:
    tools = tmp_path / "tools.jsonl"
    lines = ('{"name": "delete_file", "description": "Removes a file."}', '{"name": "weather", "description": "Rain?"}')
    tools.write_text("\n".join(lines))
    store, model = ("--store", str(tmp_path / "store")), ("--model", str(published()))

    def run(part: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", part, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    named = ("--application", "a", "--surface", "s", "--no-cache")
    deployed = run("indexer", "deploy", str(tools), *store, *model, *named)
    assert deployed.returncode == 0, deployed.stderr
    ranked = run("selector", "rank", "s", "erase a document", *store, *model, "--json")
    assert ranked.returncode == 0, ranked.stderr
    assert json.loads(ranked.stdout)["ranked"][0]["name"] == "delete_file"
    linted = run("selector", "lint", str(tools), *model, "--json")
    assert linted.returncode == 0, linted.stderr
    assert json.loads(linted.stdout)["counts"]["indistinguishable"] == 0
    refused = run("selector", "rank", "s", "erase a document", *store)
    assert refused.returncode == 1
    assert "model@" in refused.stderr


def test_verify_makes_the_vectors_again_with_the_model_that_made_them(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.json"
    catalog.write_bytes(catalog_json(tool_json("delete_file"), tool_json("weather", description="Rain?")))
    deploy_catalog(catalog, store=tmp_path / "store", embedder=SentenceTransformerEmbedder(published()), remember=False)
    named = ["--store", str(tmp_path / "store"), "--catalog", str(catalog)]
    assert command_line.run(COMMANDS, "toolsurface", ["verify", *named, "--model", str(published())]) == 0
    assert command_line.run(COMMANDS, "toolsurface", ["verify", *named]) == 1
