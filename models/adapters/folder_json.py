"""The JSON files of a model folder: any bytes give a value, or one `ModelLoadError` that names the file and the fix."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from models.adapters.bounded import read_bounded
from models.errors import ModelLoadError

__all__ = ["read_json", "read_object", "wrong"]

_MAX_BYTES: Final = 16 * 1024 * 1024


def read_json(folder: Path, name: str) -> Any:
    """The JSON value of the file `name` in `folder`; None where there is none. Raises `ModelLoadError`."""
    path = folder / name
    try:
        if not path.is_file():
            return None
        data = read_bounded(path, ceiling=_MAX_BYTES)
    except OSError as error:
        raise ModelLoadError(f"model {folder}: {name}: cannot be read ({error.strerror})") from error
    if len(data) > _MAX_BYTES:
        raise wrong(folder, name, f"is larger than {_MAX_BYTES} bytes")
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise wrong(folder, name, "is not JSON") from None
    if value is None:
        raise wrong(folder, name, "is null")
    return value


def read_object(folder: Path, name: str) -> Mapping[str, Any]:
    """The JSON object of a file; empty where there is no file. Raises `ModelLoadError`."""
    value = read_json(folder, name)
    if value is not None and not isinstance(value, dict):
        raise wrong(folder, name, "must be one JSON object")
    return value or {}


def wrong(folder: Path, name: str, problem: str) -> ModelLoadError:
    """The error for a file of the folder that breaks a rule."""
    return ModelLoadError(f"model {folder}: {name}: {problem}; copy the folder again, or mend the file")


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)
