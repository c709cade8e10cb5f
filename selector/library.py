"""The library: which index versions are open, and how new ones take their place.

Rules kept here:

1. The store's active release decides which surfaces there are; a surface it does not name is gone.
2. Readers see one immutable mapping. A refresh opens new versions beside the old ones and then swaps one reference.
3. A version that is damaged, or was built with another model, never replaces a good one: the surface stays on the
   version it had, or is refused by name where it had none. Each refresh tries again.
4. The version that was replaced stays open for agents of the previous deploy, which ask by their catalog's digest.
5. A store that cannot be read, or that has forgotten an application, changes nothing.

Not done here: ranking (`service.py`), writing anything to the store (the indexer's deploy).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType
from typing import Literal, TypeAlias

from indexer.artefact import Artefact
from indexer.errors import ArtefactError, IndexerError, StoreError
from indexer.index import SurfaceIndex
from indexer.ports import ArtefactStore
from indexer.release import Release
from selector.errors import ModelMismatchError, SelectorError
from surface.errors import RankerUnavailable

Outcome: TypeAlias = Literal["serving", "gone", "refused", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the active version of a surface is not served."""

    code: str
    """`damaged`, `model_mismatch` or `unreadable`."""
    detail: str
    """A sentence for the operator: what is wrong and what mends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApplication:
    """What is open of one application."""

    release: str
    """The id of the release that decides which surfaces there are."""
    active: Mapping[str, SurfaceIndex]
    """By surface."""
    replaced: Mapping[str, SurfaceIndex] = field(default_factory=dict)
    """By surface: the version that was served before the active one."""
    refused: Mapping[str, Refusal] = field(default_factory=dict)
    """By surface; one that had a good version before is in `active` too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing a refresh has changed or found wrong, for the log."""

    outcome: Outcome
    application: str
    """Empty where the store as a whole is meant."""
    surface: str
    """Empty where the application as a whole is meant."""
    detail: str


Served: TypeAlias = Mapping[str, ServedApplication]
"""By application."""

_NOTHING: Served = MappingProxyType({})


class Library:
    """Implements `selector.ports.Indexes` over a store; threads may share it."""

    def __init__(self, *, store: ArtefactStore, open_artefact: Callable[[Artefact], SurfaceIndex], model: str) -> None:
        """`open_artefact` raises what `indexer.index.open_index` raises; `model` is the identity of the embedder."""
        self._store = store
        self._open = open_artefact
        self._model = model
        self._served = _NOTHING
        self._unreadable: Mapping[str, str] = {}
        self._refreshing = Lock()

    @property
    def served(self) -> Served:
        """What is open now; a snapshot that never changes."""
        return self._served

    def find(self, application: str, surface: str, catalog_digest: str | None) -> SurfaceIndex:
        """See `selector.ports.Indexes`."""
        served = self._served.get(application)
        if served is None:
            raise RankerUnavailable("unknown_surface")
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

    def refresh(self) -> tuple[Change, ...]:
        """Brings what is open in line with the store; blocks for as long as reading takes.

        A fault that an earlier refresh has reported already is not reported again.
        """
        with self._refreshing:
            before, unreadable = self._served, dict[str, str]()
            after = dict(before)
            try:
                applications: Sequence[str] = self._store.applications()
            except IndexerError as error:
                applications, unreadable[""] = (), str(error)
            for application in applications:
                try:
                    release = self._store.active(application)
                except IndexerError as error:
                    unreadable[application] = str(error)
                    continue
                if release is not None:
                    after[application] = self._follow_release(release, before.get(application))
            self._served = MappingProxyType(after)
            changes = [*_news_of_store(self._unreadable, unreadable), *_news(before, after)]
            self._unreadable = unreadable
            return tuple(changes)

    async def follow(self, *, every: float, tell: Callable[[Iterable[Change]], None]) -> None:
        """Refreshes every so many seconds until it is cancelled; refreshing does not block the event loop.

        An error that nobody foresaw is told by its class, once, and does not end the following: a replica that
        silently stopped looking would serve an old version for ever.
        """
        failure: str | None = None
        while True:
            await asyncio.sleep(every)
            try:
                changes = await asyncio.to_thread(self.refresh)
            except Exception as error:  # noqa: BLE001 - see above
                changes = _news_of_failure(failure, error)
                failure = type(error).__name__
            else:
                failure = None
            tell(changes)

    def _follow_release(self, release: Release, before: ServedApplication | None) -> ServedApplication:
        if before is not None and before.release == release.id and not before.refused:
            return before
        held = before.active if before is not None else {}
        kept = before.replaced if before is not None else {}
        active: dict[str, SurfaceIndex] = {}
        replaced: dict[str, SurfaceIndex] = {}
        refused: dict[str, Refusal] = {}
        for surface in sorted(release.surfaces):
            had, older = held.get(surface), kept.get(surface)
            index: SurfaceIndex | None
            try:
                index = self._opened(release, surface, (had, older))
            except (IndexerError, SelectorError) as error:
                refused[surface] = _refusal(error)
                index = had
            if index is None:
                continue
            active[surface] = index
            aside = older if had is None or had.version == index.version else had
            if aside is not None:
                replaced[surface] = aside
        return ServedApplication(
            release=release.id,
            active=MappingProxyType(active),
            replaced=MappingProxyType(replaced),
            refused=MappingProxyType(refused),
        )

    def _opened(self, release: Release, surface: str, at_hand: Iterable[SurfaceIndex | None]) -> SurfaceIndex:
        released = release.surfaces[surface]
        for index in at_hand:
            if index is not None and index.version == released.version:
                return index
        artefact = self._store.load(release.application, surface, released.version)
        manifest = artefact.manifest
        if manifest.model != self._model:
            raise ModelMismatchError(surface=surface, index_model=manifest.model, service_model=self._model)
        if (manifest.application, manifest.surface, manifest.catalog_digest, artefact.version) != (
            release.application,
            surface,
            released.catalog_digest,
            released.version,
        ):
            raise ArtefactError(
                f"application {release.application}, surface {surface}: version {released.version} is not what the "
                "release says it is; deploy again"
            )
        return self._open(artefact)


def _refusal(error: Exception) -> Refusal:
    code = {ModelMismatchError: "model_mismatch", StoreError: "unreadable"}.get(type(error), "damaged")
    return Refusal(code=code, detail=str(error))


def _news_of_failure(before: str | None, error: Exception) -> tuple[Change, ...]:
    name = type(error).__name__
    detail = f"the refresh failed with {name}; what was served is still served"
    change = Change(outcome="unreadable", application="", surface="", detail=detail)
    return () if name == before else (change,)


def _news_of_store(before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[Change]:
    for application, detail in after.items():
        if before.get(application) != detail:
            yield Change(outcome="unreadable", application=application, surface="", detail=detail)


def _news(before: Served, after: Served) -> Iterable[Change]:
    for application, now in after.items():
        then = before.get(application)
        if now is then:
            continue
        active, refused = (then.active, then.refused) if then is not None else ({}, {})
        for surface, index in now.active.items():
            if surface not in active or active[surface].version != index.version:
                detail = f"version {index.version}, {len(index.names)} tools"
                yield Change(outcome="serving", application=application, surface=surface, detail=detail)
        for surface, refusal in now.refused.items():
            if refused.get(surface) != refusal:
                yield Change(outcome="refused", application=application, surface=surface, detail=refusal.detail)
        for surface in sorted({*active, *refused} - {*now.active, *now.refused}):
            detail = "the active release does not name it"
            yield Change(outcome="gone", application=application, surface=surface, detail=detail)
