"""Documents + embedder + what is there already → an artefact.

Rules kept here:

1. Only tools whose digest, recipe or model changed are embedded: a vector is carried over from a previous version, and
   shared by the surfaces of one deploy, where the text and the identity of the model are equal; the recipe is in the
   text (`embedding.py`).
2. The same documents, embedder and carried vectors give the same bytes, whatever order the tools were given in.
3. A previous version that was built from exactly the same is the answer itself.

An embedder may round differently in different batches (1e-5), so a version that was grown over several deploys and
one that was built at once can differ in their last bits, and then have different versions; both are right.

Not done here: publishing (`deploy.py`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from indexer.artefact import VECTORS, Artefact, FileEntry, IndexManifest
from indexer.calibration import Yardstick
from indexer.contents import Contents, LexicalArrays, read_contents, write_contents
from indexer.document import RECIPE, Document
from indexer.embedding import Vectors, embed
from indexer.everyday_requests import EVERYDAY_VERSION
from indexer.npy import from_npy, rows_to_npy
from indexer.ports import VectorCache
from indexer.progress import Progress, silent
from indexer.word_scores import words_of
from models.embedder import Embedder
from surface.identity import catalog_digest
from surface.lexical import RULE_VERSION


def build(
    documents: Iterable[Document],
    *,
    application: str,
    surface: str,
    embedder: Embedder,
    previous: Artefact | None = None,
    cache: VectorCache | None = None,
    progress: Progress = silent,
) -> Artefact:
    """The index version of one surface; `previous` is any earlier version to carry vectors over from.

    Raises `BuildError` where the embedder answers no unit vectors, `ArtefactError` where `previous` is damaged, and
    whatever `models.errors` says the embedder raises.
    """
    rows = sorted(documents, key=lambda document: document.name)
    if previous is not None and answers(previous, rows, application=application, surface=surface, embedder=embedder):
        read_contents(previous)
        return previous
    wanted = {row.text_digest for row in rows}
    carried = carried_vectors(previous, model=embedder.manifest.identity, wanted=wanted) if previous is not None else {}
    embedded = embed(rows, embedder=embedder, carried=carried, cache=cache, progress=progress)
    return assemble(
        rows,
        application=application,
        surface=surface,
        embedder=embedder,
        lexical=words_of(rows),
        vectors=(embedded.vectors[row.text_digest] for row in rows),
        yardstick=Yardstick(embedder),
    )


def assemble(
    rows: Sequence[Document],
    *,
    application: str,
    surface: str,
    embedder: Embedder,
    lexical: LexicalArrays,
    vectors: Iterable[NDArray[np.float32]],
    yardstick: Yardstick,
) -> Artefact:
    """The index version of one surface from all that is at hand; documents and vectors stand in the order of the names.

    Each vector is taken once. Raises ValueError where there are more or fewer than documents.
    """
    model = embedder.manifest
    dimension = model.dimension
    shape = (len(rows), dimension)
    # Straight into the file: there is no copy between of what may be hundreds of megabytes.
    written = rows_to_npy(vectors, shape=shape)
    stacked = from_npy(written, dtype="<f4", shape=shape, name=VECTORS)
    calibration = yardstick.measure(stacked)  # before the other files are made, as it takes about what they weigh
    files = write_contents(
        Contents(
            names=tuple(document.name for document in rows),
            digests=tuple(document.digest for document in rows),
            texts=tuple(document.text_digest for document in rows),
            vectors=stacked,
            lexical=lexical,
        ),
        vectors=written,
    )
    manifest = IndexManifest(
        application=application,
        surface=surface,
        catalog_digest=catalog_digest(document.digest for document in rows),
        recipe=RECIPE,
        lexical_rule=RULE_VERSION,
        model=model.identity,
        model_revision=model.revision,
        model_files={name: pin.sha256 for name, pin in model.files.items()},
        dimension=dimension,
        tools=len(rows),
        words=len(lexical.words),
        postings=len(lexical.rows),
        calibration=calibration,
        files={name: FileEntry.of(data) for name, data in files.items()},
    )
    return Artefact(manifest=manifest, files=files)


def carried_vectors(previous: Artefact, *, model: str, wanted: Container[str]) -> Vectors:
    """The vectors of the wanted texts in an earlier version, by text digest; none where another model made them.

    They hold no more memory than twice what they weigh. Raises `ArtefactError` where the version is damaged.
    """
    contents = read_contents(previous)  # also of another model's: damage is told whatever made it
    if previous.manifest.model != model:
        return {}
    rows = [row for row, text in enumerate(contents.texts) if text in wanted]
    # Those of a file keep all of it; where it is mostly of others, its own are copied out of it.
    few = 2 * len(rows) < len(contents.texts)
    vectors = contents.vectors[rows] if few else [contents.vectors[row] for row in rows]
    return dict(zip((contents.texts[row] for row in rows), vectors, strict=True))


def answers(
    previous: Artefact, documents: Sequence[Document], *, application: str, surface: str, embedder: Embedder
) -> bool:
    """Whether a version is what `build` would make of these documents, which stand in the order of their names."""
    # A tool's document follows from its digest and the recipe; the rest of a version from these.
    built = previous.manifest
    model = embedder.manifest
    return (
        (built.application, built.surface, built.tools) == (application, surface, len(documents))
        and (built.model, built.dimension) == (model.identity, model.dimension)
        and (built.recipe, built.lexical_rule, built.calibration.requests) == (RECIPE, RULE_VERSION, EVERYDAY_VERSION)
        and (built.calibration.request_mean is not None or not built.tools)
        and built.catalog_digest == catalog_digest(document.digest for document in documents)
    )
