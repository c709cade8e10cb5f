"""A store of objects that processes share without a server: obstore's own, in a folder.

It knows no put that compares, so a lock stands for that one, and is given back when its process dies. Everything else
is what an object store is asked in production.
"""

from __future__ import annotations

import fcntl
import secrets
from pathlib import Path
from typing import Any

import obstore
from obstore.store import LocalStore

from indexer.adapters.object_store import ObjectShelf
from indexer.placed_store import PlacedStore


class LocalObjects(ObjectShelf):
    """Objects in a folder; the lock lies beside it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(LocalStore(folder, mkdir=True), name="file:///objects")
        self._lock = folder.with_name("objects.lock")

    def replace_ledger(self, application: str, data: bytes, *, tag: Any) -> bool:
        """Compares and puts under the lock."""
        with self._lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.read_ledger(application).tag != tag:
                return False
            obstore.put(self._opened, self.ledger_name(application), data)
            return True


def local_objects(folder: Path) -> PlacedStore:
    """The store in a folder of objects."""
    return PlacedStore(LocalObjects(folder), new_place=lambda: secrets.token_hex(8))
