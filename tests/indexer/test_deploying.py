"""What the library call adds to `deploy`: how much is embedded together, and how little is held meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock

import pytest

from indexer import word_counting
from indexer.adapters.directory_store import DirectoryStore
from indexer.artefact import Artefact
from indexer.catalog_file import Catalog
from indexer.commands import deploy as deploy_command
from indexer.contents import LexicalArrays
from indexer.deploying import deploy_catalog
from indexer.document import Document
from indexer.embedding import AT_ONCE, LOT
from indexer.memory_store import MemoryStore
from indexer.progress import Progress
from indexer.word_scores import words_of
from models.embedder import Vectors
from surface.adapters.command_line import run
from tests.indexer.embedders import Listening
from tests.indexer.samples import EMBEDDER, catalog, catalog_json, tool, tool_json


class TakingTurns(Listening):
    """An embedder of one call at a time, in whose first call somebody presses Ctrl-C."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = Lock()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        with self._turn:
            vectors = super().embed_documents(texts)
            if len(self.batches) == 1:
                raise KeyboardInterrupt
            return vectors


def test_an_interruption_waits_for_few_lots_of_an_embedder_that_takes_turns_however_many_cores_there_are() -> None:
    embedder = TakingTurns()
    tools = [tool(f"tool_{number}", f"Does thing {number}.") for number in range(20 * LOT)]
    with pytest.raises(KeyboardInterrupt):
        deploy_catalog(catalog(reader=tools), store=MemoryStore(), embedder=embedder, remember=False, threads=16)
    assert len(embedder.batches) <= AT_ONCE


class Read(Listening):
    """Says once the everyday requests were embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.read = Event()

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.read.set()
        return super().embed_queries(texts)


def test_the_everyday_requests_are_embedded_while_words_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = Read()

    def counted(documents: Sequence[Document]) -> LexicalArrays:
        assert embedder.read.wait(20)
        return words_of(documents)

    monkeypatch.setattr(word_counting, "words_of", counted)
    deploy_catalog(catalog(reader=[tool("a")]), store=MemoryStore(), embedder=embedder, remember=False)


def alive(kind: type) -> int:
    gc.collect()
    return sum(type(one) is kind for one in gc.get_objects())


@pytest.mark.parametrize("by", ["the command", "the library"])
def test_while_texts_are_embedded_nobody_holds_the_catalog_that_was_read(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, store, held = tmp_path / "catalog.json", tmp_path / "store", dict[str, int]()
    path.write_bytes(catalog_json(tool_json("a"), tool_json("b")))
    before = alive(Catalog)

    def progress(stage: str, done: int, total: int) -> None:
        held.setdefault(stage, alive(Catalog) - before)

    @contextmanager
    def shown() -> Iterator[Progress]:
        yield progress

    if by == "the command":
        monkeypatch.setattr(deploy_command, "chosen_embedder", lambda *_, **__: EMBEDDER)
        monkeypatch.setattr(deploy_command, "shown_progress", shown)
        assert run((deploy_command.DEPLOY,), "toolsurface", ["deploy", str(path), "--store", str(store)]) == 0
    else:
        deploy_catalog(path, store=store, embedder=EMBEDDER, progress=progress)
    assert held["reading"] == 1
    assert held["embedding"] == held["building"] == held["activating"] == 0


class Watched(DirectoryStore):
    """A store that looks whether what it is to read back is held by somebody else."""

    held: tuple[int, ...] = ()

    def load(self, application: str, surface: str, version: str) -> Artefact:
        self.__class__.held += (alive(Artefact),)
        return super().load(application, surface, version)


def test_a_version_that_was_built_is_let_go_of_before_it_is_read_back(tmp_path: Path) -> None:
    before, store = alive(Artefact), Watched(tmp_path)
    wanted = catalog(reader=[tool("a")], writer=[tool("b")])
    deploy_catalog(wanted, store=store, embedder=EMBEDDER, remember=False)
    deploy_catalog(catalog(reader=[tool("c")], deploy="d2"), store=store, embedder=EMBEDDER, remember=False)
    assert Watched.held == (before,) * 5
