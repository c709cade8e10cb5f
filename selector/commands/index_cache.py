"""Builds an index for an evaluation, and keeps its vectors between runs where a folder is given.

A run after an edit of a few descriptions embeds those and nothing else. The folder is laid out as a store for each
model and set; it can be deleted at any time, and what is damaged in it costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from indexer.adapters.directory_store import DirectoryStore
from indexer.artefact import Artefact
from indexer.catalog_file import CatalogTool
from indexer.errors import ActivationConflictError, ArtefactError
from indexer.progress import Progress, silent
from indexer.release import Release, ReleasedSurface
from models.embedder import Embedder
from selector.evaluation_run import APPLICATION, SURFACE, build_for_evaluation


def build_cached(
    tools: Iterable[CatalogTool],
    *,
    name: str,
    embedder: Embedder,
    cache: Path | None,
    progress: Progress = silent,
) -> Artefact:
    """The index of the tools; `name` is the set's, a plain file name.

    Raises EvaluationError where there are no tools, StoreError where the folder cannot be used, else what
    `indexer.build` raises.
    """
    if cache is None:
        return build_for_evaluation(tools, embedder=embedder, progress=progress)
    store = DirectoryStore(cache / embedder.manifest.identity / name)
    active = None
    previous = None
    with suppress(ArtefactError):
        active = store.active(APPLICATION)
        if active is not None:
            previous = store.load(APPLICATION, SURFACE, active.surfaces[SURFACE].version)
    artefact = build_for_evaluation(tools, embedder=embedder, previous=previous, progress=progress)
    now = datetime.now(UTC)
    store.publish(artefact, at=now)
    released = ReleasedSurface(version=artefact.version, catalog_digest=artefact.manifest.catalog_digest)
    release = Release(application=APPLICATION, deploy="evaluation", surfaces={SURFACE: released})
    with suppress(ActivationConflictError):  # another run has kept its own
        store.activate(release, expected=None if active is None else active.id, at=now)
    return artefact
