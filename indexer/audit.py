"""Holds a release against the catalog it should have come from: everything that can be made again is made again.

    names, digests, texts, words, scores of words   made again and compared to the last byte
    vectors                                         all of them, or a sample, made again and compared to 0.001
    calibration                                     measured again on the vectors that are there, compared to 0.001
    what it says of the model                       compared with the model

A version that passes ranks as one that was built now would. Not done here: the checks that need no catalog
(`releases.sound_version`, which comes first).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexer.artefact import IndexManifest
from indexer.calibration import Calibration, Yardstick
from indexer.contents import Contents, LexicalArrays
from indexer.document import RECIPE, Document
from indexer.embedding import SAME, Vectors, embed_lots
from indexer.progress import Progress, silent
from indexer.word_scores import words_of
from models.embedder import Embedder
from surface.lexical import RULE_VERSION

_SHOWN = 3
_ANEW = "deploy again to have it compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What holding a version against its catalog has shown."""

    problems: tuple[str, ...]
    """Each in a sentence; empty where the version is what the catalog makes."""
    vectors: int
    """How many vectors were made again."""


def audit(
    manifest: IndexManifest,
    contents: Contents,
    documents: Sequence[Document],
    *,
    embedder: Embedder,
    yardstick: Yardstick,
    sample: int | None = None,
    progress: Progress = silent,
) -> Audit:
    """Makes a surface's version again from its documents, which stand in the order of their names, and compares.

    `yardstick` is the embedder's. `sample` is how many vectors are made again, spread over the tools; None is all of
    them. Raises `BuildError`, and what `models.errors` says the embedder raises.
    """
    identity = embedder.manifest.identity
    made_by = [
        f"{what} is {found}, this program's is {own}; {fix}"
        for what, found, own, fix in (
            ("recipe", manifest.recipe, RECIPE, _ANEW),
            ("lexical_rule", manifest.lexical_rule, RULE_VERSION, _ANEW),
            ("model", manifest.model, identity, "verify with the --model that it was deployed with"),
        )
        if found != own
    ]
    if made_by:
        return Audit(problems=tuple(made_by), vectors=0)
    tools = _tool_problems(contents, documents)
    if tools:
        return Audit(problems=tuple(tools), vectors=0)
    problems = [] if _same_words(contents.lexical, documents) else ["the scores of its words are not the catalog's"]
    rows = np.unique(np.linspace(0, len(documents) - 1, min(sample or len(documents), len(documents)), dtype=int))
    asked = {documents[row].text_digest: documents[row].text for row in rows}
    made: dict[str, NDArray[np.float32]] = {}
    embed_lots(asked, embedder=embedder, keep=made.update, progress=progress)
    problems += _vector_problems(contents, documents, rows.tolist(), made)
    if not _same_calibration(manifest.calibration, yardstick.measure(contents.vectors)):
        problems.append("its calibration, by which a ranking abstains, is not that of its vectors")
    model = embedder.manifest
    told = (manifest.dimension, manifest.model_revision, dict(manifest.model_files))
    if told != (model.dimension, model.revision, {name: pin.sha256 for name, pin in model.files.items()}):
        problems.append("what it says of its model's dimension, revision or files is not so")
    return Audit(problems=tuple(problems), vectors=len(rows))


def _tool_problems(contents: Contents, documents: Sequence[Document]) -> list[str]:
    found = dict(zip(contents.names, zip(contents.digests, contents.texts, strict=True), strict=True))
    expected = {document.name: (document.digest, document.text_digest) for document in documents}
    return [
        *_listed("tools of the catalog that it does not have", sorted(expected.keys() - found.keys())),
        *_listed("tools that the catalog does not have", sorted(found.keys() - expected.keys())),
        *_listed(
            "tools that are edited in the catalog",
            sorted(name for name in found.keys() & expected.keys() if found[name] != expected[name]),
        ),
    ]


def _same_words(lexical: LexicalArrays, documents: Sequence[Document]) -> bool:
    made = words_of(documents)
    return made.words == lexical.words and all(
        np.array_equal(own, found)
        for own, found in ((made.starts, lexical.starts), (made.rows, lexical.rows), (made.impacts, lexical.impacts))
    )


def _same_calibration(found: Calibration, measured: Calibration) -> bool:
    pairs = [(getattr(found, name), getattr(measured, name)) for name in Calibration.model_fields]
    return all(
        abs(own - other) <= SAME if isinstance(own, float) and isinstance(other, float) else own == other
        for own, other in pairs
    )


def _vector_problems(
    contents: Contents, documents: Sequence[Document], rows: Sequence[int], made: Vectors
) -> list[str]:
    wrong = [
        documents[row].name
        for row in rows
        if float(np.abs(contents.vectors[row] - made[documents[row].text_digest]).max()) > SAME
    ]
    return _listed("tools whose vectors the model makes otherwise", wrong)


def _listed(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return [f"{what}: {', '.join(names[:_SHOWN])}{more}"]
