"""The library's async core, called from sync code of a framework.

One event loop in a daemon thread serves every sync caller of the process, so that what a ranker keeps open between two
searches stays on its loop. The caller's context variables hold inside the work, as they would without the bridge.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any, TypeVar

from surface.worker_thread import HOLDS_LOOP, fulfil

T = TypeVar("T")


_NAME = "toolsurface-loop"


class _Background:
    """The loop and its thread; both are made when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                # A loop keeps the context variables that it is made in: not those of whoever happens to be first.
                self._loop = Context().run(asyncio.new_event_loop)
                self._thread = threading.Thread(target=_run_for_ever, args=(self._loop,), name=_NAME, daemon=True)
                self._thread.start()
            return self._loop

    @property
    def is_here(self) -> bool:
        """Whether the caller runs on the loop's own thread, which therefore cannot wait for it."""
        return self._thread is threading.current_thread()


def _run_for_ever(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        # asyncio lets SystemExit and KeyboardInterrupt of a task through, after the task has taken them to whoever
        # waits for it; the work of everybody else goes on.
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


_background = _Background()


def _forget() -> None:
    global _background  # noqa: PLW0603 - a forked child has the loop but not its thread
    _background = _Background()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """What the work returns or raises; blocks the calling thread, whether or not an event loop runs in it."""
    if _background.is_here or HOLDS_LOOP.get():
        # A handler on the loop calls a sync agent, which may ask from a thread of a pool while the loop stands still
        # for it: a loop of its own, for this once.
        return _run_elsewhere(work)
    future = asyncio.run_coroutine_threadsafe(_holding(work), _background.loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def _holding(work: Coroutine[Any, Any, T]) -> T:
    HOLDS_LOOP.set(True)
    return await work


def _run_elsewhere(work: Coroutine[Any, Any, T]) -> T:
    ended: Future[T] = Future()
    context = copy_context()
    thread = threading.Thread(
        target=lambda: fulfil(ended, lambda: context.run(asyncio.run, work)), name="toolsurface-run"
    )
    thread.start()
    thread.join()
    return ended.result()
