"""Threads that look at a server of vectors that is away outlive the test that made it so, and draw random waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from indexer.adapters import quick_link


@pytest.fixture(autouse=True, scope="module")
def nobody_goes_on_looking() -> Iterator[None]:
    """For modules that import it: no such thread is left behind the last test."""
    yield
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick_link, "IDLE_S", 0.0)
        for thread in threading.enumerate():
            if thread.name == "redis-away":
                thread.join(60)
