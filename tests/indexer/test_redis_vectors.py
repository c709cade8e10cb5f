"""Vector sets in real servers: the contract of every vector index, and uploads that end only when all is there."""

from __future__ import annotations

import itertools
import signal
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis
from numpy.typing import NDArray

from indexer.adapters.faiss_index import FaissVectorIndex
from indexer.adapters.redis_link import RedisWaits, read_redis_url
from indexer.adapters.redis_vectors import SEARCH_WAITS, RedisVectorIndex, RedisVectors
from indexer.artefact import IndexManifest
from indexer.deploying import deploy_catalog
from indexer.errors import ArtefactError, StoreError, StoreUnavailableError
from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from tests.contracts.vector_index_contract import Build, VectorIndexContract, unit
from tests.indexer.looking import nobody_goes_on_looking  # noqa: F401 - a fixture of this module
from tests.indexer.redis_cluster import PARTIAL, running_cluster, until
from tests.indexer.redis_server import BINARIES, RedisServer, running
from tests.indexer.samples import artefact, catalog, tool

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(BINARIES["redis-8"], tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def client(server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis(port=server.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def vectors(server: RedisServer, client: redis.Redis) -> RedisVectors:
    return RedisVectors(read_redis_url(server.url))


def manifest_of(vectors: NDArray[np.float32]) -> IndexManifest:
    """A manifest of a version of its own, as far as a vector index reads it."""
    tools, dimension = vectors.shape
    return artefact("tool").manifest.model_copy(
        update={"tools": tools, "dimension": dimension, "recipe": f"test-{next(NUMBERS)}"}
    )


def key_of(manifest: IndexManifest) -> str:
    return f"toolsurface:{{{manifest.application}/{manifest.surface}/{manifest.version}}}:vectors"


def add(client: redis.Redis, key: str, row: int, vector: NDArray[np.float32]) -> None:
    client.execute_command("VADD", key, "FP32", vector.tobytes(), row, "NOQUANT")  # type: ignore[no-untyped-call]


def built(vectors: RedisVectors) -> Build:
    return lambda rows: vectors.index_of(manifest_of(rows), rows)


class TestRedisVectors(VectorIndexContract):
    @pytest.fixture
    def build(self, vectors: RedisVectors) -> Build:
        return built(vectors)


@pytest.fixture(scope="module")
def in_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisVectors]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield RedisVectors(read_redis_url(cluster.url))


class TestRedisVectorsInACluster(VectorIndexContract):
    @pytest.fixture
    def build(self, in_cluster: RedisVectors) -> Build:
        return built(in_cluster)


def test_it_answers_what_faiss_answers(vectors: RedisVectors) -> None:
    rows, queries = unit(2_000, 64), unit(50, 64, seed=1)
    ours, theirs = built(vectors)(rows).search(queries, 100), FaissVectorIndex(rows).search(queries, 100)
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-6)


def test_an_upload_goes_on_where_another_one_stopped_and_writes_nothing_once_it_is_done(
    vectors: RedisVectors, client: redis.Redis
) -> None:
    rows = unit(300, 16)
    manifest = manifest_of(rows)

    class Stopped(Exception):  # noqa: N818 - it is no error of ours
        pass

    def stop(stage: str, done: int, total: int) -> None:
        if done:
            raise Stopped

    with pytest.raises(Stopped):
        vectors.upload(manifest, rows, progress=stop)
    half = client.execute_command("VCARD", key_of(manifest))  # type: ignore[no-untyped-call]
    assert 0 < half < len(rows)
    seen: list[int] = []
    vectors.upload(manifest, rows, progress=lambda _stage, done, _total: seen.append(done))
    assert seen[0] == half
    assert seen[-1] == len(rows)
    seen.clear()
    vectors.upload(manifest, rows, progress=lambda _stage, done, _total: seen.append(done))
    assert seen == []


def test_several_replicas_may_upload_one_version_at_once(server: RedisServer, client: redis.Redis) -> None:
    rows = unit(400, 16)
    manifest = manifest_of(rows)
    replicas = [RedisVectors(read_redis_url(server.url)) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: one.index_of(manifest, rows).search(rows[:5], 3)[1].tolist(), replicas))
    assert all(one == found[0] for one in found)
    assert client.execute_command("VCARD", key_of(manifest)) == len(rows)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda client, key, rows: add(client, key, 300, rows[0]),
        lambda client, key, rows: add(client, key, 0, rows[1]),
        lambda client, key, rows: [client.delete(key), client.vset().vadd(key, rows[1, :8].tobytes(), "0")],
    ],
    ids=["a row too many", "another vector", "another dimension"],
)
def test_a_set_that_holds_something_else_is_made_anew(
    vectors: RedisVectors,
    client: redis.Redis,
    spoil: Callable[[redis.Redis, str, NDArray[np.float32]], object],
) -> None:
    rows = unit(300, 16)
    manifest = manifest_of(rows)
    vectors.upload(manifest, rows)
    spoil(client, key_of(manifest), rows)
    found = vectors.index_of(manifest, rows).search(rows, 1)[1]
    assert found[:, 0].tolist() == list(range(300))


def test_a_set_that_lost_a_row_answers_nothing_until_it_is_whole_again(
    vectors: RedisVectors, client: redis.Redis
) -> None:
    rows = unit(300, 16)
    manifest = manifest_of(rows)
    index = vectors.index_of(manifest, rows)
    client.vset().vrem(key_of(manifest), "7")
    with pytest.raises(StoreError, match="holds 299 of 300 vectors"):
        index.search(rows[:1], 5)
    vectors.upload(manifest, rows)
    assert index.search(rows[7:8], 1)[1].tolist() == [[7]]


def test_a_vector_of_another_length_than_one_is_refused_before_anything_is_written(
    vectors: RedisVectors, client: redis.Redis
) -> None:
    rows = unit(10, 16)
    rows[3] *= 0.5
    with pytest.raises(ArtefactError, match="a vector whose length is not 1"):
        vectors.upload(manifest_of(rows), rows)
    assert client.keys() == []


@pytest.mark.parametrize("name", sorted(BINARIES.keys() - {"redis-8"}))
def test_a_server_without_vector_sets_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    with running(BINARIES[name], tmp_path) as other, pytest.raises(StoreError) as refused:
        RedisVectors(read_redis_url(other.url)).upload(manifest_of(unit(3, 16)), unit(3, 16))
    assert "knows no vector sets; they need Redis 8 or newer" in str(refused.value)


def test_what_is_not_kept_is_removed_and_what_is_stays(vectors: RedisVectors, client: redis.Redis) -> None:
    old, new = manifest_of(unit(3, 16)), manifest_of(unit(4, 16))
    vectors.upload(old, unit(3, 16))
    vectors.upload(new, unit(4, 16))
    gone = vectors.prune(old.application, kept=lambda: {(new.surface, new.version)})
    assert gone == ((old.surface, old.version),)
    assert not client.exists(key_of(old))
    assert client.exists(key_of(new))
    assert vectors.prune(old.application, kept=lambda: {(new.surface, new.version)}) == ()


def test_a_prune_that_is_late_takes_nothing_that_was_wanted_after_it_had_looked(
    vectors: RedisVectors, client: redis.Redis
) -> None:
    rows = unit(100, 16)
    manifest = manifest_of(rows)
    vectors.upload(manifest, rows)

    def known_before_it_was_deployed_again() -> set[tuple[str, str]]:
        vectors.upload(manifest, rows)  # it counts them, and whoever deploys activates
        return set()

    assert vectors.prune(manifest.application, kept=known_before_it_was_deployed_again) == ()
    assert client.vset().vcard(key_of(manifest)) == len(rows)
    assert vectors.prune(manifest.application, kept=set) == ((manifest.surface, manifest.version),)
    assert client.keys() == []


def test_an_upload_from_under_which_vectors_are_taken_does_not_end_well_and_the_next_one_mends(
    vectors: RedisVectors, client: redis.Redis
) -> None:
    rows = unit(300, 16)
    manifest = manifest_of(rows)
    taken: list[object] = []

    def take(stage: str, done: int, total: int) -> None:
        if done and not taken:
            taken.extend(vectors.prune(manifest.application, kept=set))

    with pytest.raises(StoreUnavailableError, match="lost some vectors"):
        vectors.upload(manifest, rows, progress=take)
    assert taken
    assert vectors.index_of(manifest, rows).search(rows, 1)[1][:, 0].tolist() == list(range(300))
    assert vectors.prune(manifest.application, kept=set) == ((manifest.surface, manifest.version),)


def test_an_upload_whose_name_a_prune_took_before_any_vector_was_there_is_named_again(
    vectors: RedisVectors, client: redis.Redis
) -> None:
    rows = unit(100, 16)
    manifest = manifest_of(rows)
    taken: list[object] = []

    def take(stage: str, done: int, total: int) -> None:
        if not done and not taken:
            taken.extend(vectors.prune(manifest.application, kept=set))

    vectors.upload(manifest, rows, progress=take)
    assert taken
    assert client.vset().vcard(key_of(manifest)) == len(rows)
    assert vectors.prune(manifest.application, kept=set) == ((manifest.surface, manifest.version),)


def test_what_a_prune_took_answers_nothing_until_the_next_upload(vectors: RedisVectors, client: redis.Redis) -> None:
    rows = unit(100, 16)
    manifest = manifest_of(rows)
    index = vectors.index_of(manifest, rows)
    vectors.prune(manifest.application, kept=set)
    with pytest.raises(StoreError, match="holds 0 of 100 vectors"):
        index.search(rows[:1], 5)
    vectors.upload(manifest, rows)
    assert index.search(rows[7:8], 1)[1].tolist() == [[7]]


def answers(index: RedisVectorIndex, query: NDArray[np.float32]) -> bool:
    try:
        index.search(query, 1)
    except StoreUnavailableError:
        return False
    return True


def test_a_server_that_hangs_holds_up_one_search_and_no_other_and_answers_again_by_itself(tmp_path: Path) -> None:
    rows = unit(10, 16)
    with running(BINARIES["redis-8"], tmp_path) as server:
        vectors = RedisVectors(read_redis_url(server.url))
        versions = [vectors.index_of(manifest_of(rows), rows) for _ in range(3)]
        assert all(answers(index, rows[:1]) for index in versions)
        server.stop(signal.SIGSTOP)
        assert not answers(versions[0], rows[:1])
        began = time.monotonic()
        assert not any(answers(index, rows[:1]) for index in versions * 20)
        assert time.monotonic() - began < SEARCH_WAITS.answer_s
        server.stop(signal.SIGCONT)
        until(lambda: all(answers(index, rows[:1]) for index in versions))


def in_the_file(client: redis.Redis, manifest: IndexManifest, rows: int) -> bool:
    """Whether the server has all vectors, and wrote its file anew: a replica does so after it took everything over."""
    state = client.info("persistence")
    writing = state["aof_rewrite_in_progress"] or state["aof_rewrite_scheduled"]
    return not writing and client.vset().vcard(key_of(manifest)) == rows


@pytest.mark.parametrize("who", ["the server", "its replica"])
def test_who_keeps_vectors_in_an_append_only_file_has_them_again_after_a_kill(who: str, tmp_path: Path) -> None:
    """A real file of a real server: one that holds a command which blocks ends a Redis 8.2 that begins."""
    rows, binary = unit(200, 16), BINARIES["redis-8"]
    kept = ("--appendonly", "yes", "--appendfsync", "always")
    homes = [tmp_path / "server", tmp_path / "replica"]
    for home in homes:
        home.mkdir()
    with (
        running(binary, homes[0], *kept, "--repl-diskless-sync-delay", "0") as server,
        running(binary, homes[1], *kept, "--replicaof", f"127.0.0.1 {server.port}") as replica,
    ):
        with redis.Redis(port=replica.port) as client:
            until(lambda: client.info("replication")["master_link_status"] == "up")
        manifest = manifest_of(rows)
        RedisVectors(read_redis_url(server.url)).upload(manifest, rows)
        killed, home = (server, homes[0]) if who == "the server" else (replica, homes[1])
        with redis.Redis(port=killed.port) as client:
            until(lambda: in_the_file(client, manifest, len(rows)))
        killed.stop()
        with running(binary, home, *kept) as again, redis.Redis(port=again.port) as client:
            assert client.execute_command("VCARD", key_of(manifest)) == 200
            index = RedisVectors(read_redis_url(again.url)).index_of(manifest, rows)
            assert index.search(rows[7:8], 1)[1].tolist() == [[7]]


WAITS = RedisWaits(connect_s=1.0, answer_s=1.0)
"""With the tries that a deploy has."""


class Counting(HashingEmbedder):
    """Says how many texts it was given."""

    def __init__(self) -> None:
        super().__init__(dimension=16)
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += len(texts)
        return super().embed_documents(texts)


@pytest.mark.parametrize("moment", ["before it is known", "once it is known", "while vectors are uploaded"])
def test_an_upload_waits_once_for_a_server_that_hangs(moment: str, tmp_path: Path) -> None:
    rows = unit(300, 16)
    with running(BINARIES["redis-8"], tmp_path) as server:
        vectors, manifest, began = RedisVectors(read_redis_url(server.url), waits=WAITS), manifest_of(rows), [0.0]

        def hang(stage: str = "uploading", done: int = 128, total: int = 300) -> None:
            if done == 128:
                server.stop(signal.SIGSTOP)
                began[0] = time.monotonic()

        if moment == "once it is known":
            vectors.upload(manifest_of(rows), rows)
        if moment != "while vectors are uploaded":
            hang()
        with pytest.raises(StoreUnavailableError, match=r"redis://127.0.0.1:\d+: cannot be reached now"):
            vectors.upload(manifest, rows, progress=hang)
        # Each of the client's tries had its own four tries to connect: sixteen answers were waited for.
        assert time.monotonic() - began[0] < 8 * WAITS.answer_s
        server.stop(signal.SIGCONT)
        assert vectors.index_of(manifest_of(rows), rows).search(rows[:1], 1)[1].tolist() == [[0]]


def test_a_deploy_whose_vectors_have_a_server_that_hangs_ends_before_it_embeds_and_changes_nothing(
    tmp_path: Path,
) -> None:
    store, embedder, said = MemoryStore(), Counting(), list[str]()
    with running(BINARIES["redis-8"], tmp_path) as server:
        vectors = RedisVectors(read_redis_url(server.url), waits=WAITS)
        ways: dict[str, Any] = {"store": store, "vectors": vectors, "embedder": embedder, "remember": False}
        server.stop(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError):
            deploy_catalog(catalog(reader=[tool("a")]), wait_s=0, tell=said.append, **ways)
        assert time.monotonic() - began < 8 * WAITS.answer_s
        assert (embedder.texts, store.active("app"), said) == (0, None, [])
        server.stop(signal.SIGCONT)
        assert deploy_catalog(catalog(reader=[tool("a")]), **ways).embedded == 1


def test_a_deploy_waits_for_the_server_of_its_vectors_and_says_so(tmp_path: Path) -> None:
    said = list[str]()
    with running(BINARIES["redis-8"], tmp_path) as server:

        def come_back(line: str) -> None:
            said.append(line)
            server.stop(signal.SIGCONT)

        def progress(stage: str, done: int, total: int) -> None:
            if stage == "uploading" and not done:
                server.stop(signal.SIGSTOP)

        vectors = RedisVectors(read_redis_url(server.url), waits=WAITS)
        store = MemoryStore()
        done = deploy_catalog(
            catalog(reader=[tool("a"), tool("b")]),
            store=store,
            vectors=vectors,
            embedder=Counting(),
            remember=False,
            progress=progress,
            tell=come_back,
        )
        assert [line.rpartition("; ")[2] for line in said] == ["waiting for it, up to 120 s"]
        (surface,) = done.surfaces
        manifest = store.load("app", "reader", surface.version).manifest
        with redis.Redis(port=server.port) as client:
            assert client.execute_command("VCARD", key_of(manifest)) == 2


def test_the_other_servers_of_a_cluster_answer_while_one_hangs_until_its_replica_has_taken_over(
    tmp_path: Path,
) -> None:
    rows = unit(10, 16)
    with running_cluster(tmp_path, *PARTIAL) as cluster:
        vectors = RedisVectors(read_redis_url(cluster.url))
        manifests = [manifest_of(rows) for _ in range(12)]
        indexes = {key_of(each): vectors.index_of(each, rows) for each in manifests}
        assert all(answers(index, rows[:1]) for index in indexes.values())
        hung = cluster.primary_of(next(iter(indexes)))
        there = [index for key, index in indexes.items() if cluster.primary_of(key) is not hung]
        away = [index for key, index in indexes.items() if cluster.primary_of(key) is hung]
        assert there
        hung.stop(signal.SIGSTOP)
        try:
            assert not answers(next(iter(indexes.values())), rows[:1])
            began = time.monotonic()
            assert all(answers(index, rows[:1]) for index in there)
            for index in away:
                answers(index, rows[:1])  # or not: a busy machine may take so long that its replica has taken over
            assert time.monotonic() - began < SEARCH_WAITS.answer_s * len(away)
            until(lambda: all(answers(index, rows[:1]) for index in indexes.values()))
        finally:
            hung.stop(signal.SIGCONT)


def test_a_server_that_is_gone_is_told_within_a_moment_and_then_at_once(tmp_path: Path) -> None:
    with running(BINARIES["redis-8"], tmp_path) as server:
        rows = unit(10, 16)
        index = RedisVectors(read_redis_url(server.url)).index_of(manifest_of(rows), rows)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            index.search(rows[:1], 1)


def test_an_index_elsewhere_does_not_keep_the_vectors_in_memory(vectors: RedisVectors) -> None:
    rows = unit(50, 16)
    copy = rows.copy()
    index = vectors.index_of(manifest_of(copy), copy)
    held = weakref.ref(copy)
    del copy
    assert held() is None
    assert index.search(rows[3:4], 1)[1].tolist() == [[3]]
