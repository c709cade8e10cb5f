"""A model's name on a hub → the folder of one of its revisions, in the cache that Hugging Face's own tools fill.

Rules kept here:

1. Nothing is downloaded unless the caller asks for it, and then only a revision that is named by its commit, for a
   branch is another model tomorrow.
2. What is downloaded is what is read: configuration, tokenizer, safetensors. No pickle, no code.
3. The revision is the commit the folder belongs to, whatever name it was asked by.

Not here: whether the folder can be used (`model_folder.py`).
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from models.adapters.local_files import packaged_models
from models.errors import ModelLoadError

__all__ = ["HubModel", "HubName", "find_on_disk", "hub_name"]

_NAME: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?)(?:@(?P<revision>[\w./-]{1,200}))?", re.A
)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_READ: Final = ("*.json", "*.txt", "*.model", "*.safetensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubName:
    """`ORG/NAME` or `ORG/NAME@REVISION`, as it was written."""

    name: str
    revision: str | None
    """A commit, a branch or a tag; None for the hub's default branch."""

    def __str__(self) -> str:
        return self.name if self.revision is None else f"{self.name}@{self.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """One revision of a hub's model, on this disk."""

    name: str
    revision: str
    """The commit, 40 hexadecimal digits."""
    folder: Path


def hub_name(written: str) -> HubName | None:
    """What `written` names on a hub; None where no hub has such names."""
    matched = _NAME.fullmatch(written)
    return HubName(name=matched["name"], revision=matched["revision"]) if matched is not None else None


def find_on_disk(wanted: HubName, *, download: bool = False) -> HubModel:
    """The model in the local cache, fetched first where `download` says so. Raises `ModelError`, naming the fix."""
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - takes half a second

    if download and (wanted.revision is None or _COMMIT.fullmatch(wanted.revision) is None):
        raise ModelLoadError(
            f"--model-download: {wanted} names no commit; say which: --model {wanted.name}@COMMIT (40 digits, under"
            f" 'Files and versions' of the model's page)"
        )
    try:
        folder = Path(
            snapshot_download(
                wanted.name,
                revision=wanted.revision,
                local_files_only=not download,
                allow_patterns=list(_READ) if download else None,
            )
        )
    except Exception as error:
        if download:
            raise ModelLoadError(f"--model {wanted}: cannot be downloaded ({type(error).__name__})") from error
        raise ModelLoadError(
            f"--model {wanted}: none of the package ({', '.join(packaged_models())}), no folder, and not in the"
            f" local hub cache; fetch it with: {_command(wanted)}"
        ) from error
    if _COMMIT.fullmatch(folder.name) is None:
        raise ModelLoadError(f"--model {wanted}: the local hub cache holds no commit of it; fetch it again")
    return HubModel(name=wanted.name, revision=folder.name, folder=folder)


def _command(wanted: HubName) -> str:
    revision = "" if wanted.revision is None else f" --revision {wanted.revision}"
    return f"hf download {wanted.name}{revision} {' '.join(f'--include {kind!r}' for kind in _READ)}"
