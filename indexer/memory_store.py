"""A store in memory: for one process and for tests, with every promise of the port kept."""

from __future__ import annotations

from threading import Lock

from indexer.artefact import Artefact
from indexer.errors import ActivationConflictError, StoreError
from indexer.release import Release


class MemoryStore:
    """Implements `indexer.ports.ArtefactStore`; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._artefacts: dict[tuple[str, str, str], Artefact] = {}
        self._active: dict[str, Release] = {}

    def publish(self, artefact: Artefact) -> None:
        """Keeps an index version; raises `ArtefactError` where it is damaged already."""
        artefact.verify()
        manifest = artefact.manifest
        with self._lock:
            self._artefacts[manifest.application, manifest.surface, artefact.version] = artefact

    def load(self, application: str, surface: str, version: str) -> Artefact:
        """An index version, verified; raises `StoreError` where there is none, `ArtefactError` where it is damaged."""
        with self._lock:
            artefact = self._artefacts.get((application, surface, version))
        if artefact is None:
            raise StoreError(f"application {application}, surface {surface}: version {version} is not in the store")
        artefact.verify()
        return artefact

    def activate(self, release: Release, *, expected: str | None) -> None:
        """Compare-and-swap of the active release; raises `ActivationConflictError`, `StoreError`."""
        with self._lock:
            for surface, released in release.surfaces.items():
                if (release.application, surface, released.version) not in self._artefacts:
                    raise StoreError(
                        f"application {release.application}, surface {surface}: version {released.version} is not "
                        "published; publish it before it is activated"
                    )
            active = self._active.get(release.application)
            found = active.id if active is not None else None
            if found != expected:
                raise ActivationConflictError(application=release.application, expected=expected, found=found)
            self._active[release.application] = release

    def active(self, application: str) -> Release | None:
        """The release that is active now."""
        with self._lock:
            return self._active.get(application)

    def applications(self) -> tuple[str, ...]:
        """Every application that has an active release, sorted."""
        with self._lock:
            return tuple(sorted(self._active))
