"""What the files of a model folder name: nothing is loaded but the pinned files of the folder itself.

Rules kept here:

1. A shard of the weights is a pinned *.safetensors beside its index. The libraries join any other path unchecked, and
   hand what is not called safetensors to the unpickler.
2. No configuration, however deep inside another one, names a file, a folder, another model, code on a hub or arguments
   of a library.
3. A transformer is loaded for its features alone; the settings of its module are those known here.

Not here: which files are pinned (`model_folder.py`), what else the configuration says (`folder_settings.py`).
"""

import re
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from models.adapters.folder_json import read_object, wrong
from models.errors import ModelLoadError
from models.manifest import is_file_name

__all__ = ["TRANSFORMER_FILES", "refuse_references"]

TRANSFORMER_FILES: Final = tuple(
    f"sentence_{kind}_config.json" for kind in "bert roberta distilbert camembert albert xlm-roberta xlnet".split()
)
"""What the settings of a Transformer module may be called."""
_CONFIGURATIONS: Final = frozenset(
    {
        "config.json",
        "tokenizer_config.json",
        "processor_config.json",
        "preprocessor_config.json",
        "video_preprocessor_config.json",
        "audio_tokenizer_config.json",
        "generation_config.json",
        *TRANSFORMER_FILES,
    }
)
_INDEX: Final = ".index.json"
_WEIGHTS: Final = ".safetensors"
_ARGUMENTS: Final = re.compile(r".*_(args|kwargs)")
_NAMES: Final = re.compile(r"(.*_)?(files?|paths?|dir|folder|url|repo|repo_id|checkpoint)")
_ELSEWHERE: Final = frozenset({"transformers_weights", "backbone", "use_pretrained_backbone", "quantization_config"})
_HARMLESS: Final = frozenset({"_name_or_path", "name_or_path", "special_tokens_map_file"})
"""Written by the libraries where they once read, and never read again."""
_IMPLEMENTATION: Final = re.compile(r".*(attn|experts)_implementation(_internal)?")
_IMPLEMENTATIONS: Final = frozenset({"eager", "sdpa", "batched_mm", "grouped_mm"})
"""Those of the libraries that run on a CPU. Any other may be fetched from a hub as a kernel."""
_SETTINGS: Final = frozenset({"max_seq_length", "do_lower_case", "module_output_name", "unpad_inputs"})
_TASK: Final = "feature-extraction"


def refuse_references(folder: Path, pins: Collection[str]) -> None:
    """Refuses a folder that leads a loader to anything but `pins`, its files by their path in it.

    Raises `ModelLoadError`, naming the file, the field and the fix.
    """
    for name in sorted(pins):
        last = name.rpartition("/")[2]
        if last.endswith(_INDEX):
            _check_shards(folder, name, pins)
        elif last in _CONFIGURATIONS:
            _check(folder, name)
        if last in TRANSFORMER_FILES:
            _check_transformer(folder, name)


def _check_shards(folder: Path, name: str, pins: Collection[str]) -> None:
    shards = read_object(folder, name).get("weight_map")
    if not isinstance(shards, dict):
        raise wrong(folder, name, "weight_map: must be an object")
    beside = name.rpartition("/")[0]
    for tensor, shard in shards.items():
        inside = isinstance(shard, str) and is_file_name(shard) and f"{beside}/{shard}".removeprefix("/") in pins
        if not inside or not shard.endswith(_WEIGHTS):
            raise wrong(folder, name, f"weight_map.{tensor[:60]!a}: names no *{_WEIGHTS} of this folder")


def _check(folder: Path, name: str) -> None:
    for key, value in _fields(read_object(folder, name)):
        if not value or key in _HARMLESS:
            continue
        if key in _ELSEWHERE or _ARGUMENTS.fullmatch(key) is not None:
            raise _named(folder, name, key)
        if _NAMES.fullmatch(key) is not None and isinstance(value, str | list | dict):
            raise _named(folder, name, key)
        if _IMPLEMENTATION.fullmatch(key) is not None and not _runs_here(value):
            raise wrong(folder, name, f"{key[:60]!a}: only {', '.join(sorted(_IMPLEMENTATIONS))} are run here")


def _check_transformer(folder: Path, name: str) -> None:
    for key, value in read_object(folder, name).items():
        if key == "transformer_task":
            if value != _TASK:
                raise wrong(folder, name, f"transformer_task: must be {_TASK!r}")
        elif key == "modality_config":
            ways = value.values() if isinstance(value, dict) else [value]
            if any(not isinstance(way, dict) or way.get("method") != "forward" for way in ways):
                raise wrong(folder, name, "modality_config: each method must be 'forward'")
        elif value and key not in _SETTINGS:
            raise _named(folder, name, key)


def _runs_here(implementation: Any) -> bool:
    return all(each in _IMPLEMENTATIONS for each in _inside(implementation) if isinstance(each, str))


def _named(folder: Path, name: str, key: str) -> ModelLoadError:
    return wrong(folder, name, f"{key[:60]!a}: may make the library load something else; remove it")


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Every field of an object and of those inside it."""
    return chain.from_iterable(each.items() for each in _inside(value) if isinstance(each, dict))


def _inside(value: Any) -> Iterator[Any]:
    """A value and every value inside it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
