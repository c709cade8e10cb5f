"""How `--model` is chosen, as far as that needs no torch: in the package, a folder, a hub's name in the local cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from models import ModelError, ModelLoadError
from models.adapters.choice import chosen_embedder
from models.adapters.hub_cache import HubModel, HubName, find_on_disk, hub_name
from models.adapters.local_files import packaged_models

COMMIT = "8b3219a92973c328a8e22fadcfa821b5dc75636a"


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache as Hugging Face's own tools lay it out: blobs, links to them by commit, and what `main` is."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    model = tmp_path / "models--org--tiny"
    snapshot = model / "snapshots" / COMMIT
    for folder in (model / "blobs", model / "refs", snapshot):
        folder.mkdir(parents=True)
    (model / "refs" / "main").write_text(COMMIT)
    (model / "blobs" / "abc").write_bytes(b"[]")
    (model / "blobs" / "def").write_bytes(b"weights")
    (snapshot / "model.safetensors").symlink_to("../../blobs/def")
    (snapshot / "modules.json").symlink_to("../../blobs/abc")
    return snapshot


@pytest.mark.parametrize("written", ["org/tiny", f"org/tiny@{COMMIT}", "org/tiny@main"])
def test_a_name_is_a_folder_of_the_local_cache_and_its_commit(cached: Path, written: str) -> None:
    wanted = hub_name(written)
    assert wanted is not None
    assert find_on_disk(wanted) == HubModel(name="org/tiny", revision=COMMIT, folder=cached)


def test_what_the_cache_holds_is_what_the_loader_is_asked_for(cached: Path) -> None:
    with pytest.raises(ModelError, match=r"--model org/tiny: .*needs .*sentence-transformers"):
        chosen_embedder("org/tiny", threads=1)  # the tests' environment has no torch


@pytest.mark.parametrize("download", [False, True])
def test_without_the_extra_a_hubs_model_is_not_looked_for_and_the_first_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, download: bool
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "none"))
    told = rf"--model org/none: none of the package \({packaged_models()[0]}.*\) and no folder; a hub's model needs "
    with pytest.raises(ModelError, match=rf"{told}.*: pip install 'toolsurface\[sentence-transformers\]'$"):
        chosen_embedder("org/none", threads=1, download=download)


def test_a_model_that_is_not_there_is_said_with_the_command_that_fetches_it(cached: Path) -> None:
    told = rf"\({packaged_models()[0]}.*not in the local hub cache; fetch it with: hf download org/none --include"
    with pytest.raises(ModelLoadError, match=told):
        find_on_disk(HubName(name="org/none", revision=None))
    with pytest.raises(ModelLoadError, match=f"hf download org/tiny --revision {COMMIT[::-1]} --include"):
        find_on_disk(HubName(name="org/tiny", revision=COMMIT[::-1]))


@pytest.mark.parametrize("written", ["org/tiny", "org/tiny@main", f"org/tiny@{COMMIT[:12]}"])
def test_nothing_is_fetched_that_is_not_named_by_its_commit(cached: Path, written: str) -> None:
    wanted = hub_name(written)
    assert wanted is not None
    with pytest.raises(ModelLoadError, match=r"--model-download: .* names no commit"):
        find_on_disk(wanted, download=True)


def test_what_is_on_this_disk_is_not_fetched(tmp_path: Path) -> None:
    for local in (None, packaged_models()[0], str(tmp_path)):
        with pytest.raises(ModelLoadError, match="--model-download: needs --model ORG/NAME@COMMIT"):
            chosen_embedder(local, threads=1, download=True)


def test_a_download_that_fails_is_one_error(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    wanted = HubName(name="org/none", revision=COMMIT)
    with pytest.raises(ModelLoadError, match="cannot be downloaded"):
        find_on_disk(wanted, download=True)


@pytest.mark.parametrize(
    ("written", "name", "revision"),
    [
        ("a", "a", None),
        ("o/n-1.5_x", "o/n-1.5_x", None),
        ("o/n@v1.0", "o/n", "v1.0"),
        ("o/n@refs/pr/1", "o/n", "refs/pr/1"),
    ],
)
def test_names_and_revisions_of_a_hub(written: str, name: str, revision: str | None) -> None:
    assert hub_name(written) == HubName(name=name, revision=revision)
    assert str(HubName(name=name, revision=revision)) == written


@pytest.mark.parametrize("written", ["", "./bge", "/x/y", "a/b/c", "a b", "a@", "@main", "a/b@x y", "../x", "héllo"])
def test_what_no_hub_has_is_neither_looked_for_nor_fetched(written: str) -> None:
    assert hub_name(written) is None
    with pytest.raises(ModelLoadError, match="neither in the package"):
        chosen_embedder(written, threads=1)


def test_a_model_of_the_package_is_chosen_by_name() -> None:
    name = packaged_models()[0]
    assert chosen_embedder(name, threads=1).manifest.name == name


def test_a_folder_without_the_extra_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(ModelError, match=r"pip install 'toolsurface\[sentence-transformers\]'"):
        chosen_embedder(str(tmp_path), threads=1)


def test_a_folder_that_is_no_model_says_so_before_anything_is_to_be_installed(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match="safetensors"):
        chosen_embedder(str(tmp_path), threads=1)
