"""What a sentence-transformers folder may hold; none of it needs torch."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from models import ModelLoadError
from models.adapters.model_folder import folder_name, pins_of
from models.manifest import MAX_FILES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = tmp_path / "model"
    (model / "1_Pooling" / "inner").mkdir(parents=True)
    for name in ("model.safetensors", "modules.json", "1_Pooling/config.json", "1_Pooling/inner/table.h5", "spiece"):
        (model / name).write_bytes(b"content")
    for name in ("README.md", "modeling_own.py", ".gitattributes"):
        (model / name).write_bytes(b"never read")
    for name in (".cache/weights.bin", ".eval_results/mteb.yaml", "1_Pooling/.DS_Store"):
        (model / name).parent.mkdir(exist_ok=True)
        (model / name).write_bytes(b"never read")
    return model


def test_every_file_that_a_loader_may_read_is_digested_however_deep_it_lies(folder: Path) -> None:
    before = pins_of(folder)
    assert sorted(before) == [
        "1_Pooling/config.json",
        "1_Pooling/inner/table.h5",
        "model.safetensors",
        "modules.json",
        "spiece",
    ]
    for name in before:
        (folder / name).write_bytes(b"changed")
        assert pins_of(folder)[name] != before[name]
        (folder / name).write_bytes(b"content")
    assert pins_of(folder) == before


def test_what_no_loader_reads_changes_nothing(folder: Path) -> None:
    before = pins_of(folder)
    for name in ("README.md", "modeling_own.py", ".gitattributes", ".cache/weights.bin", ".eval_results/mteb.yaml"):
        (folder / name).write_bytes(b"changed")
    assert pins_of(folder) == before


@pytest.mark.parametrize(
    "name",
    ["pytorch_model.bin", "1_Pooling/pytorch_model.bin", "1_Pooling/inner/x.pt", "a.PKL", "old/model.ckpt", "w.pth"],
)
def test_a_pickle_is_refused_wherever_it_lies_and_whatever_lies_beside_it(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"\x80\x04.")
    with pytest.raises(ModelLoadError, match=rf"{name} may be a pickle.*safetensors and remove"):
        pins_of(folder)


def _many(folder: Path) -> None:
    for number in range(MAX_FILES + 1):
        (folder / f"shard-{number}.json").write_bytes(b"{}")


def _deep(folder: Path) -> None:
    (folder / "loop").symlink_to(folder, target_is_directory=True)


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "an adapter": (lambda folder: (folder / "adapter_config.json").write_text("{}"), "changes another model's weights"),
    "a nested adapter": (
        lambda folder: (folder / "1_Pooling" / "adapter_config.json").write_text("{}"),
        "changes another model's weights",
    ),
    "an empty file": (lambda folder: (folder / "config.json").write_bytes(b""), r"config\.json cannot be read, or is"),
    "a link to nothing": (lambda folder: (folder / "config.json").symlink_to("gone"), r"config\.json cannot be read"),
    "a pipe": (lambda folder: os.mkfifo(folder / "config.json"), r"config\.json cannot be read"),
    "an odd name": (lambda folder: (folder / "a\nb.json").write_bytes(b"{}"), r"'a\\nb\.json' cannot be named"),
    "a name that is no text": (
        lambda folder: Path(os.fsdecode(bytes(folder) + b"/\xff")).write_bytes(b"x"),
        "be named",
    ),
    "a hidden file": (lambda folder: (folder / ".evil.bin").write_bytes(b"x"), r"'\.evil\.bin' is hidden; remove it"),
    "a hidden folder": (lambda folder: (folder / "1_Pooling" / ".x").mkdir(), r"'1_Pooling/\.x' is hidden"),
    "a link out of it": (
        lambda folder: (folder / "x.safetensors").symlink_to(Path(__file__)),
        r"'x\.safetensors' is a link out of the folder; copy",
    ),
    "a linked folder elsewhere": (lambda folder: (folder / "2_Dense").symlink_to("/etc"), "link out of the folder"),
    "a link to itself": (lambda folder: (folder / "x.json").symlink_to("x.json"), "link out of the folder"),
    "too many files": (_many, f"more than {MAX_FILES} files"),
    "a folder in itself": (_deep, "nests deeper"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "holds no weights"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_folder_that_cannot_be_pinned_is_refused_in_one_sentence(folder: Path, kind: str) -> None:
    spoil, told = HOSTILE[kind]
    spoil(folder)
    with pytest.raises(ModelLoadError, match=told) as refused:
        pins_of(folder)
    assert "\n" not in str(refused.value)


def test_a_snapshot_of_a_hubs_cache_may_link_to_the_blobs_of_its_own_model_alone(folder: Path, tmp_path: Path) -> None:
    model, other = tmp_path / "models--org--tiny", tmp_path / "models--org--other"
    for each in (model, other):
        (each / "blobs").mkdir(parents=True)
        (each / "blobs" / "abc").write_bytes(b"content")
    snapshot = (model / "snapshots").joinpath("0" * 40)
    snapshot.parent.mkdir()
    folder.rename(snapshot)
    (snapshot / "1_Pooling" / "spiece").symlink_to("../../../blobs/abc")
    assert "1_Pooling/spiece" in pins_of(snapshot)
    (snapshot / "config.json").symlink_to(other / "blobs" / "abc")
    with pytest.raises(ModelLoadError, match=r"'config\.json' is a link out of the folder"):
        pins_of(snapshot)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match="No such file"):
        pins_of(tmp_path / "gone")


def test_a_folders_name_becomes_a_models_name() -> None:
    assert folder_name("BGE small (v1.5)") == "bge-small-v1.5"
    assert folder_name("org/Name") == "org-name"
    assert folder_name("…") == "model"
