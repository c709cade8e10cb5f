"""A catalog becomes what is served: build, publish, verify, activate.

    1. every surface is built beside what is active; unchanged ones are the version that is there already
    2. new versions are published and read back from the store, every byte verified
    3. the application's one active pointer moves to the new release, if nobody else moved it meanwhile

Rules kept here:

1. Nothing that is served changes before step 3, and step 3 is one compare-and-swap: a failure, a kill or Ctrl-C
   before it leaves the active release as it was.
2. The same catalog, model and recipe again change nothing.
3. A damaged version is never built upon: its surface is built from the catalog and the version is put right.

Not done here: rollback, pruning, canary queries between steps 2 and 3, telling replicas (they poll).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from indexer.artefact import Artefact
from indexer.build import build, carried_vectors, embed_missing
from indexer.catalog_file import Catalog
from indexer.contents import read_contents
from indexer.document import documents_of
from indexer.errors import ActivationConflictError, ArtefactError, StoreError
from indexer.ports import ArtefactStore
from indexer.progress import Progress, silent
from indexer.release import Release, ReleasedSurface
from models.embedder import Embedder

Change = Literal["added", "changed", "unchanged", "repaired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedSurface:
    """What a deploy did to one surface."""

    surface: str
    version: str
    tools: int
    change: Change
    """``repaired``: the version that should have been served was damaged or missing, and was put right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployResult:
    """What a deploy did."""

    application: str
    deploy: str
    release: str
    """The release that is active now."""
    previous: str | None
    """The release that was active before; equal to `release` where nothing changed."""
    surfaces: tuple[DeployedSurface, ...]
    removed: tuple[str, ...]
    """Surfaces of the previous release that this one does not have."""
    embedded: int
    """Texts that had to be embedded."""

    @property
    def unchanged(self) -> bool:
        """Whether everything was there already."""
        return self.release == self.previous and all(one.change == "unchanged" for one in self.surfaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    artefacts: Mapping[str, Artefact]
    embedded: int


def deploy(
    catalog: Catalog,
    *,
    embedder: Embedder,
    store: ArtefactStore,
    now: Callable[[], datetime],
    progress: Progress = silent,
) -> DeployResult:
    """Makes `catalog` what the application serves; `now` says what the history will say of it, with a time zone.

    Raises `ActivationConflictError` where another deploy of the application was faster, `StoreError`,
    `ArtefactError` where a version does not come back from the store as it went in, `BuildError`, and what
    `models.errors` says the embedder raises. Whatever is raised, what was served is still served.
    """
    active = store.active(catalog.application)
    standing = _standing(active, store)
    built = _build_all(catalog, embedder=embedder, standing=standing, progress=progress)
    artefacts = built.artefacts
    for at, (key, artefact) in enumerate(artefacts.items()):
        progress("publishing", at, len(artefacts))
        if key not in standing or standing[key].version != artefact.version:
            store.publish(artefact, at=now())
            _prove(store, artefact)
    progress("publishing", len(artefacts), len(artefacts))
    release = Release(
        application=catalog.application,
        deploy=catalog.deploy,
        surfaces={
            key: ReleasedSurface(version=artefact.version, catalog_digest=artefact.manifest.catalog_digest)
            for key, artefact in artefacts.items()
        },
    )
    _activate(store, release, active, at=now())
    return DeployResult(
        application=catalog.application,
        deploy=catalog.deploy,
        release=release.id,
        previous=active.id if active is not None else None,
        surfaces=tuple(
            DeployedSurface(
                surface=key,
                version=artefact.version,
                tools=artefact.manifest.tools,
                change=_change(key, artefact, active, standing),
            )
            for key, artefact in artefacts.items()
        ),
        removed=tuple(sorted(set(active.surfaces) - set(artefacts))) if active is not None else (),
        embedded=built.embedded,
    )


def _standing(active: Release | None, store: ArtefactStore) -> Mapping[str, Artefact]:
    """What is served now, as far as it is sound."""
    if active is None:
        return {}
    standing: dict[str, Artefact] = {}
    for key, released in active.surfaces.items():
        try:
            artefact = store.load(active.application, key, released.version)
            read_contents(artefact)
        except (ArtefactError, StoreError):
            continue  # built anew from the catalog, and reported as repaired
        standing[key] = artefact
    return standing


def _build_all(catalog: Catalog, *, embedder: Embedder, standing: Mapping[str, Artefact], progress: Progress) -> _Built:
    documents = {key: documents_of(surface.tools) for key, surface in sorted(catalog.surfaces.items())}
    vectors: dict[str, NDArray[np.float32]] = {}
    for artefact in standing.values():
        vectors |= carried_vectors(artefact, model=embedder.manifest.identity)
    # All surfaces at once: a text that several of them hold is embedded once, and the progress is one.
    everything = [document for surface in documents.values() for document in surface]
    made = embed_missing(everything, embedder=embedder, known=vectors, progress=progress)
    vectors |= made
    artefacts: dict[str, Artefact] = {}
    for at, (key, surface) in enumerate(documents.items()):
        progress("building", at, len(documents))
        artefacts[key] = build(
            surface,
            application=catalog.application,
            surface=key,
            embedder=embedder,
            previous=standing.get(key),
            vectors=vectors,
        )
    progress("building", len(documents), len(documents))
    return _Built(artefacts=artefacts, embedded=len(made))


def _prove(store: ArtefactStore, artefact: Artefact) -> None:
    manifest = artefact.manifest
    read_contents(store.load(manifest.application, manifest.surface, artefact.version))


def _activate(store: ArtefactStore, release: Release, active: Release | None, *, at: datetime) -> None:
    if active is not None and active.id == release.id:
        return
    try:
        store.activate(release, expected=active.id if active is not None else None, at=at)
    except ActivationConflictError as conflict:
        if conflict.found != release.id:  # a twin of this deploy was faster, and did what was asked
            raise


def _change(key: str, artefact: Artefact, active: Release | None, standing: Mapping[str, Artefact]) -> Change:
    if active is None or key not in active.surfaces:
        return "added"
    if artefact.version != active.surfaces[key].version:
        return "changed"
    return "unchanged" if key in standing else "repaired"
