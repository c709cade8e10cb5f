"""A catalog becomes what is served: build, publish, verify, rehearse, activate.

    reading      what is active is read, as far as it is sound, and the stores are asked whether they could be written
    embedding    texts that have no vector yet
    for each surface in turn:
      building     its index version, unless that is the one that is there already
      publishing   the version goes into the store and comes back, every byte verified
      rehearsing   the canary queries, asked of the version as they would be asked when it serves
      uploading    its vectors, where replicas hold none themselves: no version is activated before all are there
    activating   the application's one pointer moves to the new release, if nobody else moved it meanwhile

Rules kept here:

1. Nothing that is served changes before the last step, and that is one compare-and-swap: a failure, a kill or Ctrl-C
   before it leaves the active release as it was, and a surface is never served beside one of another release.
2. The same catalog, model and recipe again change nothing.
3. A damaged version is never built upon: its surface is built from the catalog and the version is put right.
4. What can be known to fail, fails before the embedding.
5. In memory at once are the texts of all surfaces, what their words score, the vectors of those that are not built yet
   and the versions of those that did not change; of what is served besides, the vectors that are wanted; what is built,
   one surface at a time, once; the catalog only where a caller holds it. A ceiling on tools bounds all of it.

Not done here: going back and clearing away (the store's `activate` and `prune`), telling replicas (they follow).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from indexer.artefact import Artefact, IndexManifest
from indexer.build import answers, assemble, carried_vectors
from indexer.calibration import Yardstick
from indexer.canaries import Canary, failures
from indexer.catalog_file import Catalog
from indexer.catalog_size import MAX_TOOLS, refuse_too_many
from indexer.contents import read_contents
from indexer.deployed import DeployedSurface, DeployResult, deployed_surface
from indexer.document import Document, documents_of
from indexer.embedding import AT_ONCE, Vectors, embed
from indexer.errors import ArtefactError, CanaryError, CanaryFailure, StoreError, StoreUnavailableError
from indexer.ports import ArtefactStore, Rehearsal, VectorCache, VectorStore
from indexer.progress import Progress, silent
from indexer.release import Release, ReleasedSurface
from indexer.releases import Switching, ignored, make_active
from indexer.word_counting import counting_words
from models.embedder import Embedder


def deploy(
    catalog: Catalog,
    *,
    embedder: Embedder,
    store: ArtefactStore,
    now: Callable[[], datetime],
    vectors: VectorStore | None = None,
    cache: VectorCache | None = None,
    canaries: Sequence[Canary] = (),
    rehearse: Rehearsal | None = None,
    dry_run: bool = False,
    rebuild: bool = False,
    at_once: int = AT_ONCE,
    max_tools: int = MAX_TOOLS,
    progress: Progress = silent,
    switching: Switching = ignored,
) -> DeployResult:
    """Makes `catalog` what the application serves; `now` says what the history will say of it, with a time zone.

    A dry run does everything but write to the store. `rebuild` takes nothing over from what is served: every text is
    embedded, and every surface built, anew. `at_once` is how many lots of texts are embedded together: as many
    as the embedder uses cores. Raises ValueError for canaries without `rehearse`, `CatalogError` for more than
    `max_tools` tools,
    `ActivationConflictError` where another deploy of the application was faster, `CanaryError`, `RehearsalError`,
    `StoreError`, `ArtefactError` where a version does not come back from the store as it went in, `BuildError`, and
    what `models.errors` says the embedder raises. `switching` is called just before the switch: whatever is raised
    before, what was served is still served. What is raised after it, by Ctrl-C or a store that goes away before it
    answers, leaves the old release or the new one active: ask `store.active`.
    """
    if canaries and rehearse is None:
        raise ValueError("rehearse: canaries need a ranking to be asked of")
    refuse_too_many(sum(len(surface.tools) for surface in catalog.surfaces.values()), most=max_tools)
    application, name = catalog.application, catalog.deploy
    with _step(progress, "reading"):
        active = store.active(application)
        documents = {key: documents_of(surface.tools) for key, surface in sorted(catalog.surfaces.items())}
        del catalog  # whose schemas weigh more than all that is made of them, where nobody else holds it
        reused = documents if not rebuild else {}
        standing, carried = _standing(active, store, reused, application=application, embedder=embedder)
        lacking = {key: rows for key, rows in documents.items() if key not in standing.settled}
        if not dry_run:
            _prepare(application, store, vectors, size=_least_size(lacking, embedder) if lacking else None)
    with counting_words(lacking) as words:
        embedded = embed(
            [document for rows in lacking.values() for document in rows],
            embedder=embedder,
            carried=carried,
            cache=cache,
            at_once=at_once,
            progress=progress,
        )
        del carried
        uses = Counter(document.text_digest for rows in lacking.values() for document in rows)
        yardstick = Yardstick(embedder)
        if any(lacking.values()):
            yardstick.read()  # here, where the words may still be being counted
        surfaces: list[DeployedSurface] = []
        released: dict[str, ReleasedSurface] = {}
        failed: list[CanaryFailure] = []
        for at, (key, rows) in enumerate(documents.items()):
            with _step(progress, "building", at, len(documents)):
                artefact = standing.settled.get(key) or assemble(
                    rows,
                    application=application,
                    surface=key,
                    embedder=embedder,
                    lexical=words.pop(key).result(),
                    vectors=_taken(embedded.vectors, rows, uses),
                    yardstick=yardstick,
                )
            if not dry_run and standing.versions.get(key) != artefact.version:
                with _step(progress, "publishing", at, len(documents)):
                    store.publish(artefact, at=now())
                    manifest = artefact.manifest
                    del artefact  # what came back is gone on with: the same bytes are not held twice
                    artefact = _proved(store, manifest)
            if rehearse is not None and canaries:
                with _step(progress, "rehearsing", at, len(documents)):
                    failed += failures(artefact, canaries, rehearse=rehearse)
            if vectors is not None and not dry_run and not failed:
                with _step(progress, "uploading", at, len(documents)):
                    # Also where the version stands: a replica that holds no vectors waits for every one of them.
                    vectors.upload(artefact.manifest, read_contents(artefact).vectors)
            released[key] = ReleasedSurface(version=artefact.version, catalog_digest=artefact.manifest.catalog_digest)
            surfaces.append(deployed_surface(key, artefact, active, standing.versions))
            del artefact
    if failed:
        raise CanaryError(failed, canaries=len(canaries))
    release = Release(application=application, deploy=name, surfaces=released)
    if not dry_run:
        with _step(progress, "activating"):
            expected = active.id if active is not None else None
            # Also where it is active already: it may not be any more.
            make_active(store, release, expected=expected, at=now(), switching=switching)
    return DeployResult(
        application=application,
        deploy=name,
        release=release.id,
        previous=active.id if active is not None else None,
        surfaces=tuple(surfaces),
        removed=tuple(sorted(set(active.surfaces) - set(released))) if active is not None else (),
        model=embedder.manifest.identity,
        embedded=embedded.made,
        carried=embedded.carried,
        recalled=embedded.recalled,
        distrusted=embedded.distrusted,
        canaries=len(canaries),
        dry_run=dry_run,
    )


def _taken(
    vectors: dict[str, NDArray[np.float32]], rows: Sequence[Document], uses: Counter[str]
) -> Iterator[NDArray[np.float32]]:
    """The vectors of these documents; what no other surface uses any more is held nowhere else then."""
    for row in rows:
        uses[row.text_digest] -= 1
        yield vectors[row.text_digest] if uses[row.text_digest] else vectors.pop(row.text_digest)


@contextmanager
def _step(progress: Progress, stage: str, at: int = 0, of: int = 1) -> Iterator[None]:
    progress(stage, at, of)
    yield
    progress(stage, at + 1, of)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """What is served now, as far as it is sound."""

    versions: Mapping[str, str]
    """By surface."""
    settled: Mapping[str, Artefact]
    """Of the surfaces that did not change: these stand as they are."""


def _standing(
    active: Release | None,
    store: ArtefactStore,
    documents: Mapping[str, Sequence[Document]],
    *,
    application: str,
    embedder: Embedder,
) -> tuple[_Standing, Vectors]:
    """What is served now, and the vectors of it that can be carried over; of their files nothing else is held."""
    wanted = {document.text_digest for rows in documents.values() for document in rows}
    versions: dict[str, str] = {}
    settled: dict[str, Artefact] = {}
    vectors: dict[str, NDArray[np.float32]] = {}
    for key, released in active.surfaces.items() if active is not None else ():
        try:
            artefact = store.load(application, key, released.version)
            carried = carried_vectors(artefact, model=embedder.manifest.identity, wanted=wanted)
        except ArtefactError:
            continue  # built anew from the catalog, and reported as repaired
        except StoreUnavailableError:
            raise  # a copy that is away is not gone: its server may be another one than the ledger's
        except StoreError:
            store.active(application)  # nor is one of a store that tells nobody that it is away: this raises
            continue
        versions[key] = artefact.version
        vectors |= carried
        rows = documents.get(key)
        if rows is not None and answers(artefact, rows, application=application, surface=key, embedder=embedder):
            settled[key] = artefact
        del artefact
    return _Standing(versions=versions, settled=settled), vectors


def _prepare(application: str, store: ArtefactStore, vectors: VectorStore | None, *, size: int | None) -> None:
    """Asks those who will have to write whether they could; `size` is None where the store will not."""
    if size is not None:
        store.prepare(application, size=size)
    if vectors is not None:
        vectors.prepare(application)


def _least_size(documents: Mapping[str, Sequence[Document]], embedder: Embedder) -> int:
    """What new versions of these take at least, in bytes: their vectors."""
    return 4 * embedder.manifest.dimension * sum(map(len, documents.values()))


def _proved(store: ArtefactStore, manifest: IndexManifest) -> Artefact:
    artefact = store.load(manifest.application, manifest.surface, manifest.version)
    read_contents(artefact)
    return artefact
