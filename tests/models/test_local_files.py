"""Reading models from disk: found, bounded, verified."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from models import (
    FilePin,
    ManifestError,
    ModelFileMismatchError,
    ModelFileMissingError,
    ModelManifest,
    VerifiedModel,
)
from models.adapters.local_files import (
    DEFAULT_MODEL,
    ReadLimits,
    packaged_models,
    read_manifest,
    read_model,
    read_packaged_model,
)

FILES = ["model.onnx", "tokenizer.json"]


@pytest.fixture
def folder(packaged: VerifiedModel, tmp_path: Path) -> Path:
    for name, content in packaged.files.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_the_default_model_is_packaged() -> None:
    assert DEFAULT_MODEL in packaged_models()


@pytest.mark.parametrize("name", packaged_models())
def test_every_packaged_model_is_whole(name: str) -> None:
    model = read_packaged_model(name)
    assert model.manifest.name == name
    assert model.manifest.licence == "Apache-2.0"


def test_the_packaged_weights_stay_within_25_mb(packaged: VerifiedModel) -> None:
    assert sum(len(content) for content in packaged.files.values()) <= 25_000_000


@pytest.mark.parametrize("name", ["no-such-model", "../manifests/tool-minilm-l6-1", ""])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ManifestError, match="there are: tool-minilm-l6-1"):
        read_packaged_model(name)


def test_a_folder_anywhere_is_read_and_what_is_not_pinned_is_left_alone(folder: Path, packaged: VerifiedModel) -> None:
    (folder / "README.md").write_text("mine")
    assert read_model(folder, packaged.manifest) == packaged


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_one_flipped_bit_is_refused(folder: Path, manifest: ModelManifest, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelFileMismatchError, match=f"{name}: sha256 is") as caught:
        read_model(folder, manifest)
    assert caught.value.file == name


@pytest.mark.parametrize("name", FILES)
def test_a_cut_file_is_refused(folder: Path, manifest: ModelManifest, name: str) -> None:
    os.truncate(folder / name, 1000)
    with pytest.raises(ModelFileMismatchError, match=f"{name}: 1000 bytes where"):
        read_model(folder, manifest)


@pytest.mark.parametrize("name", FILES)
def test_a_longer_file_is_refused_without_reading_all_of_it(folder: Path, manifest: ModelManifest, name: str) -> None:
    os.truncate(folder / name, 2**40)  # a hole of a tebibyte, which takes no room on disk
    with pytest.raises(ModelFileMismatchError, match=f"{name}: more than the"):
        read_model(folder, manifest)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder: Path, manifest: ModelManifest, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelFileMissingError) as caught:
        read_model(folder, manifest)
    assert caught.value.file == name


def test_a_pipe_in_place_of_a_file_is_refused_without_waiting(folder: Path, manifest: ModelManifest) -> None:
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")
    with pytest.raises(ModelFileMissingError, match="no such regular file"):
        read_model(folder, manifest)


def test_a_model_over_the_limit_is_refused_before_reading(tmp_path: Path, manifest: ModelManifest) -> None:
    huge = replace(manifest, files={"model.onnx": FilePin(sha256="0" * 64, size=2**40)})
    with pytest.raises(ManifestError, match=r"files: 1099511627776 bytes are pinned, over the limit"):
        read_model(tmp_path, huge)


def test_a_manifest_that_is_missing_too_long_or_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    with pytest.raises(ManifestError, match=r"tiny\.toml: -: cannot be read"):
        read_manifest(path)
    path.write_bytes(b"#" * 101)
    with pytest.raises(ManifestError, match=r"tiny\.toml: -: longer than the 100 bytes"):
        read_manifest(path, limits=ReadLimits(manifest_bytes=100))
    path.write_bytes(b"# \xff")
    with pytest.raises(ManifestError, match=r"tiny\.toml: -: not UTF-8 at byte 2"):
        read_manifest(path)
