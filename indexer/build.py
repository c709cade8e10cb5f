"""Documents + embedder + what is there already → an artefact.

Rules kept here:

1. Only texts without a vector are embedded. A vector is carried over from a previous version, and shared by the
   surfaces of one deploy, where the text and the identity of the model are equal; the recipe is in the text.
2. The same documents, embedder and carried vectors give the same bytes, whatever order the tools were given in.
3. A previous version that was built from exactly the same is the answer itself.
4. Work is done in chunks, so progress is seen and Ctrl-C is heard within about a second.

An embedder may round differently in different batches (1e-5), so a version that was grown over several deploys and
one that was built at once can differ in their last bits, and then have different versions; both are right.

Not done here: publishing (`deploy.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from indexer.artefact import Artefact, FileEntry, IndexManifest
from indexer.contents import Contents, LexicalArrays, read_contents, write_contents
from indexer.document import RECIPE, Document
from indexer.errors import BuildError
from indexer.progress import Progress, silent
from models.embedder import Embedder
from surface.identity import catalog_digest
from surface.lexical import RULE_VERSION, build_postings

CHUNK = 64
"""Texts embedded between two looks at the progress: about a second on one core."""

Vectors = Mapping[str, NDArray[np.float32]]
"""Text digest → unit vector, shape (dimension,), all of one model."""


def build(
    documents: Iterable[Document],
    *,
    application: str,
    surface: str,
    embedder: Embedder,
    previous: Artefact | None = None,
    vectors: Vectors | None = None,
    progress: Progress = silent,
) -> Artefact:
    """The index version of one surface.

    `previous` is any earlier version to carry vectors over from; `vectors` are those already at hand, shared by the
    surfaces of one deploy. Raises `BuildError` where the embedder answers no unit vectors, `ArtefactError` where
    `previous` is damaged, and whatever `models.errors` says the embedder raises.
    """
    rows = sorted(documents, key=lambda document: document.name)
    if previous is not None and _answers(previous, rows, application=application, surface=surface, embedder=embedder):
        read_contents(previous)
        return previous
    known = dict(vectors or {})
    if previous is not None:
        known = {**carried_vectors(previous, model=embedder.manifest.identity), **known}
    known |= embed_missing(rows, embedder=embedder, known=known, progress=progress)
    dimension = embedder.manifest.dimension
    stacked = np.empty((len(rows), dimension), dtype="<f4")
    for row, document in enumerate(rows):
        stacked[row] = known[document.text_digest]
    lexical = LexicalArrays.of(build_postings([document.fields for document in rows]))
    files = write_contents(
        Contents(
            names=tuple(document.name for document in rows),
            digests=tuple(document.digest for document in rows),
            texts=tuple(document.text_digest for document in rows),
            vectors=stacked,
            lexical=lexical,
        )
    )
    manifest = IndexManifest(
        application=application,
        surface=surface,
        catalog_digest=catalog_digest(document.digest for document in rows),
        recipe=RECIPE,
        lexical_rule=RULE_VERSION,
        model=embedder.manifest.identity,
        dimension=dimension,
        tools=len(rows),
        words=len(lexical.words),
        postings=len(lexical.rows),
        files={name: FileEntry.of(data) for name, data in files.items()},
    )
    return Artefact(manifest=manifest, files=files)


def carried_vectors(previous: Artefact, *, model: str) -> Vectors:
    """The vectors of an earlier version by text digest; none where another model made them.

    Raises `ArtefactError` where the version is damaged.
    """
    contents = read_contents(previous)
    if previous.manifest.model != model:
        return {}
    return dict(zip(contents.texts, contents.vectors, strict=True))


def embed_missing(
    documents: Iterable[Document], *, embedder: Embedder, known: Vectors, progress: Progress = silent
) -> Vectors:
    """The vectors of the distinct texts that are not known yet; long texts first, so the last chunks are the short."""
    missing = {document.text_digest: document.text for document in documents if document.text_digest not in known}
    order = sorted(missing, key=lambda key: (-len(missing[key]), missing[key]))
    made: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(order), CHUNK):
        progress("embedding", start, len(order))
        keys = order[start : start + CHUNK]
        answered = embedder.embed_documents([missing[key] for key in keys])
        made |= zip(keys, _checked(answered, rows=len(keys), dimension=embedder.manifest.dimension), strict=True)
    if order:
        progress("embedding", len(order), len(order))
    return made


def _answers(
    previous: Artefact, documents: Sequence[Document], *, application: str, surface: str, embedder: Embedder
) -> bool:
    # A tool's document follows from its digest and the recipe; the rest of a version from these.
    built = previous.manifest
    model = embedder.manifest
    return (
        (built.application, built.surface, built.tools) == (application, surface, len(documents))
        and (built.model, built.dimension) == (model.identity, model.dimension)
        and (built.recipe, built.lexical_rule) == (RECIPE, RULE_VERSION)
        and built.catalog_digest == catalog_digest(document.digest for document in documents)
    )


def _checked(answered: NDArray[np.float32], *, rows: int, dimension: int) -> NDArray[np.float32]:
    if answered.shape != (rows, dimension):
        raise BuildError(f"the embedder answered shape {answered.shape} where ({rows}, {dimension}) was asked for")
    lengths = np.linalg.norm(answered, axis=1)
    if not bool(np.all(np.abs(lengths - 1.0) < 1e-3)):  # also false for NaN
        raise BuildError("the embedder answered vectors that are not finite or not of length 1")
    return answered.astype("<f4", copy=False)
