"""The library: which release of each application is in force here, and how a new one takes its place.

Rules kept here:

1. The store's active release decides which surfaces there are; a surface it does not name is gone.
2. All surfaces of a release switch together or not at all. A refresh opens every version of it beside those that serve,
   and then swaps one reference; readers see one immutable mapping. No application waits for another's to be opened.
3. A release with a version that is damaged, was built with another model, or does not fit in memory is refused as a
   whole: the release before stays in force, and `served` says why. What is bad is tried again, ever less often. So is
   a version whose opening fails in a way that nobody foresaw: it stops no other application.
4. Where nothing was in force before, the good surfaces of such a release serve and the bad ones are refused by name:
   nothing is replaced, so nothing is mixed, and a replica that restarts during a bad deploy still answers.
5. An active version that left memory and cannot be opened again stays active, is refused by name until somebody asks it
   with more luck, and is in no other version's way.
6. The version that was replaced keeps answering agents of the previous deploy, which ask by their catalog's digest.
   Once nobody has asked it for `keep_replaced` seconds it leaves memory, if all of the store could just be read; who
   asks it after that waits while it is loaded again. One that takes over again is loaded first, like a new one.
7. A store that cannot be read, or that has forgotten an application, changes nothing; `unreadable` says so. Until one
   look has seen all of it, nobody knows what there is: then no surface is unknown, and what is not open is unusable.

Not done here: ranking (`service.py`), what is in memory (`open_versions.py`), writing anything to the store (the
indexer's deploy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from threading import Lock
from types import MappingProxyType
from typing import Final, Literal

from indexer.artefact import Artefact, IndexManifest
from indexer.errors import MENDED, ArtefactError, IndexerError, StoreUnavailableError
from indexer.index import SurfaceIndex
from indexer.ports import ArtefactStore
from indexer.release import Release
from selector.errors import FailedBeforeError, ModelMismatchError, SelectorError
from selector.following import Hint, follow
from selector.open_versions import OpenVersions, Residency
from selector.refusals import in_words, refusal_of
from selector.served import (
    NOTHING,
    Change,
    Refusal,
    Served,
    ServedApplication,
    ServedVersion,
    Start,
    VersionKey,
    news,
    news_of_store,
    switched,
    with_unopened,
)
from surface.errors import RankerUnavailable

KEEP_REPLACED_S: Final = 60.0
"""An application that is being rolled out asks more often than that; what comes later waits for one loading."""
_LONGEST_REST: Final = 32
"""Refreshes between two tries of a bad version: each try reads the whole of it."""
_FORGOTTEN: Final = (
    "the store has no release of it any more; see that it is the right one and is mounted, or deploy again "
    "(a replica forgets it when it starts again)"
)


@dataclass(slots=True, kw_only=True)
class _Attempt:
    """What is known of a release that is refused."""

    release: str
    good: dict[str, ServedVersion]
    rest: int = 0
    longest: int = 1


class Library:
    """Implements `selector.ports.Indexes` over a store; threads may share it."""

    def __init__(
        self,
        *,
        store: ArtefactStore,
        open_artefact: Callable[[Artefact], SurfaceIndex],
        model: str,
        weigh: Callable[[IndexManifest], int] = lambda manifest: manifest.size,
        budget: int | None = None,
        loader: Executor | None = None,
        trim: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = float,
        keep_replaced: float = KEEP_REPLACED_S,
        monotonic: Callable[[], float] = float,
    ) -> None:
        """`open_artefact` raises what `indexer.index.open_index` raises; `model` is the identity of the embedder.

        `budget`: bytes that open indexes may weigh, as `weigh` says; None for no bound. `loader` runs what requests
        load (None: the event loop's own threads) and stays the caller's to shut down. `trim` is called after memory
        was let go of; `clock` says when it is, for `refreshed` (without one, that stays 0).

        `keep_replaced`: seconds that a replaced version stays in memory unasked, counted by `monotonic` (without one,
        it stays for ever).
        """
        self._store = store
        self._model = model
        self._trim = trim
        self._keep_replaced = keep_replaced
        self._open = OpenVersions(
            load=self._loaded,
            open_artefact=open_artefact,
            weigh=weigh,
            budget=budget,
            loader=loader,
            clock=monotonic,
        )
        self._served = self._told = NOTHING
        self._unopened: dict[VersionKey, Refusal] = {}
        self._unreadable: Mapping[str, str] = MappingProxyType({})
        self._refreshes = 0
        self._start: Start = "loading"
        self._away = False
        self._clock = clock
        self._refreshed = 0.0
        self._attempts: dict[str, _Attempt] = {}
        self._refreshing = Lock()

    @property
    def served(self) -> Served:
        """What is served now; a snapshot that never changes."""
        unopened = self._unopened.copy()
        return with_unopened(self._served, unopened) if unopened else self._served

    @property
    def unreadable(self) -> Mapping[str, str]:
        """What the last refresh could not read: application (empty: the store as a whole) → why. Serving goes on."""
        return self._unreadable

    @property
    def start(self) -> Start:
        """How far this library has come since it was made."""
        return self._start

    @property
    def refreshes(self) -> int:
        """How many refreshes could read all of the store."""
        return self._refreshes

    @property
    def refreshed(self) -> float:
        """When the last of them was, by the clock; 0 where there was none."""
        return self._refreshed

    @property
    def residency(self) -> Residency:
        """What is in memory now."""
        return self._open.residency

    def find(self, application: str, surface: str, catalog_digest: str | None) -> ServedVersion:
        """See `selector.ports.Indexes`."""
        served = self._served.get(application)
        if served is None:
            raise RankerUnavailable("unknown_surface" if self._start == "over" else "index_unusable")
        active = served.active.get(surface)
        if active is None:
            raise RankerUnavailable("index_unusable" if surface in served.refused else "unknown_surface")
        replaced = served.replaced.get(surface)
        if (
            replaced is not None
            and catalog_digest == replaced.manifest.catalog_digest
            and catalog_digest != active.manifest.catalog_digest
        ):
            return replaced
        return active

    async def opened(self, version: ServedVersion) -> SurfaceIndex:
        """See `selector.ports.Indexes`; raises what nobody foresaw as it is, once."""
        try:
            index = await self._open.opened(version.key)
        except FailedBeforeError:
            raise RankerUnavailable("index_unusable") from None
        except Exception as error:
            self._unopened[version.key] = refusal_of(error, surface=version.key.surface)
            if isinstance(error, (IndexerError, SelectorError)):
                raise RankerUnavailable("index_unusable") from None
            raise
        if self._unopened:
            self._unopened.pop(version.key, None)
        return index

    def refresh(self) -> tuple[Change, ...]:
        """Brings what is served in line with the store; blocks for as long as reading takes.

        A fault that an earlier refresh has reported already is not reported again.
        """
        with self._refreshing:
            self._open.forgive()
            self._away = False
            before, found, unreadable = self._served, set[str](), dict[str, str]()
            try:
                applications: Sequence[str] = self._store.applications()
            except IndexerError as error:
                applications, unreadable[""] = (), str(error)
                self._away = True
            for application in applications:
                try:
                    release = self._store.active(application)
                except Exception as error:  # noqa: BLE001 - the other applications do not stop for it
                    self._away |= isinstance(error, StoreUnavailableError)
                    unreadable[application] = in_words(error)
                else:
                    if release is not None:
                        found.add(application)
                    self._switch(application, release)
            if "" not in unreadable:
                forgotten = sorted(self._served.keys() - found - unreadable.keys())
                unreadable |= dict.fromkeys(forgotten, _FORGOTTEN)
            self._let_go(before, readable=not unreadable)
            told = self.served
            changes = [*news_of_store(self._unreadable, unreadable), *news(self._told, told)]
            self._told = told
            self._unreadable = MappingProxyType(unreadable)
            if self._start != "over":
                self._start = "store_unavailable" if self._away else "over"
            if not unreadable:
                self._refreshes += 1
                self._refreshed = self._clock()
            return tuple(changes)

    async def follow(self, *, every: float, tell: Callable[[Iterable[Change]], None], hint: Hint | None = None) -> None:
        """Refreshes every so many seconds until it is cancelled, sooner after a hint; see `following.follow`."""

        def failed(name: str) -> tuple[Change, ...]:
            return (_of_store(f"the refresh failed with {name}; what was served is still served"),)

        await follow(self.refresh, every=every, tell=tell, failed=failed, hint=hint)

    def _switch(self, application: str, release: Release | None) -> None:
        """Serves at once what is to be served of an application now."""
        before = self._served.get(application)
        after = self._follow_release(release, before) if release is not None else before
        if after is not None and after is not before:
            self._served = MappingProxyType({**self._served, application: after})

    def _follow_release(self, release: Release, before: ServedApplication | None) -> ServedApplication:
        in_force = before is not None and before.release == release.id
        if before is not None and in_force and not before.refused:
            self._attempts.pop(release.application, None)
            return before
        attempt = self._attempts.get(release.application)
        if attempt is None or attempt.release != release.id:
            attempt = self._attempts[release.application] = _Attempt(release=release.id, good={})
        elif attempt.rest and before is not None:
            attempt.rest -= 1
            return before
        refused = self._tried(release, attempt, before)
        if not refused:
            del self._attempts[release.application]
        elif any(refusal.code != "unreadable" for refusal in refused.values()):
            attempt.rest, attempt.longest = attempt.longest - 1, min(2 * attempt.longest, _LONGEST_REST)
        if before is None or not before.active or in_force or not refused:
            return switched(release.id, attempt.good, before=before, refused=refused)
        for surface in sorted(release.surfaces.keys() - before.active.keys() - refused.keys()):
            detail = f"waits for {', '.join(sorted(refused))}: a release is served whole or not at all"
            refused[surface] = Refusal(code="release_refused", detail=detail)
        return replace(before, refused=MappingProxyType(refused), refused_release=release.id)

    def _tried(self, release: Release, attempt: _Attempt, before: ServedApplication | None) -> dict[str, Refusal]:
        """Opens what is not open of a release; what is good is in the attempt, what is bad is the answer."""
        refused: dict[str, Refusal] = {}
        for surface in sorted(release.surfaces.keys() - attempt.good.keys()):
            had = before.active.get(surface) if before is not None else None
            try:
                attempt.good[surface] = self._proved(release, surface, had)
            except Exception as error:  # noqa: BLE001 - the other applications do not stop for it
                self._away |= isinstance(error, StoreUnavailableError)
                refused[surface] = refusal_of(error, surface=surface)
        return refused

    def _proved(self, release: Release, surface: str, had: ServedVersion | None) -> ServedVersion:
        released = release.surfaces[surface]
        if had is not None and had.version == released.version:
            return had
        key = VersionKey(application=release.application, surface=surface, version=released.version)
        index = self._open.bring(key, beside=had.key if had is not None else None)
        if index.manifest.catalog_digest != released.catalog_digest:
            raise ArtefactError(
                f"application {release.application}, surface {surface}: version {released.version} is not what the "
                f"release says it is; {MENDED}"
            )
        return ServedVersion(key=key, manifest=index.manifest)

    def _loaded(self, key: VersionKey) -> Artefact:
        artefact = self._store.load(key.application, key.surface, key.version)
        manifest = artefact.manifest
        if manifest.model != self._model:
            raise ModelMismatchError(surface=key.surface, index_model=manifest.model, service_model=self._model)
        if (manifest.application, manifest.surface, artefact.version) != (key.application, key.surface, key.version):
            raise ArtefactError(
                f"application {key.application}, surface {key.surface}: version {key.version} is not what its place "
                f"in the store says; {MENDED}"
            )
        return artefact

    def _let_go(self, before: Served, *, readable: bool) -> None:
        """Keeps in memory only what is served or waits to be; memory that became free goes back to the system."""
        served = _keys(self._served)
        for key in list(self._unopened):
            if key not in served:
                self._unopened.pop(key, None)
        waiting = {version.key for attempt in self._attempts.values() for version in attempt.good.values()}
        just_replaced = _keys(before, "active") - _keys(self._served, "active")
        replaced = _keys(self._served, "replaced") - just_replaced - waiting
        if readable:
            self._open.close_unasked(replaced, for_s=self._keep_replaced)
        if self._open.keep_only(served | waiting, idle=just_replaced):
            self._trim()


def _keys(served: Served, *parts: Literal["active", "replaced"]) -> set[VersionKey]:
    chosen = parts or ("active", "replaced")
    mappings = (getattr(application, part) for application in served.values() for part in chosen)
    return {version.key for mapping in mappings for version in mapping.values()}


def _of_store(detail: str) -> Change:
    return Change(outcome="unreadable", application="", surface="", detail=detail)
