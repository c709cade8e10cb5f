"""Keys as names of folders: `.` and `..` are keys too, and dot files are easily overlooked."""

from __future__ import annotations

from indexer.errors import StoreError
from surface.identity import is_key


def folder_of(field: str, key: str) -> str:
    """The folder name of a key; raises `StoreError` naming `field` where it is none."""
    if not is_key(key):
        raise StoreError(f"{field}: needs 1-64 characters of A-Z a-z 0-9 _ . -")
    return "%2E" + key[1:] if key.startswith(".") else key


def key_of(folder: str) -> str | None:
    """The key of a folder name; None for a folder of somebody else."""
    key = "." + folder.removeprefix("%2E") if folder.startswith("%2E") else folder
    return key if is_key(key) else None
