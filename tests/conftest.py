"""What every test may rely on: the marker that ties a test to the rules it guards, a cache folder of its own, laws that
are never judged by the clock, and processes that hear Ctrl-C. A folder in memory is there for tests that write much.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("no-clock", deadline=None)
settings.load_profile("no-clock")

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rule(*ids): rules of the specification that a test guards")
    # A shell starts what runs in the background deaf to Ctrl-C, and the processes of the tests would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_CALLS = count()


@pytest.fixture(autouse=True)
def _no_cache_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands remember vectors where `XDG_CACHE_HOME` says: in a folder of each test's own, made when it is used."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "user-caches" / str(next(_CALLS))))


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder that any user may enter, in memory where there is such a place: hundreds of writes wait for no disk."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path
