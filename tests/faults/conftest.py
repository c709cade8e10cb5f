"""Where the fault tests put their stores."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that any user may enter, in memory where there is such a place: hundreds of deploys wait for no disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path
