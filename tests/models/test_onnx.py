"""The default model in ONNX Runtime."""

import hashlib
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from models import (
    Embedder,
    EmbeddingError,
    FilePin,
    ModelError,
    ModelLoadError,
    ModelManifest,
    VerifiedModel,
)
from models.adapters.onnx import MODEL_FILE, OnnxEmbedder, default_embedder, load_embedder
from tests.contracts.embedder_contract import TEXTS, EmbedderContract
from tests.models.vectors import golden

GOLDEN = golden("tool-minilm-l6-1")


class TestOnnxEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, onnx_embedder: OnnxEmbedder) -> Embedder:
        return onnx_embedder

    @pytest.fixture
    def twin(self, two_threads: OnnxEmbedder) -> Embedder:
        return two_threads


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["text"])
class TestGoldenVectors:
    def test_vectors_stay_what_they_were(self, onnx_embedder: OnnxEmbedder, case: dict[str, object]) -> None:
        (vector,) = onnx_embedder.embed_documents([str(case["text"])])
        assert vector[:8] == pytest.approx(case["shipped"], abs=GOLDEN["shipped_tolerance"])

    def test_vectors_are_close_to_those_of_the_original_in_pytorch(
        self, onnx_embedder: OnnxEmbedder, case: dict[str, object]
    ) -> None:
        (vector,) = onnx_embedder.embed_documents([str(case["text"])])
        assert vector[:8] == pytest.approx(case["original"], abs=GOLDEN["original_tolerance"])


def test_the_identity_stays_what_it_was(manifest: ModelManifest) -> None:
    assert manifest.identity == GOLDEN["identity"]


@pytest.mark.parametrize(
    ("query", "paraphrase", "unrelated"),
    [
        ("remove an object from storage", "Deletes a file from a bucket.", "Restarts a server of a cluster."),
        ("how hot is it outside", "Get the current weather for a city.", "Get the current price of a stock."),
        ("spin up a machine", "Launches a new virtual server.", "Adds a user to a group."),
    ],
)
def test_a_paraphrase_without_a_shared_word_is_closer_than_an_unrelated_tool(
    onnx_embedder: OnnxEmbedder, query: str, paraphrase: str, unrelated: str
) -> None:
    (asked,) = onnx_embedder.embed_queries([query])
    near, far = onnx_embedder.embed_documents([paraphrase, unrelated])
    assert asked @ near > asked @ far + 0.05


def test_the_rest_of_a_text_past_the_token_limit_is_not_read(onnx_embedder: OnnxEmbedder) -> None:
    within, at, past = onnx_embedder.embed_documents(
        ["delete " * 100, "delete " * 254, "delete " * 254 + "the weather in Paris"]
    )
    assert at == pytest.approx(past, abs=1e-5)
    assert np.abs(within - at).max() > 1e-3


def test_prefixes_of_the_manifest_are_put_before_the_texts(
    packaged: VerifiedModel, onnx_embedder: OnnxEmbedder
) -> None:
    manifest = replace(packaged.manifest, query_prefix="query: ", document_prefix="passage: ")
    prefixed = OnnxEmbedder(VerifiedModel(manifest=manifest, files=packaged.files))
    plain = onnx_embedder.embed_queries(["query: delete", "passage: delete"])
    assert prefixed.embed_queries(["delete"])[0] == pytest.approx(plain[0], abs=1e-5)
    assert prefixed.embed_documents(["delete"])[0] == pytest.approx(plain[1], abs=1e-5)


def test_many_documents_on_two_threads_come_back_in_order(
    onnx_embedder: OnnxEmbedder, two_threads: OnnxEmbedder
) -> None:
    texts = [f"{TEXTS[number % len(TEXTS)]} {number}" for number in range(60)]
    both = two_threads.embed_documents(texts)
    assert np.abs(both - onnx_embedder.embed_documents(texts)).max() < 1e-5


class WatchedSession:
    """The engine's session; it knows in which threads it ran, and holds up the runs of one text."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.ran_in: set[str] = set()
        self.held, self.let_go = Event(), Event()

    def run(self, names: object, inputs: dict[str, NDArray[np.int64]]) -> Any:
        self.ran_in.add(current_thread().name)
        if current_thread().name == "held":
            self.held.set()
            assert self.let_go.wait(timeout=30)
        return self._session.run(names, inputs)


@pytest.fixture
def watched(packaged: VerifiedModel) -> tuple[OnnxEmbedder, WatchedSession]:
    embedder = OnnxEmbedder(packaged, threads=2)
    embedder._session = session = WatchedSession(embedder._session)
    return embedder, session


OF_SEVERAL_RUNS = [f"{TEXTS[number % len(TEXTS)]} {number}" for number in range(60)]


def test_a_call_of_several_runs_is_helped_where_a_core_is_idle(watched: tuple[OnnxEmbedder, WatchedSession]) -> None:
    embedder, session = watched
    embedder.embed_documents(OF_SEVERAL_RUNS)
    assert len(session.ran_in) == 2
    assert current_thread().name in session.ran_in


def test_beside_another_call_on_two_cores_a_call_runs_in_its_own_thread_alone(
    watched: tuple[OnnxEmbedder, WatchedSession],
) -> None:
    embedder, session = watched
    other = Thread(target=embedder.embed_queries, args=(["list the buckets"],), name="held")
    other.start()
    try:
        assert session.held.wait(timeout=30)
        embedder.embed_documents(OF_SEVERAL_RUNS)
    finally:
        session.let_go.set()
        other.join()
    assert session.ran_in == {"held", current_thread().name}


def test_the_number_of_threads_defaults_to_the_cores_and_is_at_least_one(packaged: VerifiedModel) -> None:
    assert load_embedder("tool-minilm-l6-1").embed_queries(["a"]).shape == (1, 384)
    with pytest.raises(ValueError, match=r"^threads: 0 is not at least 1"):
        OnnxEmbedder(packaged, threads=0)


@settings(max_examples=30)
@given(text=st.text(alphabet=st.characters()))
def test_any_text_gets_a_unit_vector(onnx_embedder: OnnxEmbedder, text: str) -> None:
    assert np.linalg.norm(onnx_embedder.embed_queries([text])) == pytest.approx(1.0, abs=1e-5)


def _with(packaged: VerifiedModel, name: str, content: bytes) -> VerifiedModel:
    """The packaged model with one file replaced and pinned as such."""
    pin = FilePin(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
    manifest = replace(packaged.manifest, files={**packaged.manifest.files, name: pin})
    return VerifiedModel(manifest=manifest, files={**packaged.files, name: content})


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"\x00", b"{}", b"not a model", b"\xff" * 1000], ids=repr)
def test_pinned_files_the_engine_cannot_load_are_one_load_error_naming_the_file(
    packaged: VerifiedModel, name: str, content: bytes
) -> None:
    with pytest.raises(ModelLoadError, match=name):
        OnnxEmbedder(_with(packaged, name, content))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_model_without_a_needed_file_is_refused_by_its_name(packaged: VerifiedModel, name: str) -> None:
    files = {key: content for key, content in packaged.files.items() if key != name}
    pins = {key: pin for key, pin in packaged.manifest.files.items() if key != name}
    model = VerifiedModel(manifest=replace(packaged.manifest, files=pins), files=files)
    with pytest.raises(ModelLoadError, match=f"pins no {name}"):
        OnnxEmbedder(model)


def test_a_graph_of_another_dimension_is_refused_at_load(packaged: VerifiedModel) -> None:
    manifest = replace(packaged.manifest, dimension=256)
    with pytest.raises(ModelLoadError, match=r"answered shape \(1, 384\) where \(1, 256\)"):
        OnnxEmbedder(VerifiedModel(manifest=manifest, files=packaged.files))


def test_an_embedder_lets_go_of_the_file_it_was_loaded_from(packaged: VerifiedModel) -> None:
    content = packaged.files[MODEL_FILE]
    before = sys.getrefcount(content)
    embedder = OnnxEmbedder(packaged)
    assert sys.getrefcount(content) == before
    assert embedder.embed_queries(["a file"]).shape == (1, packaged.manifest.dimension)


def test_a_failure_of_the_engine_is_one_error_that_quotes_no_text(packaged: VerifiedModel) -> None:
    # This graph knows 256 positions; a manifest that promises more makes the engine fail.
    manifest = replace(packaged.manifest, max_tokens=300)
    embedder = OnnxEmbedder(VerifiedModel(manifest=manifest, files=packaged.files), threads=2)
    with pytest.raises(EmbeddingError, match="failed on a batch of 1 by 300 tokens") as caught:
        embedder.embed_documents(["a", "secret " * 400])
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"
    assert isinstance(caught.value, ModelError)
    assert embedder.embed_queries(["a"]).shape == (1, 384)


def test_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert default_embedder(threads=1).embed_queries(["a"]).shape == (1, 384)


def test_torch_is_never_asked_for_and_nothing_is_printed() -> None:
    program = """
import sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "transformers", "sentence_transformers", "onnx", "safetensors"}:
            raise SystemExit(f"{name} was imported")

sys.meta_path.insert(0, Watch())
from models.adapters.onnx import default_embedder
default_embedder(threads=1).embed_queries(["a"])
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_the_engine_keeps_no_record_of_its_use_that_it_could_send(tmp_path: Path) -> None:
    program = "from models.adapters.onnx import default_embedder as load; load(threads=1).embed_queries(['a'])"
    unset = ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []
