"""What a sentence-transformers folder may hold, and how `--model` is chosen; none of it needs torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models import ModelError, ModelLoadError
from models.adapters.choice import chosen_embedder
from models.adapters.local_files import packaged_models
from models.adapters.model_folder import folder_name, pins_of

OWN = "sentence_transformers.models.Transformer"


def folder(tmp_path: Path, *, kind: str = OWN, path: str = "", weights: str = "model.safetensors") -> Path:
    (tmp_path / "modules.json").write_text(json.dumps([{"type": kind, "path": path}]))
    (tmp_path / weights).write_bytes(b"weights")
    (tmp_path / "README.md").write_text("prose")
    return tmp_path


def test_every_file_that_shapes_a_vector_is_digested_and_prose_is_not(tmp_path: Path) -> None:
    pooled = folder(tmp_path, path="1_Pooling")
    (pooled / "1_Pooling").mkdir()
    (pooled / "1_Pooling" / "config.json").write_text("{}")
    before = pins_of(pooled)
    assert sorted(before) == ["1_Pooling/config.json", "model.safetensors", "modules.json"]
    (pooled / "1_Pooling" / "config.json").write_text("[]")
    assert pins_of(pooled)["1_Pooling/config.json"] != before["1_Pooling/config.json"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"weights": "pytorch_model.bin"}, "holds pickled weights"),
        ({"kind": "os.system"}, "asks for code that is not"),
        ({"path": "../other"}, "leads out of the folder"),
        ({"weights": "config.json"}, "holds no weights"),
    ],
)
def test_a_folder_that_could_run_code_or_has_no_weights_is_refused(
    tmp_path: Path, changed: dict[str, str], told: str
) -> None:
    with pytest.raises(ModelLoadError, match=told):
        pins_of(folder(tmp_path, **changed))


@pytest.mark.parametrize("modules", [None, "{", "[7]", "[{}]"])
def test_what_is_no_such_folder_is_said(tmp_path: Path, modules: str | None) -> None:
    if modules is not None:
        (tmp_path / "modules.json").write_text(modules)
    with pytest.raises(ModelLoadError, match=r"modules\.json"):
        pins_of(tmp_path)


def test_a_folders_name_becomes_a_models_name() -> None:
    assert folder_name(Path("/x/BGE small (v1.5)")) == "bge-small-v1.5"
    assert folder_name(Path("/x/…")) == "model"


def test_a_model_of_the_package_is_chosen_by_name() -> None:
    name = packaged_models()[0]
    assert chosen_embedder(name, threads=1).manifest.name == name


def test_a_model_that_is_nowhere_is_said_with_the_names_there_are() -> None:
    with pytest.raises(ModelLoadError, match="--model org/none: neither in the package"):
        chosen_embedder("org/none", threads=1)


def test_a_folder_without_the_extra_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"pip install 'toolsurface\[sentence-transformers\]'"):
        chosen_embedder(str(tmp_path), threads=1)
