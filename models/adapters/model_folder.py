"""A sentence-transformers folder: what it is made of, and whether it is safe to load.

Rules kept here:

1. Only a folder on this disk; nothing is downloaded.
2. Weights are safetensors. Pickled weights, and modules that are not sentence-transformers' own, would run code of the
   folder's author: refused by name.
3. Every file that shapes a vector is digested, so two folders of one identity hold the same bytes.

Not here: loading (`sentence_transformer.py`).
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Final

from models.errors import ModelLoadError
from models.manifest import FilePin

__all__ = ["folder_name", "pins_of"]

_MODULES: Final = "modules.json"
_READ: Final = frozenset({".json", ".txt", ".model", ".safetensors"})
_PICKLED: Final = frozenset({".bin", ".pt", ".pth", ".pkl", ".ckpt"})
_OWN: Final = "sentence_transformers."
_MAX_MODULES_BYTES: Final = 65_536


def folder_name(folder: Path) -> str:
    """The name that an index records beside the digest: the folder's, as a manifest may hold it."""
    return re.sub(r"[^a-z0-9._-]+", "-", folder.name.lower()).strip("._-")[:100] or "model"


def pins_of(folder: Path) -> dict[str, FilePin]:
    """The files of a folder that shape its vectors, by their path in it. Raises `ModelLoadError`."""
    places = [folder, *(folder / path for path in _module_paths(folder) if path)]
    pins: dict[str, FilePin] = {}
    for place in places:
        names = sorted(each.name for each in place.iterdir() if each.is_file()) if place.is_dir() else []
        kinds = {Path(name).suffix for name in names}
        if kinds & _PICKLED and ".safetensors" not in kinds:
            raise ModelLoadError(
                f"model {folder}: {place.name} holds pickled weights, which can run code; save them as safetensors"
            )
        for name in names:
            if Path(name).suffix in _READ:
                path = place / name
                pins[path.relative_to(folder).as_posix()] = _pin(path, folder)
    if not any(name.endswith(".safetensors") for name in pins):
        raise ModelLoadError(f"model {folder}: holds no weights (*.safetensors)")
    return pins


def _module_paths(folder: Path) -> list[str]:
    try:
        with (folder / _MODULES).open("rb") as file:
            modules: Any = json.loads(file.read(_MAX_MODULES_BYTES))
        listed = [(str(one["type"]), str(one["path"])) for one in modules]
    except OSError as error:
        raise ModelLoadError(f"model {folder}: no sentence-transformers folder ({_MODULES} cannot be read)") from error
    except (ValueError, TypeError, KeyError):
        raise ModelLoadError(f"model {folder}: {_MODULES} is damaged; copy the folder again") from None
    for kind, path in listed:
        if not kind.startswith(_OWN):
            raise ModelLoadError(f"model {folder}: {_MODULES} asks for code that is not sentence-transformers' own")
        if path and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", path) is None:
            raise ModelLoadError(f"model {folder}: {_MODULES} leads out of the folder")
    return [path for _, path in listed]


def _pin(path: Path, folder: Path) -> FilePin:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return FilePin(sha256=digest, size=file.tell())
    except (OSError, ValueError) as error:
        raise ModelLoadError(f"model {folder}: {path.name} cannot be read, or is empty") from error
