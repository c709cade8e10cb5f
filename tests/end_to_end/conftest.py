"""The demo, run once for all tests of this folder, over few services so that its index is built in seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from demo.jobs import REQUIRED_SERVICES

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRun:
    """A demo that ran to its end."""

    folder: Path
    exit_status: int
    result: Mapping[str, Any]
    story: str
    """What it said on standard error."""


def demo_command(*arguments: str) -> list[str]:
    """The demo's command line over as few services as its scripts need."""
    return [sys.executable, "-m", "demo", "--services", ",".join(REQUIRED_SERVICES), *arguments]


def processes_of(folder: Path) -> list[str]:
    """The command lines of all running processes that name this folder."""
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True)  # noqa: S607 - ps is ps
    return [line for line in listed.stdout.splitlines() if str(folder) in line]


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    """The real command with a fresh index."""
    folder = tmp_path_factory.mktemp("demo")
    # No vector that an earlier run has remembered.
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    ran = subprocess.run(
        demo_command("--json", "--keep", str(folder)),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout, ran.stderr
    return DemoRun(folder=folder, exit_status=ran.returncode, result=json.loads(ran.stdout), story=ran.stderr)


Starter = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start_demo(demo_run: DemoRun) -> Iterator[Starter]:
    """Starts the demo again beside a test, on the index that is there."""
    with ExitStack() as running:

        def start(*arguments: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                demo_command("--keep", str(demo_run.folder), *arguments),
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
            running.enter_context(process)
            # Where a test has failed: told to end, so that it ends its own children too.
            running.callback(process.communicate)
            running.callback(process.terminate)
            return process

        yield start
