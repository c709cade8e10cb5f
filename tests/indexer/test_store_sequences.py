"""Any sequence of deploys, activations, rollbacks and prunes leaves every store as a small model says.

How many sequences each store is asked is what TOOLSURFACE_SEQUENCES says; without it few, and fewest over S3, where one
takes a second, so that they fit among all tests (`make test-stores` asks 100).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore as ObjectsInMemory

from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.object_store import placed_in
from indexer.adapters.opening import open_store
from indexer.adapters.redis_link import read_redis_url
from indexer.adapters.redis_store import redis_store
from indexer.errors import ActivationConflictError, NotPublishedError, StoreError
from indexer.memory_store import MemoryStore
from indexer.ports import ArtefactStore
from indexer.release import Release
from tests.indexer.redis_cluster import running_cluster
from tests.indexer.redis_server import BINARIES, running
from tests.indexer.s3_server import s3_settings, serving_s3
from tests.indexer.samples import NOW, artefact, release

A, B, C, D = artefact("a"), artefact("b"), artefact("c", surface="writer"), artefact("d", surface="writer")
PARTS = ((A,), (B,), (A, C), (B, D), (D,))
RELEASES = [release(*parts) for parts in PARTS]
Twins: TypeAlias = tuple[ArtefactStore, ArtefactStore]
Operation: TypeAlias = tuple[str, int, int]

which = st.integers(0, len(RELEASES) - 1)
operations = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["deploy", "publish", "activate", "stale"]), which, st.just(0)),
        st.tuples(st.just("race"), which, which),
        st.tuples(st.just("rollback"), st.just(0), st.just(0)),
        st.tuples(st.just("prune"), st.integers(1, 3), st.integers(0, 15)),
        st.tuples(st.just("wait"), st.integers(-15, 60), st.just(0)),
    ),
    min_size=6,
    max_size=16,
)


@dataclass(slots=True)
class Model:
    """What a store should hold, said as plainly as can be."""

    now: int = 0
    published: dict[tuple[str, str], int] = field(default_factory=dict)
    recent: list[int] = field(default_factory=list)
    history: list[int] = field(default_factory=list)

    @property
    def active(self) -> str | None:
        return RELEASES[self.recent[0]].id if self.recent else None

    def publish(self, number: int) -> None:
        for version in named(RELEASES[number]):
            self.published[version] = max(self.now, self.published.get(version, self.now))

    def activate(self, number: int) -> None:
        if self.recent[:1] != [number]:
            self.history.append(number)
            self.recent = [number, *(one for one in self.recent if one != number)]
            self.published = {one: min(at, self.now) for one, at in self.published.items()}

    def prune(self, keep: int, minutes: int) -> None:
        self.recent = self.recent[:keep]
        used = {version for number in self.recent for version in named(RELEASES[number])}
        limit = self.now - minutes
        self.published = {one: at for one, at in self.published.items() if one in used or at >= limit}


def named(one: Release) -> set[tuple[str, str]]:
    return {(surface, released.version) for surface, released in one.surfaces.items()}


def play(stores: Twins, sequence: list[Operation]) -> None:
    model = Model()
    for turn, operation in enumerate(sequence):
        act(stores[turn % 2], stores[(turn + 1) % 2], model, operation)
        compare(stores[(turn + 1) % 2], model)


def act(store: ArtefactStore, twin: ArtefactStore, model: Model, operation: Operation) -> None:
    what, first, second = operation
    at = NOW + timedelta(minutes=model.now)
    match what:
        case "wait":
            model.now += first  # clocks jump back, too
        case "publish" | "deploy":
            for part in PARTS[first]:
                store.publish(part, at=at)
            model.publish(first)
            if what == "deploy":
                activate(store, model, first)
        case "activate":
            activate(store, model, first)
        case "stale":
            with pytest.raises(ActivationConflictError):
                store.activate(RELEASES[first], expected="f" * 32, at=at)
        case "rollback" if len(model.recent) > 1:
            assert named(RELEASES[model.recent[1]]) <= set(model.published)  # what it needs is never pruned
            activate(store, model, model.recent[1])
        case "prune":
            store.prune("app", keep=first, unused_since=at - timedelta(minutes=second))
            model.prune(first, second)
        case "race" if first != second and not {first, second} & set(model.recent[:1]):
            race(store, twin, model, (first, second))


def activate(store: ArtefactStore, model: Model, number: int) -> None:
    at = NOW + timedelta(minutes=model.now)
    if named(RELEASES[number]) <= set(model.published):
        store.activate(RELEASES[number], expected=model.active, at=at)
        model.activate(number)
    else:
        with pytest.raises(NotPublishedError):
            store.activate(RELEASES[number], expected=model.active, at=at)


def race(store: ArtefactStore, twin: ArtefactStore, model: Model, numbers: tuple[int, int]) -> None:
    """Two deploys that began from the same release: one wins, the other is told."""
    at, expected = NOW + timedelta(minutes=model.now), model.active

    def deploy(one: ArtefactStore, number: int) -> bool:
        for part in PARTS[number]:
            one.publish(part, at=at)
        try:
            one.activate(RELEASES[number], expected=expected, at=at)
        except ActivationConflictError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        won = list(pool.map(deploy, (store, twin), numbers))
    assert sum(won) == 1
    for number in numbers:
        model.publish(number)
    model.activate(numbers[won.index(True)])


def compare(store: ArtefactStore, model: Model) -> None:
    ledger = store.ledger("app")
    assert (ledger.active.id if ledger.active else None) == model.active
    assert store.applications() == (("app",) if model.recent else ())
    assert [one.id for one in ledger.releases] == [RELEASES[number].id for number in model.recent]
    assert [one.release for one in ledger.activations] == [RELEASES[number].id for number in model.history]
    assert {(one.surface, one.version) for one in ledger.versions} == set(model.published)
    for part in (A, B, C, D):
        place = (part.manifest.surface, part.version)
        if place in model.published:
            assert store.load("app", *place).files == part.files
        else:
            with pytest.raises(StoreError):
                store.load("app", *place)


@pytest.fixture(scope="module")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster.url


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    with serving_s3("bucket") as endpoint, pytest.MonkeyPatch.context() as patch:
        for name, value in s3_settings(endpoint).items():
            patch.setenv(name, value)
        yield "s3://bucket"


@pytest.fixture(scope="module")
def redis_urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(running(binary, tmp_path_factory.mktemp(name))).url
            for name, binary in BINARIES.items()
        }


@pytest.fixture(params=["memory", "directory", "objects", "cluster", *sorted(BINARIES)])
def fresh(request: pytest.FixtureRequest, memory: Path, redis_urls: dict[str, str]) -> Callable[[], Twins]:
    """Makes two handles to one empty store."""
    number = itertools.count()

    def make() -> Twins:
        match request.param:
            case "memory":
                store = MemoryStore()
                return store, store
            case "directory":
                path = memory / str(next(number))
                return DirectoryStore(path), DirectoryStore(path)
            case "objects":
                bucket = ObjectsInMemory()
                return placed_in(bucket, name="s3://bucket"), placed_in(bucket, name="s3://bucket")
            case "cluster":
                place = f"{request.getfixturevalue('cluster_url')}?namespace=n{next(number)}"
                return open_store(place), open_store(place)
            case server:
                url = read_redis_url(f"{redis_urls[server]}?namespace=n{next(number)}")
                return redis_store(url), redis_store(url)

    return make


@pytest.fixture
def fresh_over_s3(s3_url: str) -> Callable[[], Twins]:
    """The same where each call takes milliseconds."""
    number = itertools.count()

    def make() -> Twins:
        place = f"{s3_url}/n{next(number)}"
        return open_store(place), open_store(place)

    return make


ASKED = int(os.environ.get("TOOLSURFACE_SEQUENCES", "0"))
ANY = settings(max_examples=ASKED or 25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(sequence=operations)
@ANY
def test_every_store_holds_what_the_model_says(fresh: Callable[[], Twins], sequence: list[Operation]) -> None:
    play(fresh(), sequence)  # a new store for each example


@given(sequence=operations)
@settings(ANY, max_examples=ASKED or 10, phases=[Phase.generate])
def test_one_over_s3_does_too(fresh_over_s3: Callable[[], Twins], sequence: list[Operation]) -> None:
    play(fresh_over_s3(), sequence)
