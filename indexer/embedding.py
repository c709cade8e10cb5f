"""Texts → vectors: what is at hand is carried over, what a cache remembers is recalled, the rest is embedded.

Rules kept here:

1. A text is embedded once, whichever tools and surfaces share it.
2. What is carried over or recalled is believed only where each vector is one that the model could have made, and a few
   were made again and came out the same; else all of that source is made anew.
3. A lot of texts goes into the cache as soon as it is done. An interruption stops new lots, waits for those under way
   and keeps them too: no vector that was computed is lost.
4. A few lots are under way at once, so the embedder's cores stay busy while the last batch of one ends. So memory
   beside the vectors themselves is that of a few lots, whatever the catalog's size.
5. Lots hold texts of similar length, longest first, so that batches waste no padding and the end is not one long batch.

Not done here: what a text is (`document.py`), how a cache keeps things (`adapters/vector_cache.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from indexer.document import Document
from indexer.errors import BuildError
from indexer.ports import VectorCache
from indexer.progress import Progress, silent
from models.embedder import Embedder
from models.threads import working_threads

LOT = 64
"""Texts in one call of the embedder: about a second and a half on one core, which is how long Ctrl-C has to wait. In
lots of 16 or 32 the same texts take a tenth longer."""
AT_ONCE = 2
"""Lots under way: enough for one core or two; an embedder that uses more wants as many as it has."""
PROBES = 3
"""Vectors of each source that are made again before the others are believed."""
_UNIT = 1e-3
_COMPARED_AT_ONCE = 1024
SAME = 1e-3
"""How far two makings of one vector may differ in any dimension; embedders promise 1e-5 on one machine."""

Vectors: TypeAlias = Mapping[str, NDArray[np.float32]]
"""Text digest → unit vector, shape (dimension,), all of one model."""


class NoCache:
    """Implements `indexer.ports.VectorCache` by remembering nothing."""

    def find(self, model: str, texts: Sequence[str]) -> Vectors:  # noqa: ARG002 - the port's names
        """Nothing."""
        return {}

    def keep(self, model: str, vectors: Vectors) -> None:
        """Keeps nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The vectors of some documents, and where they came from."""

    vectors: dict[str, NDArray[np.float32]]
    """By text digest; whoever has it may take them out."""
    carried: int
    """Texts whose vectors an earlier version held."""
    recalled: int
    """Texts whose vectors the cache held."""
    made: int
    """Texts that were embedded, those embedded only to test a source not counted."""
    distrusted: int
    """Texts whose vectors were at hand and were made anew, because a test of their source failed."""


def embed(
    documents: Iterable[Document],
    *,
    embedder: Embedder,
    carried: Vectors,
    cache: VectorCache | None = None,
    at_once: int = AT_ONCE,
    progress: Progress = silent,
) -> Embedded:
    """The vectors of the documents' texts; `at_once` is how many lots are under way together.

    Raises `BuildError` where the embedder answers no unit vectors, and what `models.errors` says it raises.
    """
    remembering = cache if cache is not None else NoCache()
    model = embedder.manifest.identity
    texts = {document.text_digest: document.text for document in documents}
    sources = _Sources(embedder=embedder, texts=texts)
    sources.take(carried)
    taken = len(sources.vectors)
    sources.take(remembering.find(model, [key for key in texts if key not in sources.vectors]))
    recalled = len(sources.vectors) - taken
    missing = {key: text for key, text in texts.items() if key not in sources.vectors}
    vectors = sources.vectors

    def keep(lot: Vectors) -> None:
        remembering.keep(model, lot)
        vectors.update(lot)

    embed_lots(missing, embedder=embedder, keep=keep, at_once=at_once, progress=progress)
    return Embedded(vectors=vectors, carried=taken, recalled=recalled, made=len(missing), distrusted=sources.distrusted)


@dataclass(slots=True, kw_only=True)
class _Sources:
    """What is at hand, as far as it passes a test."""

    embedder: Embedder
    texts: Mapping[str, str]
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    distrusted: int = 0

    def take(self, source: Vectors) -> None:
        """All of a source that is asked for and not at hand yet, or nothing of it."""
        useful = sorted(key for key in self.texts if key in source and key not in self.vectors)
        if self._came_out_the_same(source, useful):
            self.vectors |= {key: source[key] for key in useful}
        else:
            self.distrusted += len(useful)

    def _came_out_the_same(self, source: Vectors, useful: Sequence[str]) -> bool:
        # Spread over the digests, which are spread over the texts: the same texts are tested each time.
        probes = useful[:: max(1, -(-len(useful) // PROBES))]
        if not probes:
            return True
        if not _are_units([source[key] for key in useful], self.embedder.manifest.dimension):
            return False
        again = _embedded(self.embedder, [self.texts[key] for key in probes])
        return all(
            bool(np.all(np.abs(source[key] - vector) <= SAME)) for key, vector in zip(probes, again, strict=True)
        )


def _are_units(vectors: Sequence[NDArray[np.float32]], dimension: int) -> bool:
    if any(vector.shape != (dimension,) for vector in vectors):
        return False
    for start in range(0, len(vectors), _COMPARED_AT_ONCE):
        some = np.stack(vectors[start : start + _COMPARED_AT_ONCE])
        if not np.all(np.abs(np.einsum("ij,ij->i", some, some) - 1.0) < 2 * _UNIT):  # false for NaN too
            return False
    return True


def embed_lots(
    texts: Mapping[str, str],
    *,
    embedder: Embedder,
    keep: Callable[[Vectors], None],
    at_once: int = AT_ONCE,
    progress: Progress = silent,
) -> None:
    """Embeds texts by their digests and gives each lot to `keep` as it is done; `keep` may see a lot twice."""
    order = sorted(texts, key=lambda key: (-len(texts[key]), texts[key]))
    waiting = iter([order[start : start + LOT] for start in range(0, len(order), LOT)])
    under_way: dict[Future[NDArray[np.float32]], list[str]] = {}
    done = 0
    with working_threads(at_once, name="lot") as pool:

        def begin() -> None:
            for lot in islice(waiting, at_once - len(under_way)):
                future: Future[NDArray[np.float32]] = Future()
                under_way[future] = lot  # before it begins: an interruption in between finds it
                pool.submit(_answer, future, embedder, [texts[key] for key in lot])

        try:
            begin()
            while under_way:
                progress("embedding", done, len(order))
                finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in finished:
                    lot = under_way[future]
                    keep(dict(zip(lot, future.result(), strict=True)))
                    del under_way[future]
                    done += len(lot)
                begin()
            if order:
                progress("embedding", done, len(order))
        except BaseException:
            for future, lot in under_way.items():
                if not future.cancel() and future.exception() is None:
                    keep(dict(zip(lot, future.result(), strict=True)))
            raise


def _answer(future: Future[NDArray[np.float32]], embedder: Embedder, texts: Sequence[str]) -> None:
    """Does what an executor does with a future of its own."""
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(_embedded(embedder, texts))
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            future.set_exception(error)


def _embedded(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of these texts, shape (texts, dimension); raises `BuildError` where they are not of length 1."""
    answered = embedder.embed_documents(texts)
    expected = (len(texts), embedder.manifest.dimension)
    if answered.shape != expected:
        raise BuildError(f"the embedder answered shape {answered.shape} where {expected} was asked for")
    lengths = np.linalg.norm(answered, axis=1)
    if not bool(np.all(np.abs(lengths - 1.0) < _UNIT)):  # also false for NaN
        raise BuildError("the embedder answered vectors that are not finite or not of length 1")
    return answered.astype("<f4", copy=False)
