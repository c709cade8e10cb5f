"""What more than one command does first: opens a library, makes threads, reads numbers."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import Executor
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from indexer.adapters.usual_index import opening_on, opening_with, weight, weight_of_words
from indexer.adapters.vector_cache import VectorFile
from indexer.commands.numbers import number, whole
from indexer.errors import IndexerError
from indexer.ports import ArtefactStore, VectorCache, VectorStore
from models.adapters.onnx import MOST_DEFAULT_THREADS, usable_cores
from models.embedder import Embedder
from models.errors import ModelError
from models.threads import Cores
from selector.abstaining import STRICTNESS
from selector.adapters.native_memory import trim
from selector.errors import SelectorError
from selector.fair_threads import FairThreads
from selector.library import KEEP_REPLACED_S, Library
from selector.served import Change
from surface.adapters.command_line import say
from surface.errors import CatalogError
from surface.protocol import MAX_LIMIT

FAILURES = (IndexerError, ModelError, SelectorError, CatalogError)

limit = whole(1, MAX_LIMIT)
"""How many names to ask for."""


def library_of(
    store: ArtefactStore,
    embedder: Embedder,
    *,
    budget: int | None = None,
    loader: Executor | None = None,
    vectors: VectorStore | None = None,
    keep_replaced: float = KEEP_REPLACED_S,
) -> Library:
    """The library of a store that was not looked at yet. `vectors`: None for those in memory."""
    return Library(
        store=store,
        open_artefact=opening_on(Cores(usable_cores(), name="search")) if vectors is None else opening_with(vectors),
        model=embedder.manifest.identity,
        weigh=weight if vectors is None else weight_of_words,
        budget=budget,
        loader=loader,
        trim=trim,
        clock=time.time,
        keep_replaced=keep_replaced,
        monotonic=time.monotonic,
    )


def library_over(store: ArtefactStore, embedder: Embedder, *, vectors: VectorStore | None = None) -> Library:
    """The same, read once; what cannot be served is told on standard error."""
    library = library_of(store, embedder, vectors=vectors)
    for change in library.refresh():
        if change.outcome != "serving":
            say(told(change))
    return library


def told(change: Change) -> str:
    """One change as a person reads it."""
    where = "/".join(part for part in (change.application, change.surface) if part) or "store"
    return f"{change.outcome} {where}: {change.detail}"


def vectors_in(file: Path | None) -> AbstractContextManager[VectorCache | None]:
    """What remembers vectors, in that file; what goes wrong with it is told on standard error. None for no file."""
    return nullcontext() if file is None else closing(VectorFile(file, tell=say))


def ranking_threads(threads: int | None) -> FairThreads:
    """The threads that rank: as many as queries are embedded at once, so that none waits for another in the middle."""
    return FairThreads(threads or min(usable_cores(), MOST_DEFAULT_THREADS), name="rank")


def add_strictness(parser: argparse._ActionsContainer) -> None:
    """The knob of abstaining, the same for every command that ranks."""
    parser.add_argument(
        "--strictness",
        type=number(0, 1_000),
        default=STRICTNESS,
        metavar="N",
        help="how clearly a tool must stand out to be answered, in spreads of unrelated requests; 0 always answers "
        "(default: %(default)s)",
    )
