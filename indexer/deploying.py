"""The deploy as a library call, with every piece joined: what `toolsurface deploy` does, in three lines of Python.

    from indexer.deploying import deploy_catalog
    result = deploy_catalog("catalog.json", store="/srv/toolsurface")
    print(result.release, result.embedded)

It blocks until the release is active: an application with an event loop calls it by `asyncio.to_thread`.
Not done here: the work (`deploy.py`), which takes other stores, models and caches through its ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from indexer.adapters.catalog_reader import read_canary_bytes, read_catalog_bytes
from indexer.adapters.opening import open_store
from indexer.adapters.patient_store import WAIT_S, PatientStore, PatientVectors
from indexer.adapters.vector_cache import VectorFile, usual_place
from indexer.canaries import read_canaries
from indexer.catalog_file import Catalog, read_catalog
from indexer.catalog_size import MAX_TOOLS
from indexer.deploy import deploy
from indexer.deployed import DeployResult
from indexer.embedding import AT_ONCE
from indexer.errors import CacheFileError
from indexer.ports import ArtefactStore, Rehearsal, VectorCache, VectorStore
from indexer.progress import Progress, silent
from indexer.releases import Switching, ignored
from models.adapters.onnx import OnnxEmbedder, default_embedder, usable_cores
from models.embedder import Embedder
from models.threads import working_threads

Location = Path | str


def deploy_catalog(
    catalog: Catalog | Location,
    *,
    store: ArtefactStore | Location,
    vectors: VectorStore | None = None,
    embedder: Embedder | None = None,
    canaries: Location | None = None,
    cache: Location | None = None,
    remember: bool = True,
    dry_run: bool = False,
    rebuild: bool = False,
    threads: int | None = None,
    max_tools: int = MAX_TOOLS,
    wait_s: float = WAIT_S,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda _: None,
    switching: Switching = ignored,
) -> DeployResult:
    """Makes a catalog what its application serves.

    `catalog` is one, or the path of a catalog file; `store` is one, or what `--store` takes; `vectors` keeps them
    for replicas that hold none (`indexer.adapters.opening.open_vectors`); `embedder` is the model in
    the package where none is given. `threads` is how many cores embed, all of them by default; an embedder that is
    given keeps to its own. A catalog of more than `max_tools` tools is refused, so that memory is bounded. `canaries`
    is the path of a file of canary queries. `cache` is the
    file that remembers vectors, by default in the user's cache folder; with `remember=False` there is none, nor with
    `rebuild`, which embeds every text anew. Where
    `store` or `vectors` cannot be reached, they are waited for, up to `wait_s` seconds for each call; 0 is one try.
    `tell` hears, in a sentence, of what goes wrong and hinders nothing.

    Raises what `indexer.deploy.deploy` raises, `CatalogFileError` and `CanaryFileError` where a file cannot be read,
    `CacheFileError` where `cache` is a file of something else, `surface.errors.CatalogError` where a catalog is wrong.
    `switching` is called just before the switch, and `deploy` says what that means for what is raised.
    """
    if not isinstance(catalog, Catalog):
        catalog = read_catalog(read_catalog_bytes(Path(catalog)), max_tools=max_tools).catalog
    asked = read_canaries(read_canary_bytes(Path(canaries)), catalog=catalog) if canaries is not None else ()
    opened = open_store(str(store)) if isinstance(store, Path | str) else store
    cores = threads if threads is not None else usable_cores()
    model = embedder if embedder is not None else default_embedder(threads=cores)
    handed_over = [catalog]
    del catalog  # so that nobody but a caller holds it while texts are embedded
    rehearsing = _rehearsing(model) if asked else nullcontext()
    with _remembering(cache, tell=tell, remember=remember and not rebuild) as remembered, rehearsing as rehearse:
        return deploy(
            handed_over.pop(),
            embedder=model,
            store=PatientStore(opened, wait_s=wait_s, tell=tell),
            now=lambda: datetime.now(UTC),
            vectors=PatientVectors(vectors, wait_s=wait_s, tell=tell) if vectors is not None else None,
            cache=remembered,
            canaries=asked,
            rehearse=rehearse,
            dry_run=dry_run,
            rebuild=rebuild,
            at_once=_lots_at_once(model),
            max_tools=max_tools,
            progress=progress,
            switching=switching,
        )


def _lots_at_once(embedder: Embedder) -> int:
    """As many as the package's engine has runs. Any other may take turns, and Ctrl-C waits for what is under way."""
    return max(AT_ONCE, embedder.threads) if isinstance(embedder, OnnxEmbedder) else AT_ONCE


@contextmanager
def _remembering(
    cache: Location | None, *, tell: Callable[[str], None], remember: bool
) -> Iterator[VectorCache | None]:
    path = Path(cache) if cache is not None else usual_place()
    if not remember or path is None:
        yield None
        return
    try:
        file = VectorFile(path, tell=tell)
    except CacheFileError as error:
        if cache is not None:
            raise
        # Nobody chose this place, so the deploy does not end for it.
        tell(f"{error}; going on without it")
        yield None
        return
    with closing(file) as opened:
        yield opened


@contextmanager
def _rehearsing(embedder: Embedder) -> Iterator[Rehearsal]:
    # FAISS takes as long to import as the rest of what is imported here, and only canaries ask for it.
    from indexer.adapters.usual_index import open_artefact  # noqa: PLC0415
    from selector.rehearsal import SelectorRehearsal  # noqa: PLC0415

    with working_threads(1, name="rehearse") as executor:
        yield SelectorRehearsal(open_artefact=open_artefact, embedder=embedder, executor=executor)
