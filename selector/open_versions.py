"""The index versions that are in memory, within a budget of bytes.

Rules kept here:

1. What is open weighs no more than the budget; to make room the version that was asked least recently goes first. A
   request that holds an evicted index finishes on it, and its memory is free once the request is done.
2. A version is loaded once however many ask for it, and asking for one that is open never waits for another's loading.
3. A version brought in beside the one it is to replace counts as asked when that one was, so a deploy of idle surfaces
   pushes nothing out that is in use: what finds no room has been proved and is loaded again when it is asked for.
4. One that could not be loaded is not tried again before `forgive`: a store that is gone is not asked by every request.
5. A version that nobody has asked for some time can be closed; whoever asks it after that loads it again.

Not done here: which versions are served, and which of them may be closed (`library.py`). While a version is being
loaded, its files are in memory besides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from threading import Lock

import numpy as np

from indexer.artefact import Artefact, IndexManifest
from indexer.errors import MENDED, ArtefactError
from indexer.index import SurfaceIndex
from selector.errors import FailedBeforeError, TooLargeError
from selector.served import VersionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """How much is open; the counts are since the start."""

    versions: int
    bytes: int
    budget: int | None
    loads: int
    evictions: int
    failures: int


@dataclass(slots=True, kw_only=True)
class _Open:
    index: SurfaceIndex
    weight: int
    asked: int
    """The place of its last asking among all."""
    at: float
    """When it was asked last, by the clock, or brought in, or replaced."""


class OpenVersions:
    """Threads and event loops may share it."""

    def __init__(
        self,
        *,
        load: Callable[[VersionKey], Artefact],
        open_artefact: Callable[[Artefact], SurfaceIndex],
        weigh: Callable[[IndexManifest], int],
        budget: int | None,
        loader: Executor | None,
        clock: Callable[[], float] = float,
    ) -> None:
        """`weigh` says what an open version holds in memory, in bytes; `loader` runs what requests wait for.

        `clock`: seconds from any moment on, which never go back.
        """
        self._load = load
        self._open_artefact = open_artefact
        self._weigh = weigh
        self._budget = budget
        self._loader = loader
        self._lock = Lock()
        self._open: dict[VersionKey, _Open] = {}
        self._flights: dict[VersionKey, Future[SurfaceIndex]] = {}
        self._failed: set[VersionKey] = set()
        self._clock = clock
        self._asked = 0
        self._used = 0
        self._loads = self._evictions = self._failures = 0
        self._freed = False

    @property
    def residency(self) -> Residency:
        """A snapshot."""
        with self._lock:
            return Residency(
                versions=len(self._open),
                bytes=self._used,
                budget=self._budget,
                loads=self._loads,
                evictions=self._evictions,
                failures=self._failures,
            )

    def bring(self, key: VersionKey, *, beside: VersionKey | None) -> SurfaceIndex:
        """The version, loaded and opened where it is not; blocks. `beside`: the one it is to replace.

        Raises what loading and opening raise, and TooLargeError.
        """
        with self._lock:
            held = self._open.get(key)
            if held is not None:
                return held.index
            flight, mine = self._flight(key)
            neighbour = self._open.get(beside) if beside is not None else None
            asked = neighbour.asked if neighbour is not None else 0
        if mine:
            self._fly(key, flight, asked)
        return flight.result()

    async def opened(self, key: VersionKey) -> SurfaceIndex:
        """The version, at once where it is open, else once it is loaded; cancelling the waiting does not stop that."""
        with self._lock:
            self._asked += 1
            asked = self._asked
            held = self._open.get(key)
            if held is not None:
                held.asked, held.at = asked, self._clock()
                return held.index
            if key in self._failed:
                raise FailedBeforeError(f"surface {key.surface}: version {key.version} could not be loaded just now")
            flight, mine = self._flight(key)
        if mine:
            try:
                asyncio.get_running_loop().run_in_executor(self._loader, self._fly, key, flight, asked)
            except RuntimeError as error:  # the loader has been shut down
                self._land(key, flight, error, remember=False)
        return await asyncio.wrap_future(flight)

    def keep_only(self, keys: Container[VersionKey], *, idle: Container[VersionKey]) -> bool:
        """Lets go of every other version, and makes idle ones the first to go until they are asked again.

        True where memory became free since the last call: by letting go, or once the files of a version were read.
        """
        with self._lock:
            for key in [key for key in self._open if key not in keys]:
                self._drop(key)
            for key, held in self._open.items():
                if key in idle:
                    held.asked, held.at = 0, self._clock()
            freed, self._freed = self._freed, False
        return freed

    def close_unasked(self, keys: Iterable[VersionKey], *, for_s: float) -> None:
        """Closes those of these versions that nobody has asked for so many seconds."""
        with self._lock:
            now = self._clock()
            for key in keys:
                held = self._open.get(key)
                if held is not None and now - held.at >= for_s:
                    self._drop(key)

    def forgive(self) -> None:
        """Versions that could not be loaded may be tried again."""
        with self._lock:
            self._failed.clear()

    def _flight(self, key: VersionKey) -> tuple[Future[SurfaceIndex], bool]:
        flight = self._flights.get(key)
        if flight is not None:
            return flight, False
        flight = self._flights[key] = Future()
        flight.set_running_or_notify_cancel()  # no waiter that gives up may cancel it for the others
        return flight, True

    def _fly(self, key: VersionKey, flight: Future[SurfaceIndex], asked: int) -> None:
        try:
            artefact = self._load(key)
            weight = self._weigh(artefact.manifest)
            with self._lock:
                self._make_room(key, weight, asked)
            index = self._open_artefact(artefact)
            _warm(index)
        except BaseException as error:  # noqa: BLE001 - raised again in whoever waits
            self._land(key, flight, error, remember=isinstance(error, Exception))
            return
        with self._lock:
            self._loads += 1
            self._freed = True
            self._make_room(key, weight, asked)
            if self._budget is None or self._used + weight <= self._budget:
                self._open[key] = _Open(index=index, weight=weight, asked=asked, at=self._clock())
                self._used += weight
            del self._flights[key]
        flight.set_result(index)

    def _land(self, key: VersionKey, flight: Future[SurfaceIndex], error: BaseException, *, remember: bool) -> None:
        with self._lock:
            self._failures += 1
            if remember:
                self._failed.add(key)
            self._flights.pop(key, None)
        flight.set_exception(error)

    def _make_room(self, key: VersionKey, weight: int, asked: int) -> None:
        if self._budget is None:
            return
        if weight > self._budget:
            raise TooLargeError(surface=key.surface, needs=weight, budget=self._budget)
        for other in sorted(self._open, key=lambda key: self._open[key].asked):
            if self._used + weight <= self._budget or self._open[other].asked >= asked:
                return
            self._drop(other)
            self._evictions += 1

    def _drop(self, key: VersionKey) -> None:
        self._used -= self._open.pop(key).weight
        self._freed = True


def _warm(index: SurfaceIndex) -> None:
    """One query through both legs, so that the first asker does not pay for it; ArtefactError where a leg fails."""
    if not index.names:
        return
    dimension = index.manifest.dimension
    scores, rows = index.vectors.search(np.full((1, dimension), dimension**-0.5, dtype=np.float32), 1)
    words = index.lexical.scores([()])
    if not np.isfinite(scores).all() or not 0 <= rows[0, 0] < len(index.names) or words.shape != (1, len(index.names)):
        raise ArtefactError(f"version {index.version}: does not answer as its manifest says; {MENDED}")
