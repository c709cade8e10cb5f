"""Starting an agent process, waiting for what it says, and killing it where it is held."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.recovery.life import Life
from tests.recovery.store import Store

REPOSITORY = Path(__file__).parents[2]
_DATABASE = "agent.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What one process said of itself."""

    found: tuple[str, ...]
    """The activation it found on disk; empty where it was killed before it looked."""
    advertised: tuple[tuple[str, ...], ...]
    """The names of each step it prepared; the last one is of the step that would follow."""


@dataclass(frozen=True, slots=True)
class Home:
    """A folder with the store that successive processes share."""

    folder: Path
    program: str = "tests.recovery.agent"
    """The module that lives a life; it takes a database and a life, and says what that one says."""

    @property
    def store(self) -> Store:
        """The store, for whoever looks at it between two lives."""
        return Store(self.folder / _DATABASE)

    def copy(self, folder: Path) -> Home:
        """The same store once more, its write-ahead log included."""
        shutil.copytree(self.folder, folder)
        return Home(folder, self.program)

    def live(self, life: Life) -> Account:
        """A life that ends by itself."""
        said, code = self._run(life)
        assert code == 0, self._log.read_text()
        return _account(said)

    def kill(self, life: Life) -> Account:
        """A life that is killed with SIGKILL once it has reached every point it is held at."""
        said, code = self._run(life, until=life.holds)
        assert code == -signal.SIGKILL, self._log.read_text()
        return _account(said)

    @property
    def _log(self) -> Path:
        return self.folder / "stderr"

    def _run(self, life: Life, *, until: Sequence[str] = ()) -> tuple[list[dict[str, Any]], int]:
        return said_by([self.program, str(self.folder / _DATABASE), life.to_json()], log=self._log, until=until)


def said_by(program: Sequence[str], *, log: Path, until: Sequence[str] = ()) -> tuple[list[dict[str, Any]], int]:
    """What a module says until it ends or has reached every one of these points, where it is killed; how it ended."""
    missing = set(until)
    said: list[dict[str, Any]] = []
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-W", "error", "-m", *program],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            # Ends when the process does, so a process that fails early fails the test at once.
            for line in process.stdout:
                said.append(json.loads(line))
                missing.discard(said[-1].get("reached", ""))
                if until and not missing:
                    break
            else:
                return said, process.wait()
        finally:
            process.kill()
    return said, process.returncode


def _account(said: list[dict[str, Any]]) -> Account:
    return Account(
        found=tuple(next((line["found"] for line in said if "found" in line), ())),
        advertised=tuple(tuple(line["advertised"]) for line in said if "advertised" in line),
    )
