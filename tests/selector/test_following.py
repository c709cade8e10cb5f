"""Looking again and again: a hint saves waiting, and nothing else depends on it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from indexer.memory_store import MemoryStore
from selector import following
from selector.following import Hint, follow
from tests.selector.builders import SURFACE, TOOLS, put

NEVER = 3_600.0
"""Seconds between two looks that no test sees both of."""


class Looks:
    """Counts the looks, and waits for them."""

    def __init__(self) -> None:
        self.count = 0
        self._came = asyncio.Condition()

    async def after(self, count: int) -> None:
        async with asyncio.timeout(20), self._came:
            await self._came.wait_for(lambda: self.count >= count)

    @asynccontextmanager
    async def following(self, hint: Hint | None, *, every: float) -> AsyncIterator[None]:
        def tell(_: None) -> None:
            self.count += 1
            telling.append(asyncio.ensure_future(self._tell()))

        telling: list[asyncio.Future[None]] = []
        failed: Callable[[str], None] = pytest.fail
        task = asyncio.create_task(follow(lambda: None, every=every, tell=tell, failed=failed, hint=hint))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await asyncio.gather(*telling)

    async def _tell(self) -> None:
        async with self._came:
            self._came.notify_all()


async def test_a_hint_brings_the_next_look_forward() -> None:
    store, looks = MemoryStore(), Looks()
    async with looks.following(store.wait_for_change, every=NEVER):
        for edition in range(3):
            await looks.after(edition + 1)
            await asyncio.to_thread(_deployed_until, store, lambda seen=looks.count: looks.count > seen)  # type: ignore[misc]  # mypy cannot type defaults of a lambda


def _deployed_until(store: MemoryStore, holds: Callable[[], bool]) -> None:
    """Deploys again and again: a hint that comes before anybody listens is lost."""
    edition = 0
    while not holds():
        edition += 1
        put(store, {SURFACE: {**TOOLS, f"edition_{edition}": "Says which"}})


@pytest.mark.parametrize("kind", ["none", "hangs", "fails"])
async def test_without_hints_the_time_counts(kind: str) -> None:
    over, asked = threading.Event(), list[float]()

    def hint(seconds: float) -> None:
        asked.append(seconds)
        if kind == "fails":
            raise LookupError
        over.wait(60)

    looks = Looks()
    try:
        async with looks.following(None if kind == "none" else hint, every=0.01):
            await looks.after(5)
    finally:
        over.set()
    if kind == "hangs":
        assert len(asked) == 1  # one thread, however often it was looked meanwhile


async def test_a_hint_that_fails_or_never_ends_to_come_is_no_reason_to_look_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "LEAST_REST_S", NEVER)
    looks = Looks()
    async with looks.following(lambda _: None, every=2 * NEVER):
        await looks.after(1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert looks.count == 1

    def fails(_: float) -> None:
        failed.set()
        raise LookupError

    monkeypatch.setattr(following, "LEAST_REST_S", 0.0)
    failed, looks = threading.Event(), Looks()
    async with looks.following(fails, every=NEVER):
        assert await asyncio.to_thread(failed.wait, 20)
        for _ in range(100):
            await asyncio.sleep(0)
        assert looks.count == 1
