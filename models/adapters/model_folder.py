"""A sentence-transformers folder: what it is made of, and whether it is safe to load.

Rules kept here:

1. Only a folder on this disk; nothing is downloaded. A link that leads out of it is refused, but for those of a hub's
   cache, which lead to the blobs of the same model.
2. Weights are safetensors. A pickle anywhere in the folder is refused, used or not: which of two files a loader takes
   is the loader's affair.
3. Every file that a loader may read is digested, in nested folders too, so two folders of one identity hold the same
   bytes. Left out is what none reads: prose (`*.md`), Python code, which is never run, and what git, a hub's tools and
   macOS keep for themselves. Any other hidden file is refused.

Not here: what the configuration files say (`folder_settings.py`) and name (`folder_references.py`), loading
(`sentence_transformer.py`).
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from models.errors import ModelLoadError
from models.manifest import MAX_FILES, FilePin, is_file_name

__all__ = ["folder_name", "pins_of"]

_PICKLED: Final = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".npz"})
_NEVER_READ: Final = frozenset({".md", ".py", ".pyc"})
_OF_OTHER_TOOLS: Final = frozenset({".git", ".gitattributes", ".gitignore", ".cache", ".eval_results", ".DS_Store"})
_ADAPTER: Final = "adapter_config.json"
_MAX_DEPTH: Final = 8


def folder_name(name: str) -> str:
    """The name that an index records beside the digest: a folder's or a hub's, as a manifest may hold it."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("._-")[:100] or "model"


def pins_of(folder: Path) -> dict[str, FilePin]:
    """The files of a folder that shape its vectors, by their path in it. Raises `ModelLoadError`."""
    pins: dict[str, FilePin] = {}
    for path in _files(folder, folder):
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() in _PICKLED:
            raise ModelLoadError(
                f"model {folder}: {name} may be a pickle, which can run code; save the model as safetensors and remove"
                " the file"
            )
        if path.name == _ADAPTER:
            raise ModelLoadError(f"model {folder}: {name} changes another model's weights; merge them and save the sum")
        if path.suffix.lower() in _NEVER_READ:
            continue
        if not is_file_name(name):
            raise ModelLoadError(
                f"model {folder}: {name!a} cannot be named in a manifest (letters, digits, . _ - in at most 200);"
                " rename or remove it"
            )
        if len(pins) == MAX_FILES:
            raise ModelLoadError(f"model {folder}: holds more than {MAX_FILES} files; is it a model's own folder?")
        pins[name] = _pin(path, folder, name)
    if not any(name.endswith(".safetensors") for name in pins):
        raise ModelLoadError(f"model {folder}: holds no weights (*.safetensors)")
    return pins


def _files(folder: Path, below: Path, *, depth: int = 0) -> Iterator[Path]:
    """Every file below, in a fixed order; links are followed, as a loader does."""
    if depth > _MAX_DEPTH:
        raise ModelLoadError(f"model {folder}: nests deeper than {_MAX_DEPTH} folders")
    try:
        paths = sorted(path for path in below.iterdir() if path.name not in _OF_OTHER_TOOLS)
    except OSError as error:
        raise ModelLoadError(f"model {below}: cannot be read ({error.strerror})") from error
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.name.startswith("."):
            raise ModelLoadError(f"model {folder}: {name!a} is hidden; remove it")
        if path.is_symlink() and not _stays(path, folder):
            raise ModelLoadError(f"model {folder}: {name!a} is a link out of the folder; copy what it leads to")
        if path.is_dir():
            yield from _files(folder, path, depth=depth + 1)
        else:
            yield path


def _stays(link: Path, folder: Path) -> bool:
    """Whether a link leads to somewhere in the folder, or from a snapshot of a hub's cache to its model's blobs."""
    try:
        leads, home = link.resolve(), folder.resolve()
    except (OSError, RuntimeError):  # to itself
        return False
    kept = home.parent.parent / "blobs"
    return leads.is_relative_to(home) or (home.parent.name == "snapshots" and leads.parent == kept)


def _pin(path: Path, folder: Path, name: str) -> FilePin:
    try:
        # A pipe or a device would block or never end.
        if not path.is_file():
            raise FileNotFoundError(2, "no such regular file")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return FilePin(sha256=digest, size=file.tell())
    except (OSError, ValueError) as error:
        raise ModelLoadError(f"model {folder}: {name} cannot be read, or is empty") from error
