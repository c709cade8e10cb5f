"""The demo's working folder: what is in it, and which of it a new run begins afresh."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folder:
    """One working folder."""

    path: Path

    @property
    def catalog(self) -> Path:
        """What the application exported."""
        return self.path / "catalog.json"

    @property
    def store(self) -> Path:
        """What is deployed; ``make serve`` serves it afterwards."""
        return self.path / "store"

    @property
    def logs(self) -> Path:
        """What the processes said."""
        return self.path / "logs"

    def transcript(self, script: str) -> Path:
        """The messages of a run."""
        return self.path / "runs" / f"{script}.json"

    def begin(self) -> None:
        """Makes the folder; earlier transcripts and logs go, the store stays. Raises OSError."""
        for fresh in (self.logs, self.path / "runs"):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
