"""What the files of an artefact hold, written and read.

    names.json    the tool names, sorted: row r of everything else is tool r
    digests.json  the digest of each tool
    texts.json    the digest of each embedded text
    vectors.npy   float32 (tools, dimension), unit length
    words.json    the distinct words, sorted
    starts.npy    int64 (words + 1): the postings of word w are starts[w] to starts[w + 1]
    rows.npy      int32 (postings): the tool a posting scores, ascending within a word
    impacts.npy   float64 (postings): what it adds to the tool's score

Reading is total: an artefact gives contents whose parts agree with each other, or one `ArtefactError`. So the
indexes built from them need no checks of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer import artefact as layout
from indexer.artefact import Artefact
from indexer.errors import MENDED, ArtefactError
from indexer.npy import from_npy, to_npy
from indexer.strict_json import NotJsonError, parse_json
from surface.canonical import DIGEST_LENGTH, canonical_bytes
from surface.identity import catalog_digest

_F4, _F8, _I4, _I8 = "<f4", "<f8", "<i4", "<i8"
_LONGEST = 1.01
"""Unit vectors, with room for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalArrays:
    """The impacts of the lexical rule, word after word in sorted order."""

    tools: int
    words: tuple[str, ...]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    impacts: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """An artefact, taken apart; row r of each part is the same tool."""

    names: tuple[str, ...]
    digests: tuple[str, ...]
    texts: tuple[str, ...]
    vectors: NDArray[np.float32]
    lexical: LexicalArrays


def write_contents(contents: Contents, *, vectors: bytes | None = None) -> dict[str, bytes]:
    """The files of an artefact; the same contents give the same bytes. `vectors`: their file, where it is made."""
    return {
        layout.NAMES: canonical_bytes(contents.names),
        layout.DIGESTS: canonical_bytes(contents.digests),
        layout.TEXTS: canonical_bytes(contents.texts),
        layout.VECTORS: vectors if vectors is not None else to_npy(contents.vectors.astype(_F4, copy=False)),
        layout.WORDS: canonical_bytes(contents.lexical.words),
        layout.STARTS: to_npy(contents.lexical.starts),
        layout.ROWS: to_npy(contents.lexical.rows),
        layout.IMPACTS: to_npy(contents.lexical.impacts),
    }


def read_contents(artefact: Artefact) -> Contents:
    """Verifies the artefact, then reads it. Raises `ArtefactError`, and nothing else.

    The arrays are views of the artefact's bytes: nothing is copied and nothing can be written.
    """
    artefact.verify()
    manifest = artefact.manifest
    # One string for a name of several versions and surfaces: that of a replaced version stays open.
    names = tuple(map(intern, _sorted_texts(artefact, layout.NAMES, manifest.tools)))
    digests = _texts(artefact, layout.DIGESTS, manifest.tools)
    texts = _texts(artefact, layout.TEXTS, manifest.tools)
    if any(len(one) != DIGEST_LENGTH for one in (*digests, *texts)):
        raise _wrong(artefact, f"{layout.DIGESTS}, {layout.TEXTS}: must hold digests of {DIGEST_LENGTH} digits")
    if catalog_digest(digests) != manifest.catalog_digest:
        raise _wrong(artefact, f"{layout.DIGESTS}: the digests are not those of the manifest's catalog")
    vectors = _array(artefact, layout.VECTORS, _F4, (manifest.tools, manifest.dimension))
    # The negated comparison also catches NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.einsum("ij,ij->i", vectors, vectors)
    if not bool(np.all(lengths <= _LONGEST)):
        raise _wrong(artefact, f"{layout.VECTORS}: must hold finite vectors of length 1")
    lexical = LexicalArrays(
        tools=manifest.tools,
        words=_sorted_texts(artefact, layout.WORDS, manifest.words),
        starts=_array(artefact, layout.STARTS, _I8, (manifest.words + 1,)),
        rows=_array(artefact, layout.ROWS, _I4, (manifest.postings,)),
        impacts=_array(artefact, layout.IMPACTS, _F8, (manifest.postings,)),
    )
    _check_lexical(artefact, lexical)
    return Contents(names=names, digests=digests, texts=texts, vectors=vectors, lexical=lexical)


def _check_lexical(artefact: Artefact, lexical: LexicalArrays) -> None:
    starts, rows, impacts = lexical.starts, lexical.rows, lexical.impacts
    if starts[0] != 0 or starts[-1] != len(rows) or bool(np.any(starts[1:] <= starts[:-1])):
        raise _wrong(artefact, f"{layout.STARTS}: must rise from 0 to the number of postings")
    if len(rows) and (int(rows.min()) < 0 or int(rows.max()) >= lexical.tools):
        raise _wrong(artefact, f"{layout.ROWS}: must be rows of tools, 0 to {lexical.tools - 1}")
    rising = rows[1:] > rows[:-1]
    rising[starts[1:-1] - 1] = True  # a word's first row may be lower than the last row of the word before
    if not bool(np.all(rising)):
        raise _wrong(artefact, f"{layout.ROWS}: must rise within each word")
    if not bool(np.all((impacts > 0) & np.isfinite(impacts))):
        raise _wrong(artefact, f"{layout.IMPACTS}: must be finite and positive")


def _texts(artefact: Artefact, name: str, count: int) -> tuple[str, ...]:
    try:
        value = parse_json(artefact.files[name])
    except NotJsonError as error:
        raise _wrong(artefact, f"{name}: {error}") from None
    if not isinstance(value, list) or len(value) != count or not all(isinstance(one, str) for one in value):
        raise _wrong(artefact, f"{name}: must be a list of {count} strings")
    try:
        "".join(value).encode()
    except UnicodeEncodeError:
        raise _wrong(artefact, f"{name}: holds a lone surrogate") from None
    return tuple(value)


def _sorted_texts(artefact: Artefact, name: str, count: int) -> tuple[str, ...]:
    value = _texts(artefact, name, count)
    if any(after <= before for before, after in pairwise(value)):
        raise _wrong(artefact, f"{name}: must be sorted, each string once")
    return value


def _array(artefact: Artefact, name: str, dtype: str, shape: Sequence[int]) -> NDArray[Any]:
    return from_npy(artefact.files[name], dtype=dtype, shape=tuple(shape), name=f"version {artefact.version}: {name}")


def _wrong(artefact: Artefact, problem: str) -> ArtefactError:
    return ArtefactError(f"version {artefact.version}: {problem}; {MENDED}")
