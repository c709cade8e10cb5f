"""Killed runs that many rows start from. Each test gets a copy of the store as the killed process left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recovery.life import Life, call, search
from tests.recovery.processes import Home

SEARCHED = Life(
    prompt="Put the bill right.",
    turns=[[search("invoices")], [call("invoice")], [search("refunds")]],
    holds=["recorded:3"],
)
"""Selects `invoice`, uses it, then selects `refund` and `look_up`, and is killed."""
INSIDE = Life(
    prompt="Take the money.",
    turns=[[search("money")], [call("charge"), call("top_up"), call("look_up")]],
    holds=["inside:charge", "inside:top_up", "inside:look_up"],
)
"""Selects three tools, calls them in parallel, and is killed while all three handlers are at work."""


@pytest.fixture(scope="session")
def _searched_once(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("searched"))
    home.kill(SEARCHED)
    return home


@pytest.fixture(scope="session")
def _inside_once(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("inside"))
    home.kill(INSIDE)
    return home


@pytest.fixture
def searched(_searched_once: Home, tmp_path: Path) -> Home:
    """A store whose process was killed after a search."""
    return _searched_once.copy(tmp_path / "home")


@pytest.fixture
def inside(_inside_once: Home, tmp_path: Path) -> Home:
    """A store whose process was killed inside three handlers."""
    return _inside_once.copy(tmp_path / "home")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty store."""
    return Home(tmp_path)
