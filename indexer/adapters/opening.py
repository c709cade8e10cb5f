"""Opens a store by what `--store` names: a directory."""

from __future__ import annotations

from pathlib import Path

from indexer.adapters.directory_store import DirectoryStore
from indexer.errors import StoreError
from indexer.ports import ArtefactStore


def open_store(location: str, *, there: bool = False) -> ArtefactStore:
    """The store at a location. Raises `StoreError` where it cannot be one, or `there` asks for one and none is."""
    if not location:
        raise StoreError("--store: needs a directory")
    if there and not Path(location).is_dir():
        raise StoreError(f"--store: {location} is no directory; deploy makes it, or mend the path")
    return DirectoryStore(location)
