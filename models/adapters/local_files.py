"""Model folders, in this package or anywhere on disk.

Rules kept here:

1. Nothing is downloaded; a model is here or it is missing.
2. Every read has a ceiling: a file is read to its pinned size and one byte more, never to its end.
3. Each file is read once, and what was read is what is verified and handed on: a file replaced on disk
   afterwards changes nothing.

Not here: what a manifest may say and what verifying means (`models/manifest.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from typing import Final

from models.adapters.bounded import read_bounded
from models.errors import ManifestError, ModelFileMismatchError, ModelFileMissingError
from models.manifest import ModelManifest, VerifiedModel, parse_manifest

__all__ = [
    "DEFAULT_MODEL",
    "MANIFEST_FILE",
    "ReadLimits",
    "packaged_models",
    "read_manifest",
    "read_model",
    "read_packaged_model",
]

DEFAULT_MODEL: Final = "tool-minilm-l6-1"
MANIFEST_FILE: Final = "manifest.toml"
"""What the manifest of a model folder outside this package is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """The most that is read from a disk nobody has verified yet."""

    manifest_bytes: int = 65_536
    model_bytes: int = 2 * 1024**3
    """All files of one model together; they are held in memory while the engine loads."""


_LIMITS: Final = ReadLimits()


def packaged_models() -> tuple[str, ...]:
    """The names of the models inside this package, sorted."""
    entries = (package_files("models") / "manifests").iterdir()
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml")))


def read_packaged_model(name: str = DEFAULT_MODEL) -> VerifiedModel:
    """A model inside this package, verified against the manifest that this release pins.

    Raises `ManifestError` for an unknown name, `ModelFileError` for a damaged installation.
    """
    known = packaged_models()
    if name not in known:
        raise ManifestError(
            file="models/manifests", field="name", problem=f"no model {name!r}; there are: {', '.join(known)}"
        )
    root = package_files("models")
    return read_model(root / "weights" / name, read_manifest(root / "manifests" / f"{name}.toml"))


def read_manifest(path: Traversable, *, limits: ReadLimits = _LIMITS) -> ModelManifest:
    """The manifest in the file `path`. Raises `ManifestError`."""
    try:
        content = read_bounded(path, ceiling=limits.manifest_bytes)
    except OSError as error:
        raise ManifestError(file=str(path), field="-", problem=f"cannot be read: {error.strerror}") from error
    if len(content) > limits.manifest_bytes:
        raise ManifestError(
            file=str(path), field="-", problem=f"longer than the {limits.manifest_bytes} bytes a manifest may have"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ManifestError(file=str(path), field="-", problem=f"not UTF-8 at byte {error.start}") from error
    return parse_manifest(text, file=str(path))


def read_model(folder: Traversable, manifest: ModelManifest, *, limits: ReadLimits = _LIMITS) -> VerifiedModel:
    """The files of `folder` that `manifest` pins, verified; other files there are left alone.

    `manifest` must come from somewhere trusted: beside the files it only shows that a copy is whole.
    Raises `ModelFileMissingError` or `ModelFileMismatchError` naming the file, `ManifestError` over the limit.
    """
    total = sum(pin.size for pin in manifest.files.values())
    if total > limits.model_bytes:
        raise ManifestError(
            file=manifest.name,
            field="files",
            problem=f"{total} bytes are pinned, over the limit of {limits.model_bytes}; raise model_bytes",
        )
    return VerifiedModel(manifest=manifest, files=_contents(folder, manifest))


def _contents(folder: Traversable, manifest: ModelManifest) -> Mapping[str, bytes]:
    contents: dict[str, bytes] = {}
    for name, pin in manifest.files.items():
        try:
            content = read_bounded(folder / name, ceiling=pin.size)
        except OSError as error:
            raise ModelFileMissingError(
                model=manifest.name, file=name, problem=f"cannot be read from {folder}: {error.strerror}"
            ) from error
        if len(content) > pin.size:
            # Said here, because past the ceiling the true size is not known.
            raise ModelFileMismatchError(
                model=manifest.name, file=name, problem=f"more than the {pin.size} bytes that are pinned"
            )
        contents[name] = content
    return contents
