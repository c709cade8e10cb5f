"""What the configuration files of a sentence-transformers folder say, read before any library acts on them.

Rules kept here:

1. Any bytes give settings or one `ModelLoadError` that names the file, the field and the fix.
2. Only modules whose code is sentence-transformers' own and that read nothing outside their folder.
3. A value that would make the library load something else (another tokenizer, code on a hub, arguments of its own
   making) is refused.

Not here: which files there are (`model_folder.py`).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.errors import ModelLoadError

__all__ = ["FolderSettings", "read_settings"]

MAX_PROMPT: Final = 2_000
"""Characters; what a manifest may hold."""
LENGTHS: Final = range(3, 131_072 + 1)
"""Tokens of the longest input; what a manifest may hold."""
_MODULES: Final = "modules.json"
_PROMPTS: Final = "config_sentence_transformers.json"
_TRANSFORMER: Final = tuple(
    f"sentence_{kind}_config.json" for kind in "bert roberta distilbert camembert albert xlm-roberta xlnet".split()
)
_MODEL: Final = "config.json"
_TOKENIZER: Final = "tokenizer_config.json"
_MAX_BYTES: Final = 16 * 1024 * 1024
_OWN: Final = "sentence_transformers."
_KINDS: Final = frozenset("Transformer Pooling Normalize Dense LayerNorm Dropout WeightedLayerPooling".split())
_ELSEWHERE: Final = re.compile(r".*(_args|_kwargs|name_or_path)")
_HARMLESS_FILES: Final = frozenset({"special_tokens_map_file"})
"""Tokenizers write where they once read it, and never read it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSettings:
    """What a folder says of itself."""

    query_prompt: str
    document_prompt: str
    max_tokens: int | None
    """The longest input; None where the tokenizer knows."""


def read_settings(folder: Path) -> FolderSettings:
    """The settings of a model folder. Raises `ModelLoadError`, and nothing else."""
    places = [folder if not path else folder / path for path in _module_paths(folder)]
    lengths = [length for place in places for length in _lengths(folder, place)]
    for place in places:
        _refuse_what_is_elsewhere(folder, place)
    prompts = _prompts(folder)
    return FolderSettings(
        query_prompt=prompts.get("query", ""),
        document_prompt=prompts.get("document") or prompts.get("passage", ""),
        max_tokens=lengths[0] if lengths else None,
    )


def _module_paths(folder: Path) -> list[str]:
    modules = _read(folder, folder / _MODULES)
    if modules is None:
        raise ModelLoadError(f"model {folder}: no sentence-transformers folder ({_MODULES} is missing)")
    if not isinstance(modules, list) or not modules:
        raise _wrong(folder, _MODULES, "needs a list of modules")
    paths: list[str] = []
    for at, module in enumerate(modules):
        kind = module.get("type") if isinstance(module, dict) else None
        path = module.get("path") if isinstance(module, dict) else None
        if not isinstance(kind, str) or not isinstance(path, str):
            raise _wrong(folder, _MODULES, f"[{at}]: needs a type and a path, both text")
        if not kind.startswith(_OWN):
            raise _wrong(folder, _MODULES, f"[{at}].type: asks for code that is not sentence-transformers' own")
        if kind.rpartition(".")[2] not in _KINDS:
            raise _wrong(folder, _MODULES, f"[{at}].type: only {', '.join(sorted(_KINDS))} are loaded here")
        if path and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", path) is None:
            raise _wrong(folder, _MODULES, f"[{at}].path: leads out of the folder")
        paths.append(path)
    return paths


def _prompts(folder: Path) -> Mapping[str, str]:
    written = _object(folder, folder / _PROMPTS).get("prompts", {})
    if not isinstance(written, dict):
        raise _wrong(folder, _PROMPTS, "prompts: must be an object")
    for name, prompt in written.items():
        if prompt is not None and not isinstance(prompt, str):
            raise _wrong(folder, _PROMPTS, f"prompts.{name[:60]!a}: must be text")
        if prompt is not None and (len(prompt) > MAX_PROMPT or any("\ud800" <= each <= "\udfff" for each in prompt)):
            raise _wrong(
                folder, _PROMPTS, f"prompts.{name[:60]!a}: must be at most {MAX_PROMPT} characters of valid Unicode"
            )
    return {name: prompt for name, prompt in written.items() if prompt}


def _lengths(folder: Path, place: Path) -> Iterator[int]:
    for name in _TRANSFORMER:
        settings = _object(folder, place / name)
        where = _shown(folder, place / name)
        length = settings.get("max_seq_length")
        if length is not None:
            positions = _object(folder, place / _MODEL).get("max_position_embeddings")
            most = min(LENGTHS[-1], positions) if isinstance(positions, int) else LENGTHS[-1]
            if isinstance(length, bool) or not isinstance(length, int) or not LENGTHS[0] <= length <= most:
                raise _wrong(folder, where, f"max_seq_length: must be {LENGTHS[0]} to {most} tokens")
            yield length
        for key, value in settings.items():
            if value and _ELSEWHERE.fullmatch(key) is not None:
                raise _wrong(folder, where, f"{key[:60]!a}: may make the library load something else; remove it")


def _refuse_what_is_elsewhere(folder: Path, place: Path) -> None:
    for key, value in _object(folder, place / _TOKENIZER).items():
        if key.endswith("_file") and key not in _HARMLESS_FILES and isinstance(value, str):
            raise _wrong(
                folder, _shown(folder, place / _TOKENIZER), f"{key[:60]!a}: names a file of its own; remove it"
            )
    for key, value in _object(folder, place / _MODEL).items():
        if key.endswith("attn_implementation") and isinstance(value, str) and "/" in value:
            raise _wrong(folder, _shown(folder, place / _MODEL), f"{key[:60]!a}: names code on a hub; remove it")


def _object(folder: Path, path: Path) -> Mapping[str, Any]:
    value = _read(folder, path)
    if value is not None and not isinstance(value, dict):
        raise _wrong(folder, _shown(folder, path), "must be one JSON object")
    return value or {}


def _read(folder: Path, path: Path) -> Any:
    """The JSON value of a file; None where there is none."""
    where = _shown(folder, path)
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ModelLoadError(f"model {folder}: {where}: cannot be read ({error.strerror})") from error
    if len(data) > _MAX_BYTES:
        raise _wrong(folder, where, f"is larger than {_MAX_BYTES} bytes")
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _wrong(folder, where, "is not JSON") from None
    if value is None:
        raise _wrong(folder, where, "is null")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _shown(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _wrong(folder: Path, where: str, problem: str) -> ModelLoadError:
    return ModelLoadError(f"model {folder}: {where}: {problem}; copy the folder again, or mend the file")
