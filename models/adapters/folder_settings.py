"""What the configuration files of a sentence-transformers folder say, read before any library acts on them.

Rules kept here:

1. Any bytes give settings or one `ModelLoadError` that names the file, the field and the fix.
2. Only modules whose code is sentence-transformers' own and that lie in the folder.

Not here: which files there are (`model_folder.py`), what they would make a loader read (`folder_references.py`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from models.adapters.folder_json import read_json, read_object, wrong
from models.adapters.folder_references import TRANSFORMER_FILES
from models.errors import ModelLoadError

__all__ = ["FolderSettings", "read_settings"]

MAX_PROMPT: Final = 2_000
"""Characters; what a manifest may hold."""
LENGTHS: Final = range(3, 131_072 + 1)
"""Tokens of the longest input; what a manifest may hold."""
_MODULES: Final = "modules.json"
_PROMPTS: Final = "config_sentence_transformers.json"
_MODEL: Final = "config.json"
_OWN: Final = "sentence_transformers."
_KINDS: Final = frozenset("Transformer Pooling Normalize Dense LayerNorm Dropout WeightedLayerPooling".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSettings:
    """What a folder says of itself."""

    query_prompt: str
    document_prompt: str
    max_tokens: int | None
    """The longest input; None where the tokenizer knows."""


def read_settings(folder: Path) -> FolderSettings:
    """The settings of a model folder. Raises `ModelLoadError`, and nothing else."""
    places = [f"{path}/" if path else "" for path in _module_paths(folder)]
    lengths = [length for place in places for length in _lengths(folder, place)]
    prompts = _prompts(folder)
    return FolderSettings(
        query_prompt=prompts.get("query", ""),
        document_prompt=prompts.get("document") or prompts.get("passage", ""),
        max_tokens=lengths[0] if lengths else None,
    )


def _module_paths(folder: Path) -> list[str]:
    modules = read_json(folder, _MODULES)
    if modules is None:
        raise ModelLoadError(f"model {folder}: no sentence-transformers folder ({_MODULES} is missing)")
    if not isinstance(modules, list) or not modules:
        raise wrong(folder, _MODULES, "needs a list of modules")
    paths: list[str] = []
    for at, module in enumerate(modules):
        kind = module.get("type") if isinstance(module, dict) else None
        path = module.get("path") if isinstance(module, dict) else None
        if not isinstance(kind, str) or not isinstance(path, str):
            raise wrong(folder, _MODULES, f"[{at}]: needs a type and a path, both text")
        if not kind.startswith(_OWN):
            raise wrong(folder, _MODULES, f"[{at}].type: asks for code that is not sentence-transformers' own")
        if kind.rpartition(".")[2] not in _KINDS:
            raise wrong(folder, _MODULES, f"[{at}].type: only {', '.join(sorted(_KINDS))} are loaded here")
        if path and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", path) is None:
            raise wrong(folder, _MODULES, f"[{at}].path: leads out of the folder")
        paths.append(path)
    return paths


def _prompts(folder: Path) -> Mapping[str, str]:
    written = read_object(folder, _PROMPTS).get("prompts", {})
    if not isinstance(written, dict):
        raise wrong(folder, _PROMPTS, "prompts: must be an object")
    for name, prompt in written.items():
        if prompt is not None and not isinstance(prompt, str):
            raise wrong(folder, _PROMPTS, f"prompts.{name[:60]!a}: must be text")
        if prompt is not None and (len(prompt) > MAX_PROMPT or any("\ud800" <= each <= "\udfff" for each in prompt)):
            raise wrong(
                folder, _PROMPTS, f"prompts.{name[:60]!a}: must be at most {MAX_PROMPT} characters of valid Unicode"
            )
    return {name: prompt for name, prompt in written.items() if prompt}


def _lengths(folder: Path, place: str) -> Iterator[int]:
    for name in TRANSFORMER_FILES:
        length = read_object(folder, place + name).get("max_seq_length")
        if length is not None:
            positions = read_object(folder, place + _MODEL).get("max_position_embeddings")
            most = min(LENGTHS[-1], positions) if isinstance(positions, int) else LENGTHS[-1]
            if isinstance(length, bool) or not isinstance(length, int) or not LENGTHS[0] <= length <= most:
                raise wrong(folder, place + name, f"max_seq_length: must be {LENGTHS[0]} to {most} tokens")
            yield length
